/*
 * How fast a journal becomes a Perfetto trace: one step of N launches (default 1,000,000), each with its kernel. Prints what each
 * stage takes: reading and pairing, encoding alone, encoding with gzip into a file.
 */
#include "core/follow.h"
#include "export/exporter.h"
#include "export/perfetto.h"
#include "test/unit/journal_builder.h"

#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { CUPTI_SLOT = 9, KERNELS = 200, LAUNCH_NS = 4000 };

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

static struct journal_builder *build(uint32_t n)
{
	uint64_t bytes = (uint64_t)n * (sizeof(struct rec_call) + sizeof(struct rec_gpu) +
					sizeof(struct rec_external));
	struct journal_builder *b =
		jb_new((uint32_t)(bytes / JOURNAL_CHUNK_BYTES) + 8, JOURNAL_CHUNK_BYTES);
	add_names(b);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	jb_step(b, 1, STEP_BEGIN, 10, 1, SCHED_RECORD_AND_SAVE);
	for (uint32_t i = 1; i <= n; i++) {
		uint64_t at = (uint64_t)i * LAUNCH_NS;
		jb_call(b, 1, JB_LAUNCH, at, 2500 + i % 700, i, i % KERNELS + 1);
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

static void measure(void *context, struct follow *f, const struct model_step *m)
{
	struct result *r = context;
	char path[128], more[64];
	struct err e;
	uint64_t bytes = 0;
	(void)f;
	r->n_events = m->calls.n + m->works.n;
	print_rate("journal to model (read, pair, sort)", r->n_events, now_s() - r->began_s, "");
	double begin = now_s();
	perfetto_encode(m, count_bytes, &bytes);
	snprintf(more, sizeof(more), ", %.1f MB, %.0f bytes an event", (double)bytes / 1e6,
		 (double)bytes / (double)r->n_events);
	print_rate("Perfetto encoding alone", r->n_events, now_s() - begin, more);
	snprintf(path, sizeof(path), "%s/step.pftrace.gz", folder);
	begin = now_s();
	if (exporter_perfetto.write_step(m, path, &e)) {
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
}

int main(int argc, char **argv)
{
	uint32_t n = argc > 1 ? (uint32_t)strtoul(argv[1], NULL, 10) : 1000000;
	char path[64];
	struct follow f;
	struct err e;
	if (!mkdtemp(folder))
		return 1;
	snprintf(path, sizeof(path), "%s/1.journal", folder);
	struct journal_builder *b = build(n);
	jb_write(b, path);
	jb_free(b);
	struct result r = { .began_s = now_s() };
	const struct follow_sink sink = { .context = &r, .step = measure };
	if (follow_open(&f, path, false, &sink, &e)) {
		fprintf(stderr, "export_bench: %s\n", e.text);
		return 1;
	}
	follow_read(&f);
	follow_finish(&f, false);
	bool is_right = r.n_events == 2ull * n && f.counts.paired == n;
	follow_close(&f);
	unlink(path);
	rmdir(folder);
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%-44s %8.0f MiB for a step of %llu events\n", "largest memory",
	       (double)usage.ru_maxrss / 1024, (unsigned long long)r.n_events);
	if (!is_right)
		fprintf(stderr, "export_bench: not everything that was written came back\n");
	return !is_right;
}
