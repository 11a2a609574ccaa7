/* The Perfetto encoding, read back: tracks, slices, times and arrows as recorded. */
#include "core/source/journal/ingest.h"
#include "export/exporter.h"
#include "export/step_file.h"
#include "export/trace_count.h"
#include "test/unit/encoded.h"
#include "test/unit/journal_ingest.h"
#include "test/unit/perfetto_decoder.h"

#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Traces to decode ---- */

static struct decoded decoded;

static void decode_step(void *context, struct ingest *f, struct model_step *m)
{
	struct encoded bytes = { 0 };
	struct analyzer a;
	(void)f;
	analyzer_start(&a, m->tables, m->frames);
	encoded_step(&exporter_perfetto, analyzer_add(&a, m, false), encoded_append, &bytes);
	analyzer_free(&a);
	decode(&decoded, bytes.at, bytes.n);
	vec_free(&bytes);
	++*(int *)context;
}

/* Adds the step to the same file as those before it. */
static void add_step(void *context, struct ingest *f, struct model_step *m)
{
	struct analyzer a;
	(void)f;
	analyzer_start(&a, m->tables, m->frames);
	exporter_perfetto.add(context, analyzer_add(&a, m, false));
	analyzer_free(&a);
}

static void encode_in_one_file(const struct journal_builder *b)
{
	struct encoded bytes = { 0 };
	struct ingest f;
	void *file = exporter_perfetto.begin(encoded_append, &bytes);
	const struct ingest_sink sink = { .context = file, .step = add_step };
	ingest_written(&f, b, &sink, false);
	ingest_close(&f);
	exporter_perfetto.end(file);
	decode(&decoded, bytes.at, bytes.n);
	vec_free(&bytes);
}

static void encode_journal(const struct journal_builder *b)
{
	int n_steps = 0;
	struct ingest f;
	const struct ingest_sink sink = { .context = &n_steps, .step = decode_step };
	ingest_written(&f, b, &sink, false);
	ingest_close(&f);
	assert_int_equal(n_steps, 1);
}

enum { LAUNCHES = 300, PAUSES = 1 /* behind the last kernel; shorter ones are not shown */ };

static struct journal_builder *example(void)
{
	struct journal_builder *b = jb_new(64, 4096);
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "worker");
	jb_device(b, 0, "Test GPU");
	jb_string(b, 1, "_Z6kernelPf");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	jb_step(b, 1, STEP_BEGIN, 100, 1, SCHED_RECORD);
	jb_alloc(b, 2, JB_MALLOC, 200, 0x1000, 1 << 20);
	for (uint32_t i = 1; i <= LAUNCHES; i++) {
		jb_call(b, 1, JB_LAUNCH, i * 1000, 600, i, 7);
		jb_external(b, 2, i, 1, i);
		/* every third overlaps the one before it */
		jb_work(b, 2, REC_KERNEL, 1, i * 1000 + 700, i % 3 ? 900 : 1500, i, 7);
	}
	jb_work(b, 2, REC_MEMSET, 0, 5000, 100, 99999, 8); /* of no call */
	jb_step(b, 1, STEP_BEGIN, 400000, 2, SCHED_NONE);
	jb_end(b, 500000);
	return b;
}

static bool is_begun(uint64_t flow)
{
	for (size_t i = 0; i < decoded.n_flows; i++)
		if (decoded.flows[i] == flow)
			return true;
	return false;
}

static void test_what_was_recorded_is_in_the_trace(void **state)
{
	(void)state;
	struct journal_builder *b = example();
	encode_journal(b);
	const struct decoded_track *calls = decoded_named(&decoded, "main"),
				   *steps = decoded_named(&decoded, "Steps");
	const struct decoded_track *first = decoded_named(&decoded, "GPU 0 Stream 7"),
				   *second = decoded_named(&decoded, "GPU 0 Stream 7 (overlap 2)");
	assert_int_equal(calls->n_slices, LAUNCHES);
	assert_int_equal(calls->total_ns, LAUNCHES * 600);
	/* one device: all in the process's group, where the UI shows them without a click */
	assert_int_equal(first->parent, steps->parent);
	assert_int_equal(second->parent, steps->parent);
	assert_int_equal(first->n_slices + second->n_slices, LAUNCHES);
	assert_int_equal(first->total_ns + second->total_ns, LAUNCHES / 3 * (900 + 900 + 1500));
	assert_true(second->n_slices == LAUNCHES / 3 - 1);
	assert_int_equal(decoded_named(&decoded, "GPU 0 Stream 8")->n_slices, 1);
	assert_int_equal(decoded_named(&decoded, "Steps")->n_slices, 1);
	assert_int_equal(decoded_named(&decoded, "Steps")->total_ns, 400000 - 100);
	assert_int_equal(decoded_named(&decoded, "launches in flight")->n_points, 2 * LAUNCHES);
	assert_int_equal(decoded_named(&decoded, "device memory allocated")->parent, steps->parent);
	assert_int_equal(decoded.highest_point, 1 << 20);
	assert_non_null(strstr(decoded.last_instant, "to a CUDA call"));
	decoded_free(&decoded);
	jb_free(b);
}

static size_t sequences(void)
{
	size_t n = 0;
	for (size_t i = 0; i < DECODED_MOST; i++)
		n += decoded.sequences[i].is_begun;
	return n;
}

/* A text takes its bytes once, on how many tracks it may be: the decoder asserts that a sequence
 * defines it once. A sequence has clocks for 64 tracks. */
static void test_tracks_share_their_words(void **state)
{
	(void)state;
	struct journal_builder *b = example();
	encode_journal(b);
	assert_int_equal(sequences(), 1);
	decoded_free(&decoded);
	for (uint32_t i = 1; i <= 64; i++)
		jb_work(b, 2, REC_MEMSET, 0, i * 100, 50, 88000 + i, 100 + i);
	encode_journal(b);
	assert_int_equal(sequences(), 2);
	for (uint32_t i = 1; i <= 64; i++) {
		char name[32];
		snprintf(name, sizeof(name), "GPU 0 Stream %u", 100 + i);
		assert_int_equal(decoded_named(&decoded, name)->total_ns, 50);
	}
	decoded_free(&decoded);
	jb_free(b);
}

/* Encodes steps in one file, and checks what is in them. Returns the number of sequences. */
static size_t sequences_of_steps(uint32_t n_steps, uint32_t n_launches)
{
	enum { STEP_NS = 1000000 };
	struct journal_builder *b = jb_new(64, 4096);
	jb_thread(b, 1, 100, "main");
	jb_string(b, 1, "_Z6kernelPf");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	for (uint32_t i = 1; i <= n_steps; i++) {
		jb_step(b, 1, STEP_BEGIN, (uint64_t)i * STEP_NS, i, SCHED_RECORD);
		for (uint32_t k = 1; k <= n_launches; k++) {
			uint64_t at = (uint64_t)i * STEP_NS + k * 2000;
			jb_call(b, 1, JB_LAUNCH, at, 600, i * n_launches + k, 7);
			jb_work(b, 2, REC_KERNEL, 1, at + 700, 900, i * n_launches + k, 7);
		}
	}
	jb_step(b, 1, STEP_BEGIN, (uint64_t)(n_steps + 1) * STEP_NS, n_steps + 1, SCHED_NONE);
	jb_end(b, (uint64_t)(n_steps + 2) * STEP_NS);
	encode_in_one_file(b);
	assert_int_equal(decoded_named(&decoded, "main")->n_slices, n_steps * n_launches);
	assert_int_equal(decoded_named(&decoded, "main")->total_ns, n_steps * n_launches * 600);
	assert_int_equal(decoded_named(&decoded, "GPU 0 Stream 7")->total_ns,
			 n_steps * n_launches * 900);
	size_t n = sequences();
	decoded_free(&decoded);
	jb_free(b);
	return n;
}

/* The steps of a file share their texts, too, and each track keeps its clock. With few packets,
 * Perfetto would copy the texts too often. */
static void test_steps_share_their_words(void **state)
{
	(void)state;
	assert_int_equal(sequences_of_steps(14, 100), 1);
	assert_in_range(sequences_of_steps(14, 1), 2, 3);
}

/* Names are bytes of the application's choice. A trace's names are UTF-8. */
static void test_names_are_utf8(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(64, 4096);
	jb_thread(b, 1, 100, "m\xffi\xe2\x82n \xc3\xa4");
	jb_string(b, 1, "ten bytes!\xed\xa0\x80 \xc0 \xe2\x82\xac \xf0\x9f\x98");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	jb_step(b, 1, STEP_BEGIN, 100, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 1000, 600, 1, 7);
	jb_work(b, 2, REC_KERNEL, 1, 1700, 900, 1, 7);
	jb_step(b, 1, STEP_BEGIN, 400000, 2, SCHED_NONE);
	jb_end(b, 500000);
	encode_journal(b);
	decoded_named(&decoded, "m?i??n \xc3\xa4");
	uint64_t stream = decoded_named(&decoded, "GPU 0 Stream 7")->uuid;
	for (size_t i = 0; i < decoded.n_slices; i++)
		if (decoded.slices[i].track == stream)
			assert_string_equal(decoded.slices[i].name,
					    "ten bytes!??? ? \xe2\x82\xac ???");
	decoded_free(&decoded);
	jb_free(b);
}

static void test_a_memset_names_its_memory_if_it_is_known(void **state)
{
	static const struct {
		uint32_t memory;
		const char *name;
	} cases[] = { { 0, "Memset" }, { 3, "Memset (Device)" }, { 1234, "Memset" } };
	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char name[40];
		model_memset_name(name, sizeof(name), cases[i].memory);
		assert_string_equal(name, cases[i].name);
	}
}

/* Several devices: a group each, so that streams of the same number are not taken for one. */
static void test_each_device_has_its_group(void **state)
{
	(void)state;
	struct journal_builder *b = example();
	struct rec_gpu work = { .kind = REC_KERNEL,
				.words = sizeof(work) / 8,
				.device = 1,
				.name = 1,
				.begin_ticks = JB_START + 2000,
				.end_ticks = JB_START + 3000,
				.correlation = 77777,
				.stream = 9 };
	jb_record(b, 2, &work, sizeof(work));
	encode_journal(b);
	const struct decoded_track *first = decoded_named(&decoded, "GPU 0: Test GPU"),
				   *second = decoded_named(&decoded, "GPU 1");
	assert_int_equal(decoded_named(&decoded, "GPU 0 Stream 7")->parent, first->uuid);
	assert_int_equal(decoded_named(&decoded, "GPU 0 Stream 8")->parent, first->uuid);
	assert_int_equal(decoded_named(&decoded, "GPU 1 Stream 9")->parent, second->uuid);
	assert_int_equal(decoded_named(&decoded, "device memory allocated")->parent, first->uuid);
	assert_int_equal(decoded_named(&decoded, "Steps")->parent, first->parent);
	decoded_free(&decoded);
	jb_free(b);
}

static void test_arrows_join_each_launch_to_its_kernel(void **state)
{
	(void)state;
	struct journal_builder *b = example();
	encode_journal(b);
	assert_int_equal(decoded.n_flows, LAUNCHES);
	assert_int_equal(decoded.n_flow_ends, LAUNCHES);
	for (size_t i = 0; i < decoded.n_flow_ends; i++)
		assert_true(is_begun(decoded.flow_ends[i]));
	decoded_free(&decoded);
	jb_free(b);
}

/*
 * Calls of one thread that overlap (a damaged journal) are clipped, not misnested: the decoder
 * asserts nesting.
 */
static void test_never_misnests(void **state)
{
	(void)state;
	struct journal_builder *b = jb_new(16, 4096);
	jb_thread(b, 1, 100, "main");
	jb_step(b, 1, STEP_BEGIN, 1, 1, SCHED_RECORD);
	jb_call(b, 1, JB_LAUNCH, 100, 5000, 1, 7);
	jb_call(b, 1, JB_LAUNCH, 200, 10, 2, 7);
	jb_call(b, 1, JB_LAUNCH, 5000, 200, 3, 7);
	jb_end(b, 9000);
	encode_journal(b);
	assert_int_equal(decoded_named(&decoded, "main")->n_slices, 3);
	decoded_free(&decoded);
	jb_free(b);
}

/* ---- Stacks and ranges ---- */

static void add_code(struct journal_builder *b, uint32_t id, uint32_t file, uint32_t name,
		     uint32_t line)
{
	static const uint8_t lines[] = { 4, 0 }; /* four bytes of code, no step to another line */
	jb_code(b,
		&(struct dict_code){ .id = id,
				     .file = file,
				     .name = name,
				     .first_line = line,
				     .lines = LINES_310,
				     .table_bytes = sizeof(lines) },
		lines);
}

/* A kernel launched by the user's forward() through five frames of a library. */
static struct journal_builder *example_with_stack(void)
{
	struct journal_builder *b = jb_new(16, 4096);
	static const char *const texts[] = { "_Z6kernelPf",
					     "/home/me/train.py",
					     "forward",
					     "main",
					     "/usr/lib/python3/dist-packages/torch/nn/modules.py",
					     "_call_impl",
					     "half way",
					     "epoch",
					     "loader",
					     "program" };
	uint64_t frames[] = { frame_python(2, 0), frame_python(1, 0), frame_python(2, 0),
			      frame_python(2, 0), frame_python(2, 0), frame_python(3, 0) };
	for (uint32_t i = 0; i < sizeof(texts) / sizeof(*texts); i++)
		jb_string(b, i + 1, texts[i]);
	add_code(b, 1, 2, 3, 31);
	add_code(b, 2, 5, 6, 99);
	add_code(b, 3, 2, 4, 77);
	jb_stack(b, 5, 0, 0, 0, frames, sizeof(frames) / sizeof(*frames));
	jb_thread(b, 1, 100, "main");
	jb_thread(b, 2, 101, "loads");
	jb_launch_shape(b, 7, 1, 16);
	jb_kernel(b, 1, 1);
	jb_gpu_state(b, 1, GPU_ON, 1, 0);
	jb_step(b, 1, STEP_BEGIN, 100, 1, SCHED_RECORD);
	jb_range(b, 1, RANGE_PUSH, 0, 1, 10, 0);
	jb_range(b, 1, RANGE_START, 200, 256, 8, 9);
	jb_range(b, 1, RANGE_START, 250, 512, 8, 9);
	jb_range(b, 1, RANGE_PUSH, 900, 2, 3, 0);
	jb_call_from(b, 1, JB_LAUNCH, 1000, 500, 1, 7, 5);
	jb_range(b, 1, RANGE_MARK, 1600, 0, 7, 0);
	jb_range(b, 1, RANGE_PUSH, 1700, 3, 8, 0);
	jb_range(b, 1, RANGE_POP, 1800, 3, 0, 0);
	jb_call_from(b, 1, JB_LAUNCH, 2000, 500, 2, 7, 5);
	jb_range(b, 1, RANGE_POP, 2600, 2, 0, 0);
	jb_external(b, 2, 1, 1, 1);
	jb_work(b, 2, REC_KERNEL, 1, 1700, 100, 1, 7);
	jb_range(b, 2, RANGE_END, 2700, 256, 0, 9);
	jb_range(b, 2, RANGE_END, 2800, 512, 0, 9);
	jb_step(b, 1, STEP_BEGIN, 4000, 2, SCHED_NONE);
	jb_end(b, 9000);
	return b;
}

static const struct decoded_slice *slice_on(const char *track_name, size_t n)
{
	const struct decoded_track *t = decoded_named(&decoded, track_name);
	for (size_t i = 0; i < decoded.n_slices; i++)
		if (decoded.slices[i].track == t->uuid && !n--)
			return &decoded.slices[i];
	fail_msg("too few slices on '%s'", track_name);
	return NULL;
}

static void test_calls_and_kernels_say_who_made_them(void **state)
{
	(void)state;
	struct journal_builder *b = example_with_stack();
	encode_journal(b);
	for (size_t i = 2; i < 5; i += 2) {
		const struct decoded_slice *call = slice_on("main", i);
		assert_string_equal(call->name, "cudaLaunchKernel");
		assert_string_equal(call->line, "train.py:31");
		assert_string_equal(call->function, "forward");
		assert_string_equal(call->stack,
				    "_call_impl (modules.py:99)\nforward (train.py:31)\n"
				    "... 3 frames in torch\nmain (train.py:77)");
	}
	assert_string_equal(slice_on("GPU 0 Stream 7", 0)->line, "train.py:31");
	decoded_free(&decoded);
	jb_free(b);
}

static void test_ranges_lie_around_calls(void **state)
{
	(void)state;
	struct journal_builder *b = example_with_stack();
	encode_journal(b);
	static const struct {
		const char *name;
		uint64_t begin;
		int depth;
	} wanted[] = { { "program", 100, 0 },
		       { "forward", 900, 1 },
		       { "cudaLaunchKernel", 1000, 2 },
		       { "epoch", 1700, 2 },
		       { "cudaLaunchKernel", 2000, 2 } };
	for (size_t i = 0; i < sizeof(wanted) / sizeof(*wanted); i++) {
		const struct decoded_slice *s = slice_on("main", i);
		assert_string_equal(s->name, wanted[i].name);
		assert_int_equal(s->begin, JB_START + wanted[i].begin);
		assert_int_equal(s->depth, wanted[i].depth);
	}
	assert_int_equal(decoded_named(&decoded, "main")->total_ns, 3900 + 1700 + 100 + 2 * 500);
	/* two at once have a track each */
	size_t n = 0;
	for (size_t i = 0; i < decoded.n_tracks; i++)
		n += !strcmp(decoded.tracks[i].name, "NVTX ranges of the process") &&
		     decoded.tracks[i].n_slices == 1;
	assert_int_equal(n, 2);
	assert_string_equal(slice_on("NVTX ranges of the process", 0)->domain, "loader");
	assert_int_equal(decoded_named(&decoded, "NVTX ranges of the process")->total_ns, 2500);
	decoded_free(&decoded);
	jb_free(b);
}

static int write_alone(const struct model_step *m, const char *to, struct err *e)
{
	struct analyzer a;
	analyzer_start(&a, m->tables, m->frames);
	int error = step_file_write(&exporter_perfetto, analyzer_add(&a, m, false), to, e);
	analyzer_free(&a);
	return error;
}

static void write_example(void *context, struct ingest *f, struct model_step *m)
{
	struct err e = { "" };
	(void)f;
	assert_int_equal(write_alone(m, context, &e), 0);
}

/* The file: whole or absent, counted by `profrun info`; a cut one is refused in words. */
static void test_file_is_whole_and_can_be_counted(void **state)
{
	(void)state;
	char trace[120], cut[120], part[160];
	struct journal_builder *b = example();
	struct ingest f;
	struct err e = { "" };
	struct trace_count count;
	snprintf(trace, sizeof(trace), "%s.pftrace.gz", path);
	snprintf(cut, sizeof(cut), "%s.cut.gz", path);
	snprintf(part, sizeof(part), "%s.%d.part", trace, (int)getpid());
	const struct ingest_sink sink = { .context = trace, .step = write_example };
	jb_write(b, path);
	assert_int_equal(ingest_open(&f, path, false, &sink, &e), 0);
	ingest_read(&f);
	ingest_finish(&f, false);
	ingest_close(&f);
	assert_int_not_equal(access(part, F_OK), 0);
	assert_int_equal(trace_count_file(trace, &count, &e), 0);
	assert_int_equal(count.slices, 2 * LAUNCHES + 1 /* memset */ + 1 /* step */ +
					       1 /* cudaMalloc */ + PAUSES);
	assert_int_equal(count.flows, LAUNCHES);
	assert_int_equal(count.threads, 2);
	struct stat status;
	stat(trace, &status);
	FILE *from = fopen(trace, "rb"), *to = fopen(cut, "wb");
	for (long i = 0; i < status.st_size * 2 / 3; i++)
		fputc(fgetc(from), to);
	fclose(from);
	fclose(to);
	assert_int_not_equal(trace_count_file(cut, &count, &e), 0);
	assert_non_null(strstr(e.text, "cut short"));
	assert_int_not_equal(trace_count_file(path, &count, &e), 0);
	assert_non_null(strstr(e.text, "not a Perfetto trace"));
	unlink(trace);
	unlink(cut);
	jb_free(b);
}

static void test_says_why_a_file_cannot_be_written(void **state)
{
	(void)state;
	struct tables tables = { 0 };
	struct model_step m = { .tables = &tables, .command = "", .detector = "auto" };
	struct err e = { "" };
	assert_int_not_equal(write_alone(&m, "/proc/nowhere/step-1.pftrace.gz", &e), 0);
	assert_non_null(strstr(e.text, "/proc/nowhere"));
}

/* A full disk (here: a limit on file sizes) gives an error in words, and no file is left. */
static void test_leaves_nothing_where_the_disk_is_full(void **state)
{
	(void)state;
	const struct rlimit small = { 64, RLIM_INFINITY },
			    plenty = { RLIM_INFINITY, RLIM_INFINITY };
	char trace[120];
	struct tables tables = { 0 };
	struct model_step m = { .tables = &tables, .command = "", .detector = "auto" };
	struct err e = { "" };
	snprintf(trace, sizeof(trace), "%s.d/step-1.pftrace.gz", path);
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &small);
	int error = write_alone(&m, trace, &e);
	setrlimit(RLIMIT_FSIZE, &plenty);
	assert_int_equal(error, -EFBIG);
	assert_non_null(strstr(e.text, trace));
	*strrchr(trace, '/') = 0;
	assert_int_equal(rmdir(trace), 0); /* only an empty folder goes */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_was_recorded_is_in_the_trace),
		cmocka_unit_test(test_tracks_share_their_words),
		cmocka_unit_test(test_steps_share_their_words),
		cmocka_unit_test(test_names_are_utf8),
		cmocka_unit_test(test_a_memset_names_its_memory_if_it_is_known),
		cmocka_unit_test(test_each_device_has_its_group),
		cmocka_unit_test(test_arrows_join_each_launch_to_its_kernel),
		cmocka_unit_test(test_never_misnests),
		cmocka_unit_test(test_calls_and_kernels_say_who_made_them),
		cmocka_unit_test(test_ranges_lie_around_calls),
		cmocka_unit_test(test_file_is_whole_and_can_be_counted),
		cmocka_unit_test(test_says_why_a_file_cannot_be_written),
		cmocka_unit_test(test_leaves_nothing_where_the_disk_is_full),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
