#include "test/unit/text_source.h"

#include "core/symbols/frames.h"

#include <inttypes.h>

enum { TID = 1 };

/* ---- Stacks ---- */

static struct stack_shape stack(void *context, uint32_t id, uint64_t keys[static STACK_KEYS_MOST])
{
	const struct text_source *s = context;
	keys[0] = id;
	return (struct stack_shape){ .n = id && id < s->stacks.n };
}

static size_t resolve(void *context, uint64_t key, bool is_return,
		      struct source_frame out[static STACK_INLINED_MOST])
{
	const struct text_source *s = context;
	(void)is_return;
	out[0] = s->stacks.at[key];
	return 1;
}

static const char *no_diagnostic(void *context, size_t i)
{
	(void)context;
	(void)i;
	return NULL;
}

static void free_nothing(void *context)
{
	(void)context;
}

static const char *keep(struct text_source *s, const char *text)
{
	return strtab_text(&s->texts, strtab_intern(&s->texts, text));
}

static bool read_stack(struct text_source *s, const char *line)
{
	uint32_t id, number;
	char file[64], function[64];
	if (sscanf(line, "stack %u %63[^:]:%u %63s", &id, file, &number, function) != 4 || !id)
		return false;
	vec_at_id(&s->stacks, id);
	s->stacks.at[id] = (struct source_frame){
		.frame = { .function = keep(s, function),
			   .file = keep(s, file),
			   .module = "",
			   .line = number,
			   .kind = FRAME_KIND_PYTHON },
		.operator= "",
		.stub_of = "",
	};
	return true;
}

/* ---- Steps ---- */

static uint64_t ns(double us)
{
	return (uint64_t)(us * 1000 + 0.5);
}

static bool read_step(struct text_source *s, const char *line)
{
	uint64_t number;
	double begin, end;
	if (sscanf(line, "step %" SCNu64 " %lf %lf", &number, &begin, &end) != 3)
		return false;
	struct model_step m = {
		.tables = &s->tables,
		.frames = s->run.frames,
		.command = "text",
		.detector = "text",
		.number = number,
		.begin_ns = ns(begin),
		.end_ns = ns(end),
	};
	vec_push(&m.threads, (struct model_thread){ .tid = TID, .name = "main" });
	vec_push(&s->steps, m);
	baseline_add(&s->run.baseline, s->run.baseline.n, (end - begin) / 1000, true);
	sample_add(&s->run.step_ms, (end - begin) / 1000);
	sample_add(&s->run.recorded_step_ms, (end - begin) / 1000);
	return true;
}

static uint32_t add_call(struct text_source *s, const char *name, uint8_t category, double begin,
			 double end, uint32_t stack_id, uint32_t stream)
{
	struct model_step *m = &s->steps.at[s->steps.n - 1];
	vec_push(&m->calls, (struct model_call){
				    .begin_ns = ns(begin),
				    .end_ns = ns(end),
				    .name = strtab_intern(&s->tables.names, name),
				    .category = category,
				    .stack = stack_id,
				    .stream = 100 + stream,
			    });
	return (uint32_t)m->calls.n - 1;
}

static bool read_launch(struct text_source *s, const char *line)
{
	double begin, end, work_begin, work_end;
	uint32_t stack_id, stream;
	char kernel[64];
	if (!s->steps.n || sscanf(line, "launch %lf %lf %u %63s %lf %lf %u", &begin, &end,
				  &stack_id, kernel, &work_begin, &work_end, &stream) != 7)
		return false;
	uint32_t call = add_call(s, "cudaLaunchKernel", CAT_LAUNCH, begin, end, stack_id, stream);
	vec_push(&s->steps.at[s->steps.n - 1].works,
		 (struct model_work){
			 .begin_ns = ns(work_begin),
			 .end_ns = ns(work_end),
			 .name = strtab_intern(&s->tables.names, kernel),
			 .call = call,
			 .origin = MODEL_NO_CALL,
			 .stream = stream,
			 .kind = WORK_KERNEL,
		 });
	return true;
}

static bool read_sync(struct text_source *s, const char *line)
{
	double begin, end;
	uint32_t stack_id, stream;
	if (!s->steps.n ||
	    sscanf(line, "sync %lf %lf %u %u", &begin, &end, &stack_id, &stream) != 4)
		return false;
	add_call(s, "cudaStreamSynchronize", CAT_SYNC, begin, end, stack_id, stream);
	return true;
}

static bool read_device(struct text_source *s, const char *line)
{
	struct run_device d = { 0 };
	if (sscanf(line, "device %u %63[^\n]", &d.id, d.name) != 2)
		return false;
	vec_push(&s->tables.devices, d);
	return true;
}

static bool read_line(struct text_source *s, const char *line)
{
	static const struct {
		const char *word;
		bool (*read)(struct text_source *s, const char *line);
	} kinds[] = {
		{ "device ", read_device }, { "stack ", read_stack }, { "step ", read_step },
		{ "launch ", read_launch }, { "sync ", read_sync },
	};
	if (*line == '#' || *line == '\n')
		return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strncmp(line, kinds[i].word, strlen(kinds[i].word)))
			return kinds[i].read(s, line);
	return false;
}

static void finish(struct text_source *s)
{
	for (size_t i = 0; i < s->steps.n; i++) {
		struct model_step *m = &s->steps.at[i];
		m->threads.at[0].n = m->calls.n;
		model_finish(m);
		model_count_in_flight(m);
	}
}

bool text_source_read(struct text_source *s, const char *path)
{
	char line[256];
	bool is_right = true;
	const struct stack_source stacks = { .context = s,
					     .stack = stack,
					     .resolve = resolve,
					     .diagnostic = no_diagnostic,
					     .free = free_nothing };
	memset(s, 0, sizeof(*s));
	s->run.tables = &s->tables;
	s->run.frames = frames_new(stacks, &s->tables);
	FILE *file = fopen(path, "re");
	while (file && is_right && fgets(line, sizeof(line), file))
		is_right = read_line(s, line);
	if (file)
		fclose(file);
	finish(s);
	return file && is_right;
}

void text_source_free(struct text_source *s)
{
	for (size_t i = 0; i < s->steps.n; i++)
		model_free(&s->steps.at[i]);
	vec_free(&s->steps);
	vec_free(&s->stacks);
	frames_free(s->run.frames);
	run_free(&s->run);
	tables_free(&s->tables);
	strtab_free(&s->texts);
}
