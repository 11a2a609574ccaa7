/*
 * What a report of a long recording takes: a journal of N events (default 1,000,000: launches and their kernels, a copy and a wait in
 * each of the recorded steps), read by `profrun report`. Prints its time and its largest memory; medians of five.
 * usage: report_bench BUILD [N]
 */
#include "test/unit/journal_builder.h"

#include "core/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CUPTI_SLOT = 9, KERNELS = 200, LAUNCH_NS = 4000, LAUNCHES_IN_STEP = 5000, RUNS = 5 };

static char folder[] = "/tmp/profrun-bench-XXXXXX";

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void add_names(struct journal_builder *b)
{
	jb_thread(b, 1, 100, "main");
	jb_thread(b, CUPTI_SLOT, 109, "cupti");
	jb_device(b, 0, "Bench GPU");
	for (uint32_t i = 1; i <= KERNELS; i++) {
		char name[128];
		snprintf(name, sizeof(name),
			 "void at::native::vectorized_elementwise_kernel<%u, "
			 "at::native::Functor>(int)",
			 i);
		jb_string(b, i, name);
		jb_launch_shape(b, i, i, i * 8);
		jb_kernel(b, i, i);
	}
}

/* A step's launches, their kernels, and a wait for them. */
static uint64_t add_step(struct journal_builder *b, uint64_t at, uint32_t *seq)
{
	for (uint32_t i = 0; i < LAUNCHES_IN_STEP; i++, at += LAUNCH_NS) {
		uint32_t kernel = i % KERNELS + 1, id = ++*seq;
		jb_call(b, 1, JB_LAUNCH, at, 2500 + i % 700, id, kernel);
		jb_external(b, CUPTI_SLOT, id, 1, id);
		jb_work(b, CUPTI_SLOT, REC_KERNEL, kernel, at + 6000, 3000 + i % 900, id, 7);
	}
	jb_call(b, 1, JB_SYNC, at, 50000, ++*seq, 0);
	return at + 60000;
}

static struct journal_builder *build(uint32_t n_events)
{
	uint32_t n_steps = n_events / (2 * LAUNCHES_IN_STEP), seq = 0;
	uint64_t at = 1000, bytes = (uint64_t)n_events *
				    (sizeof(struct rec_call) + sizeof(struct rec_gpu) +
				     sizeof(struct rec_external)) /
				    2;
	struct journal_builder *b =
		jb_new((uint32_t)(bytes / JOURNAL_CHUNK_BYTES) + 16, JOURNAL_CHUNK_BYTES);
	add_names(b);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	for (uint32_t i = 0; i < n_steps; i++) {
		jb_step(b, 1, STEP_BEGIN, at, i, SCHED_RECORD);
		at = add_step(b, at + 1000, &seq);
	}
	jb_step(b, 1, STEP_BEGIN, at, n_steps, SCHED_NONE);
	jb_end(b, at + 1000);
	return b;
}

static double seconds(struct timeval t)
{
	return (double)t.tv_sec + (double)t.tv_usec * 1e-6;
}

struct cost {
	double wall_s, cpu_s, mib;
};

/* Ends this program where it fails. */
static struct cost run_report(const char *program)
{
	struct rusage usage;
	int status;
	double begin = now_s();
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
	return (struct cost){ .wall_s = now_s() - begin,
			      .cpu_s = seconds(usage.ru_utime) + seconds(usage.ru_stime),
			      .mib = (double)usage.ru_maxrss / 1024 };
}

static int by_wall(const void *a, const void *b)
{
	const struct cost *x = a, *y = b;
	return x->wall_s < y->wall_s ? -1 : x->wall_s > y->wall_s;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 2 ? (uint32_t)strtoul(argv[2], NULL, 10) : 1000000;
	char program[4096], path[96], inner[64];
	struct cost costs[RUNS];
	if (argc < 2 || !mkdtemp(folder))
		return 1;
	snprintf(program, sizeof(program), "%s/profrun", argv[1]);
	snprintf(inner, sizeof(inner), "%s/journal", folder);
	snprintf(path, sizeof(path), "%s/1.journal", inner);
	if (mkdir(inner, 0777))
		return 1;
	struct journal_builder *b = build(n);
	jb_write(b, path);
	jb_free(b);
	for (int i = 0; i < RUNS; i++)
		costs[i] = run_report(program);
	qsort(costs, RUNS, sizeof(*costs), by_wall);
	const struct cost *median = &costs[RUNS / 2];
	printf("report of %u events: %.2f s (processor time %.2f s), %.0f MiB at most; budget 1 s, "
	       "190 MiB\n",
	       n, median->wall_s, median->cpu_s, median->mib);
	unlink(path);
	rmdir(inner);
	rmdir(folder);
	return 0;
}
