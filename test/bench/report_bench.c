/*
 * Time and memory of a report on a long recording: a journal of N events (default 1,000,000:
 * launches and their kernels), read by `profrun report`. Calls come from 5,000 stacks of 20 Python
 * and 10 native frames; values are read on fifty lines. Prints the time,
 * the rate from journal to report, and the largest memory; medians of five runs.
 * usage: report_bench BUILD [N]
 */
#include "test/bench/bench_journal.h"

#include "core/util/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
	READ_NS = 12000,
	RUNS = 5,
	STACKS = 5000,
	PYTHON_FRAMES = 20,
	NATIVE_FRAMES = 10,
	CODES = 300,
	MODULES = 4,
	CALLS_OF_READ = 100, /* every hundredth call reads a value */
};

/* How a recording is divided into steps. */
static const struct shape {
	const char *text;
	uint32_t launches_in_step; /* 0: all of them */
	bool has_stacks;
	bool by_order;	 /* CUPTI recorded no calls */
	bool is_learned; /* nothing in the journal says what a step is */
} shapes[] = {
	{ "steps of 5,000 calls, no stacks", 5000, false, false, false },
	{ "steps of 25,000 calls", 25000, true, false, false },
	{ "steps of 100 calls", 100, true, false, false },
	{ "one step", 0, true, false, false },
	{ "steps of 5,000 calls, no stacks, paired by order", 5000, false, true, false },
	{ "steps of 25,000 calls, paired by order", 25000, true, true, false },
	{ "steps of 100 calls, paired by order", 100, true, true, false },
	{ "one step, paired by order", 0, true, true, false },
	{ "steps of 100 calls, no stacks, detected afterwards", 100, false, false, true },
};

static char folder[] = "/tmp/profrun-bench-XXXXXX";

/* Python functions of the user's and of a library, and four libraries without symbols. */
static void add_frames(struct journal_builder *b)
{
	char text[128];
	bench_add_codes(b, CODES);
	for (uint32_t i = 1; i <= MODULES; i++) {
		snprintf(text, sizeof(text), "/nowhere/libpart%u.so", i);
		jb_module(b,
			  &(struct dict_module){ .id = i,
						 .base = (uint64_t)i << 40,
						 .begin = (uint64_t)i << 40,
						 .end = ((uint64_t)i << 40) + (1 << 20) },
			  text);
	}
}

/*
 * The two innermost frames of each kind distinguish a stack from its neighbors; the outer ones
 * change slowly.
 */
static void add_stacks(struct journal_builder *b)
{
	for (uint32_t i = 1; i <= STACKS; i++) {
		uint64_t frames[NATIVE_FRAMES + PYTHON_FRAMES];
		for (uint32_t k = 0; k < NATIVE_FRAMES; k++)
			frames[k] = frame_native(k % MODULES + 1,
						 16 * (k < 2 ? i * 7 % 101 : k * 3 + i / 500));
		for (uint32_t k = 0; k < PYTHON_FRAMES; k++)
			frames[NATIVE_FRAMES + k] = frame_python(
				k < 2 ? (i * 3 + k) % CODES + 1 : (i / 100 + k * 5) % CODES + 1, 2);
		jb_stack(b, i, 0, 0, 0, frames, NATIVE_FRAMES + PYTHON_FRAMES);
	}
}

struct making {
	struct journal_builder *b;
	uint32_t seq, n_calls, launches_in_step;
	bool has_stacks, by_order;
};

static void add_call(struct making *m, enum jb_hook hook, uint64_t at, uint64_t length,
		     uint32_t kernel)
{
	uint32_t stack = m->has_stacks ? ++m->n_calls % STACKS + 1 : 0;
	uint32_t id = kernel ? ++m->seq : 0; /* only calls with GPU work are numbered */
	jb_call_from(m->b, 1, hook, at, length, id, kernel, stack);
	if (!kernel)
		return;
	if (!m->by_order)
		jb_external(m->b, CUPTI_SLOT, id, 1, id);
	jb_work(m->b, CUPTI_SLOT, REC_KERNEL, kernel, at + 6000, 3000 + id % 900, id, 7);
}

/* Makes a step's launches and their kernels, with occasional waits for them. */
static uint64_t add_step(struct making *m, uint64_t at)
{
	for (uint32_t i = 1; i <= m->launches_in_step; i++, at += LAUNCH_NS) {
		add_call(m, JB_LAUNCH, at, 2500 + i % 700, i % KERNELS + 1);
		if (i % CALLS_OF_READ && i != m->launches_in_step)
			continue;
		at += LAUNCH_NS;
		add_call(m, JB_SYNC, at, READ_NS, 0);
		at += READ_NS;
	}
	return at;
}

static struct journal_builder *build(const struct shape *shape, uint32_t n_events)
{
	uint64_t at = 1000, bytes = (uint64_t)n_events *
				    (sizeof(struct rec_call) + sizeof(struct rec_gpu) +
				     sizeof(struct rec_external) + 2) /
				    2;
	struct making m = { .launches_in_step = shape->launches_in_step,
			    .has_stacks = shape->has_stacks,
			    .by_order = shape->by_order };
	if (!m.launches_in_step)
		m.launches_in_step = n_events / 2;
	uint32_t n_steps = n_events / (2 * m.launches_in_step);
	bytes += (uint64_t)n_steps * sizeof(struct rec_step);
	m.b = jb_new_with((uint32_t)(bytes / JOURNAL_CHUNK_BYTES) + 16, JOURNAL_CHUNK_BYTES,
			  4 << 20);
	bench_add_names(m.b);
	for (uint32_t i = 1; i <= KERNELS; i++)
		jb_launch_shape(m.b, i, i, 1); /* as jb_work has it */
	jb_info(m.b, "pairing", shape->by_order ? "order" : "external");
	if (shape->has_stacks) {
		add_frames(m.b);
		add_stacks(m.b);
	}
	jb_gpu_state(m.b, 1, GPU_ON, 1, 0);
	if (shape->is_learned) {
		m.b->header->steps.mode = STEP_MODE_AUTO;
		jb_info(m.b, "PROF_SCHEDULE", "always");
	}
	for (uint32_t i = 0; i < n_steps; i++) {
		if (!shape->is_learned)
			jb_step(m.b, 1, STEP_BEGIN, at, i, SCHED_RECORD);
		at = add_step(&m, at + 1000);
	}
	if (!shape->is_learned)
		jb_step(m.b, 1, STEP_BEGIN, at, n_steps, SCHED_NONE);
	jb_end(m.b, at + 1000);
	return m.b;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

struct cost {
	double wall_s, cpu_s, mib;
};

/* Ends this program on failure. */
static struct cost run_report(const char *program)
{
	struct rusage usage;
	int status;
	double begin = bench_now_s();
	pid_t pid = fork();
	if (!pid) {
		int nothing = open("/dev/null", O_WRONLY);
		dup2(nothing, 1);
		execl(program, "profrun", "report", folder, (char *)NULL);
		_exit(127);
	}
	if (pid < 0 || wait4(pid, &status, 0, &usage) != pid || status) {
		fprintf(stderr, "report_bench: %s report %s failed\n", program, folder);
		exit(1);
	}
	return (struct cost){ .wall_s = bench_now_s() - begin,
			      .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
			      .mib = (double)usage.ru_maxrss / 1024 };
}

/* On a loaded machine the processor time says more. */
static int by_cpu(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;
	return x->cpu_s < y->cpu_s ? -1 : x->cpu_s > y->cpu_s;
}

static void measure(const struct shape *shape, uint32_t n_events, const char *program,
		    const char *path)
{
	struct cost costs[RUNS];
	struct journal_builder *b = build(shape, n_events);
	struct stat status;
	jb_write(b, path);
	jb_free(b);
	if (stat(path, &status))
		exit(1);
	for (int i = 0; i < RUNS; i++)
		costs[i] = run_report(program);
	qsort(costs, RUNS, sizeof(*costs), by_cpu);
	const struct cost *median = &costs[RUNS / 2];
	printf("report of %u events, %s: %.2f s (processor time %.2f s: %.2f million events/s, "
	       "%.0f MB/s of journal), %.0f MiB at most\n",
	       n_events, shape->text, median->wall_s, median->cpu_s, n_events / median->cpu_s / 1e6,
	       (double)status.st_size / median->cpu_s / 1e6, median->mib);
	unlink(path);
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
	char program[4096], path[96], inner[64];
	if (argc < 2 || !mkdtemp(folder))
		return 1;
	snprintf(program, sizeof(program), "%s/profrun", argv[1]);
	snprintf(inner, sizeof(inner), "%s/journal", folder);
	snprintf(path, sizeof(path), "%s/1.journal", inner);
	if (mkdir(inner, 0777))
		return 1;
	for (size_t i = 0; i < sizeof(shapes) / sizeof(*shapes); i++)
		measure(&shapes[i], n, program, path);
	puts("budget 1 s, 190 MiB");
	rmdir(inner);
	rmdir(folder);
	return 0;
}
