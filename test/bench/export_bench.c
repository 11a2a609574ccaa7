/*
 * How fast a journal becomes a Perfetto trace: one step of N launches (default 1,000,000), each
 * with its kernel. Prints the time of each stage: reading and pairing, encoding alone, encoding
 * with gzip into a file. First for bare calls, then for calls from 2,000 stacks of 20 Python
 * frames, with an NVTX range around every ten calls.
 */
#include "core/source/journal/ingest.h"
#include "export/exporter.h"
#include "export/perfetto.h"
#include "test/unit/journal_builder.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	CUPTI_SLOT = 9,
	KERNELS = 200,
	LAUNCH_NS = 4000,
	STACKS = 2000,
	CODES = 100,
	FRAMES = 20,
	CALLS_IN_RANGE = 10,
	FIRST_TEXT = KERNELS + 1,
	RANGE_NAME = FIRST_TEXT + CODES,
};

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

/* Half of the code is the user's; the innermost frame distinguishes the stacks. */
static void add_stacks(struct journal_builder *b)
{
	static const uint8_t table[] = { 0xf2, 2, 1 }; /* LINES_310 would do as well: one line */
	char text[128];
	for (uint32_t i = 0; i < CODES; i++) {
		snprintf(text, sizeof(text),
			 i % 2 ? "/home/me/model_%u.py"
			       : "/usr/lib/python3/site-packages/torch/nn/module_%u.py",
			 i);
		jb_string(b, FIRST_TEXT + i, text);
		jb_code(b,
			&(struct dict_code){ .id = i + 1,
					     .file = FIRST_TEXT + i,
					     .name = FIRST_TEXT + i,
					     .first_line = 10,
					     .lines = LINES_311,
					     .table_bytes = sizeof(table) },
			table);
	}
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
	add_names(b);
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

static void measure(void *context, struct ingest *f, struct model_step *m)
{
	struct result *r = context;
	char path[128], more[64];
	struct err e;
	uint64_t bytes = 0;
	(void)f;
	r->n_events = m->calls.n + m->works.n;
	print_rate("journal to model (read, pair, sort)", r->n_events, now_s() - r->began_s, "");
	double begin = now_s();
	struct analyzer a;
	analyzer_start(&a, m->tables, m->frames);
	const struct analyzed_step *step = analyzer_add(&a, m, false);
	print_rate("analysis of the step", r->n_events, now_s() - begin, "");
	begin = now_s();
	perfetto_encode(step, count_bytes, &bytes);
	snprintf(more, sizeof(more), ", %.1f MB, %.0f bytes an event", (double)bytes / 1e6,
		 (double)bytes / (double)r->n_events);
	print_rate("Perfetto encoding alone", r->n_events, now_s() - begin, more);
	snprintf(path, sizeof(path), "%s/step.pftrace.gz", folder);
	begin = now_s();
	if (exporter_perfetto.write_step(step, path, &e)) {
		fprintf(stderr, "export_bench: %s\n", e.text);
		exit(1);
	}
	double s = now_s() - begin;
	FILE *file = fopen(path, "rb");
	if (!file || fseek(file, 0, SEEK_END))
		exit(1);
	snprintf(more, sizeof(more), ", %.1f MB", (double)ftell(file) / 1e6);
	fclose(file);
	print_rate("Perfetto encoding, gzip, written", r->n_events, s, more);
	unlink(path);
	analyzer_free(&a);
}

/* Returns false if not everything could be read back. */
static bool run(uint32_t n, bool has_stacks)
{
	char path[64];
	struct ingest f;
	struct err e;
	snprintf(path, sizeof(path), "%s/1.journal", folder);
	struct journal_builder *b = build(n, has_stacks);
	jb_write(b, path);
	jb_free(b);
	struct result r = { .began_s = now_s() };
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
