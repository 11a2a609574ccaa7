/*
 * A loop of steps under command: reads lines from its standard input and answers each with one.
 *   N                 N steps
 *   go US             steps with a pause of US microseconds, until the next line comes
 *   other N           N steps of other work
 *   long N, logs N    N steps of 24 launches; logs: with a log near their end
 *   critic N          N steps of one network with an optimizer
 *   generator N       N steps of another network with an optimizer
 *   wgan N            N times five steps of the critic and one of the generator
 *   pass N            N forward passes
 *   train N           N steps of an optimizer with two such passes each
 *   slow MS           one step that takes MS longer
 *   handler           installs a handler of its own for SIGUSR2
 *   odd N, strange N  N launches in which nothing repeats, with pauses or without
 *   abort             dies of abort()
 *   crash             dies of a segmentation fault
 *   state             "helpers N threads N fds N private_kb N signals N"
 *   (end of input)    ends
 * Else the answer is "done TOTAL", where TOTAL is the number of steps so far.
 */
#include <dirent.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

#include "test/prog/work.h"

static const void *first, *middle, *last, *adam;
static cudaStream_t stream;
static long total;
static volatile sig_atomic_t n_signals;

static void step(long extra_ms)
{
	work_launch(first, 8, stream);
	work_launch(middle, 16, stream);
	work_launch(middle, 32, stream);
	work_launch(last, 8, stream);
	if (extra_ms)
		usleep((useconds_t)extra_ms * 1000);
	MUST(cudaStreamSynchronize(stream));
	total++;
}

static void steps(const char *n)
{
	for (long i = atol(n); i > 0; i--)
		step(0);
}

static void other(const char *n)
{
	for (long i = atol(n); i > 0; i--) {
		for (unsigned blocks = 65; blocks < 70; blocks++)
			work_launch(middle, blocks, stream);
		MUST(cudaStreamSynchronize(stream));
		total++;
	}
}

static void long_steps(long n, int logs)
{
	for (; n > 0; n--) {
		for (unsigned blocks = 1; blocks <= 22; blocks++)
			work_launch(first, blocks, stream);
		if (logs)
			work_launch(middle, 99, stream);
		work_launch(last, 1, stream);
		work_launch(last, 2, stream);
		MUST(cudaStreamSynchronize(stream));
		total++;
	}
}

static void longs(const char *n)
{
	long_steps(atol(n), 0);
}

static void logs(const char *n)
{
	long_steps(atol(n), 1);
}

/* A network's launches, then its optimizer's. */
static void learn(const void *kernel, unsigned n, unsigned network)
{
	for (unsigned i = 1; i <= n; i++)
		work_launch(kernel, 100 * network + i, stream);
	for (unsigned i = 1; i <= 3; i++)
		work_launch(adam, 10 * network + i, stream);
	MUST(cudaStreamSynchronize(stream));
}

static void critic(const char *n)
{
	for (long i = atol(n); i > 0; i--)
		learn(first, 20, 1);
}

static void generator(const char *n)
{
	for (long i = atol(n); i > 0; i--)
		learn(middle, 25, 2);
	total++;
}

static void forward(void)
{
	for (unsigned blocks = 401; blocks <= 412; blocks++)
		work_launch(first, blocks, stream);
}

static void pass(const char *n)
{
	for (long i = atol(n); i > 0; i--) {
		forward();
		MUST(cudaStreamSynchronize(stream));
		total++;
	}
}

static void train(const char *n)
{
	for (long i = atol(n); i > 0; i--) {
		forward();
		work_launch(middle, 499, stream);
		forward();
		learn(middle, 20, 5);
		total++;
	}
}

static void wgan(const char *n)
{
	for (long i = atol(n); i > 0; i--) {
		critic("5");
		generator("1");
	}
}

static void go(const char *pause_us)
{
	struct pollfd input = { .fd = 0, .events = POLLIN };
	printf("going\n");
	fflush(stdout);
	while (!poll(&input, 1, 0)) {
		step(0);
		usleep((useconds_t)atol(pause_us));
	}
}

static void slow(const char *ms)
{
	step(atol(ms));
}

/* Numbers of blocks that follow no pattern, so that no three launches come again. */
static void launch_odd(const char *n, useconds_t pause_us)
{
	static unsigned state = 1;
	for (long i = atol(n); i > 0; i--) {
		state = state * 1664525 + 1013904223;
		work_launch(middle, 1 + (state >> 12), stream);
		if (pause_us)
			usleep(pause_us);
	}
	MUST(cudaStreamSynchronize(stream));
}

static void odd(const char *n)
{
	launch_odd(n, 1000);
}

static void strange(const char *n)
{
	launch_odd(n, 0);
}

static void on_signal(int number)
{
	(void)number;
	n_signals++;
}

static void handler(const char *unused)
{
	(void)unused;
	signal(SIGUSR2, on_signal);
}

static void crash(const char *unused)
{
	(void)unused;
	raise(SIGSEGV);
}

static void die(const char *unused)
{
	(void)unused;
	abort();
}

static int count(const char *folder)
{
	int n = 0;
	DIR *d = opendir(folder);
	while (d && readdir(d))
		n++;
	if (d)
		closedir(d);
	return n - 2;
}

/* Threads that are not the program's: the profiler names its own. */
static int count_helpers(void)
{
	int n = 0;
	char path[64], name[32];
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *entry; d && (entry = readdir(d));) {
		snprintf(path, sizeof(path), "/proc/self/task/%.16s/comm", entry->d_name);
		FILE *f = fopen(path, "r");
		n += f && fgets(name, sizeof(name), f) && !strcmp(name, "profrun\n");
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return n;
}

/* Memory of its own; the journal's pages are the file's. */
static long private_kb(void)
{
	long kb = -1;
	char line[128];
	FILE *f = fopen("/proc/self/status", "r");
	while (f && fgets(line, sizeof(line), f))
		if (sscanf(line, "RssAnon: %ld", &kb) == 1)
			break;
	if (f)
		fclose(f);
	return kb;
}

static void state(const char *unused)
{
	(void)unused;
	printf("helpers %d threads %d fds %d private_kb %ld signals %d\n", count_helpers(),
	       count("/proc/self/task"), count("/proc/self/fd"), private_kb(), (int)n_signals);
}

static void obey(char *line)
{
	static const struct {
		const char *name;
		void (*run)(const char *rest);
	} commands[] = {
		{ "go", go },	    { "slow", slow },		{ "odd", odd },
		{ "other", other }, { "strange", strange },	{ "handler", handler },
		{ "crash", crash }, { "abort", die },		{ "state", state },
		{ "long", longs },  { "logs", logs },		{ "critic", critic },
		{ "wgan", wgan },   { "generator", generator }, { "pass", pass },
		{ "train", train },
	};
	for (size_t i = 0; i < sizeof(commands) / sizeof(*commands); i++) {
		size_t n = strlen(commands[i].name);
		if (!strncmp(line, commands[i].name, n)) {
			commands[i].run(line + n);
			return;
		}
	}
	steps(line);
}

int main(void)
{
	char line[64];
	float *p;
	setvbuf(stdin, NULL, _IONBF, 0); /* poll sees what fgets has not taken */
	first = work_kernel("first_10us");
	middle = work_kernel("spin_5us");
	last = work_kernel("last_15us");
	adam = work_kernel("multi_tensor_apply_kernel_adam_2us");
	MUST(cudaStreamCreate(&stream));
	MUST(cudaMalloc((void **)&p, 4096));
	printf("ready\n");
	fflush(stdout);
	while (fgets(line, sizeof(line), stdin)) {
		obey(line);
		printf("done %ld\n", total);
		fflush(stdout);
	}
	return 0;
}
