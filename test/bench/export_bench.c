/*
 * How fast a journal becomes traces: one step of N launches (default 1,000,000), each with its
 * kernel. Prints what each stage takes: reading and pairing, analysis, then for each format of
 * traces encoding alone and encoding with gzip into a file; first of calls without stacks, then of
 * calls from 2,000 stacks of 20 Python frames, with an NVTX range around every ten.
 */
#include "core/source/journal/ingest.h"
#include "export/exporter.h"
#include "export/step_file.h"
#include "test/bench/bench_journal.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	STACKS = 2000,
	CODES = 100,
	FRAMES = 20,
	CALLS_IN_RANGE = 10,
	RANGE_NAME = FIRST_TEXT + CODES,
};

static char folder[] = "/tmp/profrun-bench-XXXXXX";

/* The innermost frame distinguishes the stacks. */
static void add_stacks(struct journal_builder *b)
{
	bench_add_codes(b, CODES);
	for (uint32_t i = 1; i <= STACKS; i++) {
		uint64_t frames[FRAMES];
		for (uint32_t k = 0; k < FRAMES; k++)
			frames[k] = frame_python(k ? (i / 7 + k * 3) % CODES + 1 : i % CODES + 1,
						 k ? 2 : 2 * (i / CODES));
		jb_stack(b, i, 0, 0, 0, frames, FRAMES);
	}
	jb_string(b, RANGE_NAME, "forward");
}

static void add_range(struct journal_builder *b, uint32_t i, uint64_t at)
{
	if (i % CALLS_IN_RANGE == 1)
		jb_range(b, 1, RANGE_PUSH, at - 100, i, RANGE_NAME, 0);
	else if (i % CALLS_IN_RANGE == 0)
		jb_range(b, 1, RANGE_POP, at + 3500, i - CALLS_IN_RANGE + 1, 0, 0);
}

static struct journal_builder *build(uint32_t n, bool has_stacks)
{
	uint64_t bytes = (uint64_t)n * (sizeof(struct rec_call) + sizeof(struct rec_gpu) +
					sizeof(struct rec_external));
	bytes += (uint64_t)n * 2 / CALLS_IN_RANGE * sizeof(struct rec_range);
	struct journal_builder *b = jb_new_with((uint32_t)(bytes / JOURNAL_CHUNK_BYTES) + 8,
						JOURNAL_CHUNK_BYTES, 1 << 20);
	bench_add_names(b);
	for (uint32_t i = 1; i <= KERNELS; i++)
		jb_launch_shape(b, i, i, i * 8);
	if (has_stacks)
		add_stacks(b);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD_AND_SAVE);
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t at = (uint64_t)i * LAUNCH_NS;
		jb_call_from(b, 1, JB_LAUNCH, at, 2500 + i % 700, i, i % KERNELS + 1,
			     has_stacks ? i % STACKS + 1 : 0);
		if (has_stacks)
			add_range(b, i, at);
		jb_external(b, CUPTI_SLOT, i, 1, i);
		jb_work(b, CUPTI_SLOT, REC_KERNEL, i % KERNELS + 1, at + 6000, 3000 + i % 900, i,
			7);
	}
	jb_step(b, 1, STEP_BEGIN, (uint64_t)(n + 9) * LAUNCH_NS, 2, SCHED_NONE);
	jb_end(b, (uint64_t)(n + 10) * LAUNCH_NS);
	return b;
}

static void count_bytes(void *context, const void *bytes, size_t n)
{
	(void)bytes;
	*(uint64_t *)context += n;
}

struct result {
	double began_s;
	uint64_t n_events;
};

static void print_rate(const char *what, uint64_t n, double s, const char *more)
{
	printf("%-44s %8.2f M events/s  (%.3f s%s)\n", what, (double)n / s / 1e6, s, more);
}

static long file_bytes(const char *path)
{
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		exit(1);
	long bytes = ftell(file);
	fclose(file);
	return bytes;
}

/* The time of this thread, because other programs of the machine may interrupt it. */
static double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void measure_format(const struct exporter *x, const struct analyzed_step *step, uint64_t n)
{
	char path[128], more[64], what[64];
	struct err e;
	uint64_t bytes = 0;
	double begin = cpu_s();
	void *file = x->begin(count_bytes, &bytes);
	x->add(file, step);
	x->end(file);
	snprintf(more, sizeof(more), ", %.1f MB, %.0f bytes an event", (double)bytes / 1e6,
		 (double)bytes / (double)n);
	snprintf(what, sizeof(what), "%s: encoding alone", x->name);
	print_rate(what, n, cpu_s() - begin, more);
	snprintf(path, sizeof(path), "%s/step%s", folder, x->suffix);
	begin = bench_now_s();
	if (step_file_write(x, step, path, &e)) {
		fprintf(stderr, "export_bench: %s\n", e.text);
		exit(1);
	}
	double s = bench_now_s() - begin;
	snprintf(more, sizeof(more), ", %.1f MB", (double)file_bytes(path) / 1e6);
	snprintf(what, sizeof(what), "%s: encoding, gzip, written", x->name);
	print_rate(what, n, s, more);
	unlink(path);
}

static void measure(void *context, struct ingest *f, struct model_step *m)
{
	struct result *r = context;
	const struct exporter *x;
	(void)f;
	r->n_events = m->calls.n + m->works.n;
	print_rate("journal to model (read, pair, sort)", r->n_events, bench_now_s() - r->began_s,
		   "");
	double begin = bench_now_s();
	struct analyzer a;
	analyzer_start(&a, m->tables, m->frames);
	const struct analyzed_step *step = analyzer_add(&a, m, false);
	print_rate("analysis of the step", r->n_events, bench_now_s() - begin, "");
	for (size_t i = 0; (x = exporter_at(i)); i++)
		if (x->begin)
			measure_format(x, step, r->n_events);
	analyzer_free(&a);
}

/* Returns false if not everything came back. */
static bool run(uint32_t n, bool has_stacks)
{
	char path[64];
	struct ingest f;
	struct err e;
	snprintf(path, sizeof(path), "%s/1.journal", folder);
	struct journal_builder *b = build(n, has_stacks);
	jb_write(b, path);
	jb_free(b);
	struct result r = { .began_s = bench_now_s() };
	const struct ingest_sink sink = { .context = &r, .step = measure };
	puts(has_stacks ? "calls with stacks, in ranges" : "calls alone");
	if (ingest_open(&f, path, false, &sink, &e)) {
		fprintf(stderr, "export_bench: %s\n", e.text);
		return false;
	}
	ingest_read(&f);
	ingest_finish(&f, false);
	bool is_right = r.n_events == 2ull * n && f.counts.paired == n;
	ingest_close(&f);
	unlink(path);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%-44s %8.0f MiB for a step of %llu events\n", "largest memory so far",
	       (double)usage.ru_maxrss / 1024, (unsigned long long)r.n_events);
	if (!is_right)
		fprintf(stderr, "export_bench: not everything that was written came back\n");
	return is_right;
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	if (!mkdtemp(folder))
		return 1;
	bool is_right = run(n, false);
	is_right &= run(n, true);
	rmdir(folder);
	return !is_right;
}
