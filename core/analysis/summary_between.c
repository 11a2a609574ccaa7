/* Fills the rows of the CPU time between CUDA calls, which add up to the time of all sampled lanes
 * outside calls. */
#include "core/analysis/summary.h"

#include "core/analysis/host_kinds.h"
#include "core/symbols/origin.h"

/* A function of a library that a row's line called. */
struct called {
	uint32_t row;
	const struct frame *frame;
	double ms;
};

struct rows {
	struct findings *f;
	struct strtab keys;   /* of a line, function and kind */
	struct map row_of;    /* id in `keys` -> index in f->host */
	VEC(uint32_t) seen;   /* rows that the current stack has counted already */
	struct map called_of; /* id in `keys` -> index in `called` */
	VEC(struct called) called;
};

static struct finding_host *row_of(struct rows *r, const struct frame *frame,
				   const struct host_sum *sum, uint32_t *index)
{
	char key[1024];
	bool is_new;
	snprintf(key, sizeof(key), "%u %u %u %u %s %s", sum->kind, frame ? frame->line : 0,
		 frame ? 0 : sum->after, frame ? 0 : sum->before, frame ? frame->function : "",
		 frame ? frame->file : "");
	uint64_t *at = map_at(&r->row_of, strtab_intern(&r->keys, key) + 1ull, &is_new);
	if (is_new) {
		*at = r->f->host.n;
		vec_push(&r->f->host,
			 (struct finding_host){ .file = frame ? frame->file : "",
						.function = frame ? frame->function : "",
						.line = frame ? frame->line : 0,
						.kind = sum->kind,
						.native_function = "",
						.native_library = "",
						.after = frame ? 0 : sum->after,
						.before = frame ? 0 : sum->before });
	}
	*index = (uint32_t)*at;
	return &r->f->host.at[*at];
}

static bool is_named(const struct frame *frame)
{
	return !strstr(frame->function, "+0x");
}

/* Returns whether a frame has a row of its own: Python code and the user's native code. The code
 * that starts a program is linked into the user's file, but is not the user's. */
static bool has_row(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_PYTHON ||
	       (!frame->is_library && strcmp(frame->function, "_start") != 0);
}

/* Returns the index of the frame that a stack's self time belongs to. If it has only libraries'
 * native code, this is the innermost frame that has a name. */
static size_t self_of(const struct frame_list *list)
{
	size_t named = list->n;
	for (size_t i = 0; i < list->n; i++) {
		if (has_row(list->at[i]))
			return i;
		if (named == list->n && is_named(list->at[i]))
			named = i;
	}
	return named < list->n ? named : 0;
}

/* Returns whether a frame that the user's code called shows what the time was spent in. The
 * interpreter's own functions do not, nor do those that a header compiled into the user's file. */
static bool shows_reason(const struct frame *frame, const struct frame *user)
{
	return is_named(frame) && !origin_is_interpreter(frame->module) &&
	       strcmp(frame->module, user->module) != 0;
}

/* Adds the library's function that frame `self` called. */
static void add_called(struct rows *r, const struct frame_list *list, size_t self, uint32_t row,
		       double ms)
{
	char key[1024];
	bool is_new;
	size_t i = self;
	while (i > 0 && !shows_reason(list->at[i - 1], list->at[self]))
		i--;
	if (!i)
		return;
	const struct frame *frame = list->at[i - 1];
	snprintf(key, sizeof(key), "%u %s %s", row, frame->function, frame->module);
	uint64_t *at = map_at(&r->called_of, strtab_intern(&r->keys, key) + 1ull, &is_new);
	if (is_new) {
		*at = r->called.n;
		vec_push(&r->called, (struct called){ .row = row, .frame = frame });
	}
	r->called.at[*at].ms += ms;
}

/* Notes in each row the function that it called the longest. */
static void choose_called(struct rows *r)
{
	double *most_ms = mem_zero((r->f->host.n + 1) * sizeof(*most_ms));
	for (size_t i = 0; i < r->called.n; i++) {
		const struct called *c = &r->called.at[i];
		struct finding_host *row = &r->f->host.at[c->row];
		if (c->ms <= most_ms[c->row] || c->ms < row->self_ms / 2)
			continue;
		most_ms[c->row] = c->ms;
		row->native_function = c->frame->function;
		row->native_library = c->frame->module;
	}
	free(most_ms);
}

/* Returns the index of the user's innermost frame from `self` on, or `self` if there is none. */
static size_t user_of(const struct frame_list *list, size_t self)
{
	for (size_t i = self; i < list->n; i++)
		if (has_row(list->at[i]) && !list->at[i]->is_library)
			return i;
	return self;
}

/* Adds to the totals of each frame's row once, even if a function is on the stack twice. */
static void add_stack(struct rows *r, const struct host_sum *sum, double ms_per_ns)
{
	struct frame_list frames = { 0 };
	double ms = (double)sum->ns * ms_per_ns;
	if (sum->stack)
		frames = frames_of(r->f->timeline->frames, sum->stack);
	size_t self = self_of(&frames), user = user_of(&frames, self);
	r->seen.n = 0;
	for (size_t i = self; i < frames.n || i == self; i++) {
		uint32_t index;
		bool is_seen = false;
		if (i > self && !has_row(frames.at[i]))
			continue;
		struct finding_host *row = row_of(r, frames.n ? frames.at[i] : NULL, sum, &index);
		for (size_t k = 0; k < r->seen.n && !is_seen; k++)
			is_seen = r->seen.at[k] == index;
		row->self_ms += i == self ? ms : 0;
		row->user_ms += i == user ? ms : 0;
		if (i == self)
			add_called(r, &frames, self, index, ms);
		if (is_seen)
			continue;
		vec_push(&r->seen, index);
		row->total_ms += ms;
		row->samples += sum->n;
	}
}

static int by_self(const void *a, const void *b)
{
	const struct finding_host *x = a, *y = b;
	if (x->self_ms != y->self_ms)
		return x->self_ms > y->self_ms ? -1 : 1;
	if (x->total_ms != y->total_ms)
		return x->total_ms > y->total_ms ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	int file = strcmp(x->file, y->file);
	return file ? file : strcmp(x->function, y->function);
}

/* Returns the line with more than half of the samples in which another thread had Python's GIL; 0:
 * there is none. */
static uint32_t find_gil_holder(const struct timeline *t)
{
	uint32_t site = 0;
	size_t votes = 0, n = 0, n_all = 0;
	for (size_t i = 0; i < t->samples.n; i++) { /* leaves the line that more than half have */
		if (t->samples.at[i].state != SAMPLE_GIL)
			continue;
		site = votes ? site : t->samples.at[i].holder_site;
		if (t->samples.at[i].holder_site == site)
			votes++;
		else
			votes--;
	}
	for (size_t i = 0; i < t->samples.n; i++) {
		const struct timeline_sample *s = &t->samples.at[i];
		n_all += s->state == SAMPLE_GIL;
		n += s->state == SAMPLE_GIL && s->holder_site == site;
	}
	return n * 2 > n_all ? site : 0;
}

void summary_fill_between(struct findings *f)
{
	const struct host_sums *s = &f->timeline->host;
	struct rows r = { .f = f };
	f->gil_holder = find_gil_holder(f->timeline);
	if (!s->n || !s->ns)
		return;
	f->between_ms = (double)s->outside_ns / 1e6 / findings_count_steps(f->timeline).all;
	f->n_host_samples = s->n;
	for (size_t i = 0; i < s->at.n; i++)
		add_stack(&r, &s->at.at[i], f->between_ms / (double)s->ns);
	choose_called(&r);
	qsort(f->host.at, f->host.n, sizeof(*f->host.at), by_self);
	strtab_free(&r.keys);
	map_free(&r.row_of);
	map_free(&r.called_of);
	vec_free(&r.seen);
	vec_free(&r.called);
}
