/* The walk over a step, seen by a visitor of its own: a trace format needs no more than this file
 * and a row in core/runtime/formats.h. */
#include "core/runtime/config.h"
#include "export/exporter.h"
#include "export/trace_walk.h"
#include "test/unit/fake_frames.h"
#include "test/unit/step_builder.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

enum { DEPTH_MOST = 16, FLOWS_MOST = 16, TRACKS_MOST = 32 };

/* ---- A visitor that counts, and checks what every format relies on ---- */

struct seen {
	const struct trace_words *words;
	uint64_t pid, step;
	size_t n_tracks, n_groups, n_slices, n_ends, n_instants, n_points;
	size_t n_flows_out, n_flows_in;
	uint32_t flows_out[FLOWS_MOST];
	char tracks[TRACKS_MOST][64];
	uint64_t track_ids[TRACKS_MOST];
	size_t slices_of[TRACE_CATEGORY_NAMES];
	uint64_t now_ns;
	uint64_t ends[DEPTH_MOST]; /* of open slices */
	size_t depth;
	bool has_events;			       /* the track may have them */
	char first_kernel_args[256], kernel_args[256]; /* of the first and the last kernel */
	char sample_args[512]; /* of all samples: times in us, name, arguments */
};

static void see_process(void *context, const struct trace_process *p)
{
	struct seen *s = context;
	*s = (struct seen){ .words = p->words, .pid = p->pid, .step = p->step };
}

static void see_track(void *context, const struct trace_track *t)
{
	struct seen *s = context;
	assert_non_null(s->words);
	assert_int_equal(s->depth, 0);
	assert_non_null(t->name);
	assert_true(s->n_tracks < TRACKS_MOST);
	s->track_ids[s->n_tracks] = trace_mix(t->kind, t->id);
	for (size_t i = 0; i < s->n_tracks; i++)
		assert_true(s->track_ids[i] != s->track_ids[s->n_tracks]);
	snprintf(s->tracks[s->n_tracks++], sizeof(*s->tracks), "%s%s%s",
		 t->parent ? t->parent->name : "", t->parent ? " > " : "", t->name);
	s->n_groups += t->is_group;
	s->has_events = !t->is_group;
	s->now_ns = t->begin_ns;
}

static void see_event(struct seen *s, uint64_t ns)
{
	assert_true(s->has_events);
	assert_true(ns >= s->now_ns);
	s->now_ns = ns;
}

/* "name=value" of each row, by its kind alone. */
static void print_args(const struct seen *s, const struct trace_slice *slice, char *to,
		       size_t bytes)
{
	size_t used = 0;
	for (size_t i = 0; i < slice->n_args; i++) {
		const struct trace_arg *a = &slice->args[i];
		used += (size_t)snprintf(to + used, bytes - used, "%s%s=", i ? " " : "",
					 trace_arg_names[a->name]);
		if (a->kind == TRACE_TRIPLE)
			used += (size_t)snprintf(to + used, bytes - used, "%u,%u,%u", a->triple[0],
						 a->triple[1], a->triple[2]);
		else if (a->kind == TRACE_WORD || a->kind == TRACE_TEXT)
			used += (size_t)snprintf(to + used, bytes - used, "%s",
						 a->kind == TRACE_TEXT
							 ? a->text
							 : trace_word_text(s->words, a->word));
		else if (a->kind == TRACE_DOUBLE)
			used += (size_t)snprintf(to + used, bytes - used, "%g", a->real);
		else
			used += (size_t)snprintf(to + used, bytes - used, "%llu",
						 (unsigned long long)a->uint);
	}
}

static void see_slice(void *context, const struct trace_slice *slice)
{
	struct seen *s = context;
	see_event(s, slice->begin_ns);
	assert_true(slice->end_ns >= slice->begin_ns);
	assert_true(s->depth < DEPTH_MOST);
	if (s->depth)
		assert_true(slice->end_ns <= s->ends[s->depth - 1]);
	s->ends[s->depth++] = slice->end_ns;
	s->n_slices++;
	s->slices_of[slice->category]++;
	for (size_t i = 0; i < slice->n_flows_out; i++)
		s->flows_out[s->n_flows_out++] = slice->flows_out[i];
	s->n_flows_in += slice->has_flow_in;
	if (slice->category == TRACE_CATEGORY_KERNEL)
		print_args(s, slice,
			   s->slices_of[slice->category] == 1 ? s->first_kernel_args
							      : s->kernel_args,
			   sizeof(s->kernel_args));
	if (slice->category == TRACE_CATEGORY_SAMPLE) {
		char args[128] = "";
		size_t used = strlen(s->sample_args);
		print_args(s, slice, args, sizeof(args));
		snprintf(s->sample_args + used, sizeof(s->sample_args) - used, "%llu-%llu %s%s%s; ",
			 (unsigned long long)slice->begin_ns / 1000,
			 (unsigned long long)slice->end_ns / 1000, slice->text, *args ? " " : "",
			 args);
	}
}

static void see_end(void *context, uint64_t ns)
{
	struct seen *s = context;
	see_event(s, ns);
	assert_true(s->depth > 0);
	assert_int_equal(s->ends[--s->depth], ns);
	s->n_ends++;
}

static void see_instant(void *context, const struct trace_slice *slice)
{
	struct seen *s = context;
	see_event(s, slice->begin_ns);
	assert_int_equal(slice->begin_ns, slice->end_ns);
	s->n_instants++;
}

static void see_point(void *context, uint64_t ns, int64_t value)
{
	struct seen *s = context;
	(void)value;
	see_event(s, ns);
	s->n_points++;
}

static const struct trace_visitor visitor = { see_process, see_track,	see_slice,
					      see_end,	   see_instant, see_point };

static bool has_track(const struct seen *s, const char *name)
{
	for (size_t i = 0; i < s->n_tracks; i++)
		if (!strcmp(s->tracks[i], name))
			return true;
	return false;
}

/* ---- Steps made by hand ---- */

static struct step_builder builder;
static struct analyzer analyzer;

static void begin_step(void)
{
	memset(&builder, 0, sizeof(builder));
	analyzer_start(&analyzer, &builder.tables, NULL);
	builder.tables.entry_point_names[ENTRY_POINT_RUNTIME] =
		strtab_intern(&builder.tables.names, "runtime");
	sb_step(&builder, 7, 0, 1000);
	builder.m.frames = (struct frames *)fake_frames;
	builder.m.pid = 42;
	builder.m.command = "program";
	builder.m.detector = "auto";
}

static void walk_step(struct seen *seen)
{
	trace_walk(sb_analyze(&builder, &analyzer), &visitor, seen);
}

static void end_step(void)
{
	model_free(&builder.m);
	analyzer_free(&analyzer);
	sb_free(&builder);
}

static void add_note(double us, const char *text)
{
	struct model_note note = { .ns = (uint64_t)(us * 1000) };
	snprintf(note.text, sizeof(note.text), "%s", text);
	vec_push(&builder.m.notes, note);
}

/* Three launches, two of whose kernels overlap; a wait, an allocation; 800 us of idle time. */
static void make_step(void)
{
	begin_step();
	sb_launch(&builder, 10, 20, 60, 0);
	sb_launch(&builder, 20, 50, 100, 0);
	sb_launch(&builder, 30, 100, 120, 0);
	sb_call(&builder, (struct sb_call){ .name = "cudaMalloc",
					    .category = CAT_ALLOC,
					    .begin_us = 40,
					    .end_us = 45,
					    .handle = 0x1000,
					    .bytes = 256,
					    .tid = 2 });
	sb_call(&builder, (struct sb_call){ .name = "cudaDeviceSynchronize",
					    .category = CAT_SYNC,
					    .begin_us = 50,
					    .end_us = 125 });
	sb_work(&builder, (struct sb_work){ .name = "memset",
					    .kind = WORK_MEMSET,
					    .begin_us = 920,
					    .end_us = 930,
					    .call = MODEL_NO_CALL,
					    .stream = 7 });
	add_note(300, "later");
	add_note(200, "earlier");
}

static void test_everything_is_visited(void **state)
{
	struct seen seen;
	(void)state;
	make_step();
	walk_step(&seen);
	assert_int_equal(seen.pid, 42);
	assert_int_equal(seen.step, 7);
	assert_int_equal(seen.n_ends, seen.n_slices);
	assert_int_equal(seen.depth, 0);
	assert_int_equal(seen.slices_of[TRACE_CATEGORY_STEP], 1);
	assert_int_equal(seen.slices_of[CAT_LAUNCH], 3);
	assert_int_equal(seen.slices_of[CAT_ALLOC], 1);
	assert_int_equal(seen.slices_of[CAT_SYNC], 1);
	assert_int_equal(seen.slices_of[TRACE_CATEGORY_KERNEL], 3);
	assert_int_equal(seen.slices_of[TRACE_CATEGORY_GPU_MEMSET], 1);
	assert_true(seen.slices_of[TRACE_CATEGORY_IDLE] >= 2);
	assert_int_equal(seen.n_instants, 2);
	assert_int_equal(seen.n_points, 6); /* launches in flight */
	static const char *const tracks[] = {
		"Steps",
		"profrun notes",
		"GPU 0 idle",
		"GPU 0 Stream 7",
		"GPU 0 Stream 7 (overlap 2)",
		"launches in flight",
	};
	for (size_t i = 0; i < sizeof(tracks) / sizeof(*tracks); i++)
		if (!has_track(&seen, tracks[i]))
			fail_msg("no track '%s'", tracks[i]);
	assert_int_equal(seen.n_groups, 0);
	end_step();
}

static void test_each_arrow_has_two_ends(void **state)
{
	struct seen seen;
	(void)state;
	make_step();
	walk_step(&seen);
	assert_int_equal(seen.n_flows_out, 3);
	assert_int_equal(seen.n_flows_in, 3);
	for (size_t i = 0; i < seen.n_flows_out; i++)
		for (size_t k = 0; k < i; k++)
			assert_true(seen.flows_out[i] != seen.flows_out[k]);
	end_step();
}

static void test_arguments_are_rows(void **state)
{
	struct seen seen;
	(void)state;
	begin_step();
	fake_add(1, "/home/me/train.py", 42, "forward", "", "aten::add");
	sb_launch(&builder, 10, 20, 60, 1);
	walk_step(&seen);
	assert_string_equal(seen.first_kernel_args,
			    "line=train.py:42 stream=7 device=0 context=0 correlation=0 "
			    "grid=0,0,0");
	fake_forget();
	end_step();
}

/* Two kernels of a graph, of which the captured call of the second is not known. */
static void make_graph(void)
{
	begin_step();
	fake_add(1, "/home/me/serve.py", 42, "generate", "", "");
	fake_add(2, "/home/me/model.py", 7, "Net.forward", "", "aten::add");
	uint32_t captured = sb_captured(&builder, (struct sb_call){ .name = "cudaLaunchKernel",
								    .category = CAT_LAUNCH,
								    .stack = 2 });
	uint32_t call = sb_call(&builder, (struct sb_call){ .name = "cudaGraphLaunch",
							    .category = CAT_GRAPH,
							    .begin_us = 10,
							    .end_us = 20,
							    .stack = 1 });
	for (uint32_t i = 0; i < 2; i++)
		sb_work(&builder, (struct sb_work){ .name = "kernel",
						    .begin_us = 30 + i * 20.0,
						    .end_us = 40 + i * 20.0,
						    .call = call,
						    .stream = 7,
						    .graph = 5,
						    .origin = i ? 0 : captured });
}

static void test_graph_kernels_say_where_they_were_captured(void **state)
{
	struct seen seen;
	(void)state;
	make_graph();
	walk_step(&seen);
	assert_string_equal(seen.first_kernel_args,
			    "line=model.py:7 captured_at=model.py:7 Net.forward operator=aten::add "
			    "stack=Net.forward (model.py:7) stream=7 device=0 context=0 "
			    "correlation=0 grid=0,0,0 graph=5 graph_node=21474836481");
	assert_string_equal(seen.kernel_args,
			    "line=serve.py:42 stream=7 device=0 context=0 correlation=0 "
			    "grid=0,0,0 graph=5 graph_node=21474836480");
	/* arrows come from the launch of the graph */
	assert_int_equal(seen.n_flows_out, 2);
	assert_int_equal(seen.n_flows_in, 2);
	fake_forget();
	end_step();
}

static void test_several_devices_are_groups(void **state)
{
	struct seen seen;
	(void)state;
	make_step();
	sb_work(&builder, (struct sb_work){ .name = "kernel",
					    .begin_us = 500,
					    .end_us = 510,
					    .call = MODEL_NO_CALL,
					    .stream = 7,
					    .device = 1 });
	walk_step(&seen);
	assert_int_equal(seen.n_groups, 2);
	assert_true(has_track(&seen, "GPU 0 > GPU 0 Stream 7"));
	assert_true(has_track(&seen, "GPU 1 > GPU 1 Stream 7"));
	assert_true(has_track(&seen, "GPU 0 > GPU 0 idle"));
	end_step();
}

/* Two functions, the first with 3 samples, of which the last found the thread asleep. The call in
 * between does not divide them; a pause without samples does. */
static void test_samples_are_nested_slices(void **state)
{
	struct seen seen;
	(void)state;
	begin_step();
	builder.m.end_ns = 20000000;
	fake_add(1, "/home/me/helper.py", 9, "log_metrics", "", "");
	fake_add(2, "/home/me/helper.py", 20, "load", "", "");
	sb_launch(&builder, 10, 20, 60, 0);
	sb_launch(&builder, 2000, 2020, 2060, 0);
	sb_sample(&builder, 1000, 1, SAMPLE_RUNNING, 1);
	sb_sample(&builder, 1900, 1, SAMPLE_RUNNING, 1);
	sb_sample(&builder, 3000, 1, SAMPLE_SLEEP, 1);
	sb_sample(&builder, 4000, 1, SAMPLE_RUNNING, 2);
	sb_sample(&builder, 12000, 1, SAMPLE_RUNNING, 2);
	sb_sample(&builder, 4000, 3, SAMPLE_LOCK, 0);
	walk_step(&seen);
	assert_true(has_track(&seen, "Samples,  1"));
	assert_true(has_track(&seen, "Samples,  3"));
	/* log_metrics, its sleep, load twice; the lock of thread 3 */
	assert_int_equal(seen.slices_of[TRACE_CATEGORY_SAMPLE], 5);
	assert_string_equal(seen.sample_args,
			    "500-3500 log_metrics line=helper.py:9 samples=3; 2450-3500 sleeping; "
			    "3500-4500 load line=helper.py:20 samples=1; "
			    "11500-12500 load line=helper.py:20 samples=1; "
			    "3500-4500 waiting for a lock; ");
	fake_forget();
	end_step();
}

/* Callbacks may be missing, all of them. */
static void test_a_visitor_may_want_nothing(void **state)
{
	static const struct trace_visitor blind = { NULL };
	(void)state;
	make_step();
	trace_walk(sb_analyze(&builder, &analyzer), &blind, NULL);
	end_step();
}

/* ---- The table of formats ---- */

static const char *format_meaning(void)
{
	for (size_t i = 0; i < config_n_rows; i++)
		if (!strcmp(config_rows[i].name, "PROF_FORMAT"))
			return config_rows[i].meaning;
	fail_msg("no setting PROF_FORMAT");
	return NULL;
}

/* A row makes a format known everywhere; no two share a file. */
static void test_a_format_is_a_row(void **state)
{
	const struct exporter *x, *other, *found[EXPORTERS_MOST];
	struct err e;
	(void)state;
	for (size_t i = 0; (x = exporter_at(i)); i++) {
		assert_ptr_equal(exporter_find(x->name), x);
		assert_int_equal(config_check("PROF_FORMAT", x->name, &e), 0);
		assert_int_equal(exporters_parse(x->name, found, &e), 1);
		assert_non_null(strstr(format_meaning(), x->name));
		assert_true(x->folder && x->suffix && x->noun && x->viewer);
		assert_int_equal(!x->begin + !x->open + !x->write_step, 2);
		assert_true(!x->begin == !x->end && !x->open == !x->close);
		assert_true(!x->add == !!x->write_step);
		assert_true(!x->count == !x->title);
		for (size_t k = 0; k < i && (other = exporter_at(k)); k++)
			assert_string_not_equal(x->suffix, other->suffix);
	}
	assert_int_not_equal(config_check("PROF_FORMAT", "chrom", &e), 0);
	assert_non_null(strstr(e.text, "did you mean chrome?"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_everything_is_visited),
		cmocka_unit_test(test_each_arrow_has_two_ends),
		cmocka_unit_test(test_arguments_are_rows),
		cmocka_unit_test(test_graph_kernels_say_where_they_were_captured),
		cmocka_unit_test(test_several_devices_are_groups),
		cmocka_unit_test(test_samples_are_nested_slices),
		cmocka_unit_test(test_a_visitor_may_want_nothing),
		cmocka_unit_test(test_a_format_is_a_row),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
