/*
 * See kineto_parts.h: the Python functions of a thread, as slices that nest. A function is known
 * while it was on the stack of a CUDA call or of a host sample; these are called observations here.
 * Its slice lasts from the first observation to the last one in a row that shows the same call of
 * it, and includes the operators and ranges around these.
 */
#include "export/kineto_parts.h"

#include <stdio.h>
#include <stdlib.h>

enum {
	FRAMES_MOST = 512,
	NAME_BYTES = 800,
	/* Functions that follow others begin this much later, if they can, so that there is room
	 * for the margins at the ends of 64 functions. */
	ROOM_NS = 64 * KINETO_MARGIN_NS,
};

/* At `at_ns`, the stack was known. It counts for the time from begin_ns to end_ns. */
struct observation {
	uint64_t begin_ns, at_ns, end_ns;
	uint32_t stack;
};

/* A Python frame of an observation. */
struct shown {
	const struct frame *frame;
	bool is_inside; /* an operator called the function */
};

/* A function that is on the stack. */
struct function {
	const struct frame *frame;
	uint64_t begin_ns;
	uint64_t limit_ns;    /* end of what is around the function */
	uint64_t path;	      /* hash of the functions around it and the lines they were at */
	uint32_t caller_line; /* the line that the caller was at; 0: there is no caller */
	uint32_t id, module;  /* Python ids; `module` 0: not the forward() of a module */
	bool is_inside;
};

/* A slice to be written. */
struct slice {
	uint64_t begin_ns, end_ns;
	struct function of;
	const struct frame *caller;
	uint32_t caller_id, depth;
};

struct python_walk {
	struct kineto_file *k;
	const struct span_list *spans;
	size_t next_span;
	VEC(const struct span *) around; /* spans around the observation, outermost first */
	VEC(struct function) open;
	VEC(struct slice) slices;
	uint64_t last_end_ns; /* of the observation before */
	/* end of the spans around the observation before that are over */
	uint64_t reach_ns;
};

/* ---- Frames ---- */

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * 0x100000001b3ull;
	return hash;
}

static bool is_same_function(const struct frame *a, const struct frame *b)
{
	return a == b || (!strcmp(a->function, b->function) && !strcmp(a->file, b->file));
}

/* Writes the Python frames of a stack, outermost first. Returns their number. */
static size_t list_python(struct kineto_file *k, uint32_t stack, struct shown *to)
{
	struct frame_list list = frames_of(k->m->frames, stack);
	bool is_inside = false;
	size_t n = 0;
	for (size_t i = list.n; i-- > 0 && n < FRAMES_MOST;) {
		const struct frame *frame = list.at[i];
		if (frame->kind == FRAME_KIND_PYTHON)
			to[n++] = (struct shown){ frame, is_inside };
		is_inside |= *frame_operator(frame) != 0;
	}
	return n;
}

uint32_t kineto_python_line(struct kineto_file *k, uint32_t stack, const char *operator_name,
			    const char **file)
{
	bool is_outside = !operator_name;
	if (!k->m->frames || !stack)
		return 0;
	struct frame_list list = frames_of(k->m->frames, stack);
	for (size_t i = 0; i < list.n; i++) {
		const struct frame *frame = list.at[i];
		const char *name = frame_operator(frame);
		*file = frame->file;
		if (is_outside && frame->kind == FRAME_KIND_PYTHON)
			return frame->line;
		if (is_outside && *name)
			return 0;
		is_outside |= operator_name && !strcmp(name, operator_name);
	}
	return 0;
}

/* ---- Names ---- */

/* Writes "FILE(LINE): FUNCTION". The line is the first one that was seen of the function. */
static void name_function(struct kineto_file *k, const struct frame *f, char *to, size_t bytes)
{
	bool is_new;
	uint64_t *line = map_at(&k->line_of_function,
				hash_text(hash_text(14695981039346656037ull, f->file), f->function),
				&is_new);
	if (is_new)
		*line = f->line;
	snprintf(to, bytes, "%.400s(%u): %.300s", *f->file ? f->file : "<unknown>", (uint32_t)*line,
		 f->function);
}

/* Returns the class of the module whose forward() this is; "": it is not one, or its class is not
 * known. */
static const char *class_of(const struct frame *frame)
{
	const char *name = frame_module_name(frame);
	return strchr(name, '(') ? "" : name;
}

/* Returns a number for the module: how many others of its class were seen before it. Modules of a
 * class that different lines call are different modules. */
static uint32_t instance_of(struct kineto_file *k, const char *class, uint64_t path, uint32_t *id)
{
	bool is_new;
	uint64_t key = hash_text(path, class),
		 *at = map_at(&k->instance_of, key ? key : 1, &is_new);
	if (is_new) {
		uint64_t number = (*map_at(&k->n_instances, hash_text(1, class), NULL))++;
		*at = k->instance_of.n << 32 | number;
	}
	*id = (uint32_t)(*at >> 32);
	return (uint32_t)*at;
}

/* ---- Writing ---- */

static void write_ids(struct kineto_file *k, uint32_t id, uint32_t parent)
{
	kineto_arg_int(k, "Python id", id);
	if (parent)
		kineto_arg_int(k, "Python parent id", parent);
	else
		kineto_arg_null(k, "Python parent id");
}

static void write_caller(struct kineto_file *k, const struct slice *s)
{
	char text[NAME_BYTES];
	if (!s->caller || !s->of.caller_line)
		return;
	snprintf(text, sizeof(text), "%.700s:%u", s->caller->file, s->of.caller_line);
	kineto_arg_text(k, "CallFrom", text);
}

static void write_module(struct kineto_file *k, const struct slice *s, uint32_t tid)
{
	const char *class = class_of(s->of.frame);
	char name[NAME_BYTES];
	uint32_t id, number = instance_of(k, class, s->of.path, &id);
	snprintf(name, sizeof(name), "nn.Module: %.300s_%u", class, number);
	kineto_begin(k, "python_function", name, k->pid, tid, s->begin_ns, s->end_ns);
	write_ids(k, s->of.module, s->caller_id);
	kineto_arg_int(k, "Python module id", id);
	write_caller(k, s);
	kineto_end(k);
}

static void write_slice(struct kineto_file *k, const struct slice *s, uint32_t tid)
{
	char name[NAME_BYTES];
	if (s->of.module)
		write_module(k, s, tid);
	name_function(k, s->of.frame, name, sizeof(name));
	kineto_begin(k, "python_function", name, k->pid, tid, s->begin_ns, s->end_ns);
	write_ids(k, s->of.id, s->of.module ? s->of.module : s->caller_id);
	if (!s->of.module)
		write_caller(k, s);
	kineto_end(k);
}

static int by_time(const void *a, const void *b)
{
	const struct slice *x = a, *y = b;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	if (x->end_ns != y->end_ns)
		return x->end_ns > y->end_ns ? -1 : 1;
	return x->depth < y->depth ? -1 : x->depth > y->depth;
}

/* ---- The functions of a thread ---- */

/*
 * Returns the end of a function that is over: after the end of the `n_inside` functions in it, not
 * after `most_ns`, and not within a span that began in it.
 */
static uint64_t end_of(const struct python_walk *w, const struct function *f, size_t n_inside,
		       uint64_t most_ns)
{
	uint64_t end_ns = f->is_inside ? w->last_end_ns
				       : w->reach_ns + (n_inside + 1) * KINETO_MARGIN_NS;
	/* functions that end with what is around them end before it, the innermost first */
	uint64_t depth_ns = (uint64_t)(f - w->open.at + 1) * KINETO_MARGIN_NS;
	if (end_ns > most_ns && most_ns >= w->reach_ns)
		end_ns = most_ns;
	if (end_ns + depth_ns > f->limit_ns)
		end_ns = f->limit_ns - depth_ns;
	for (size_t i = 0; i < w->around.n; i++) {
		const struct span *s = w->around.at[i];
		if (s->begin_ns > f->begin_ns && s->begin_ns < end_ns)
			end_ns = s->begin_ns;
	}
	return end_ns;
}

/* Closes the functions from `depth` on. `next_ns`: the next functions begin then. */
static void close_functions(struct python_walk *w, size_t depth, uint64_t next_ns)
{
	size_t n = w->open.n;
	for (; w->open.n > depth; w->open.n--) {
		size_t i = w->open.n - 1;
		const struct function *f = &w->open.at[i], *caller = i ? f - 1 : NULL;
		vec_push(&w->slices, (struct slice){ .begin_ns = f->begin_ns,
						     .end_ns = end_of(w, f, n - 1 - i,
								      next_ns - KINETO_MARGIN_NS),
						     .of = *f,
						     .caller = caller ? caller->frame : NULL,
						     .caller_id = caller ? caller->id : 0,
						     .depth = (uint32_t)i });
	}
}

/* Removes the spans that are over. */
static void leave_spans(struct python_walk *w, uint64_t ns)
{
	w->reach_ns = w->last_end_ns;
	for (; w->around.n && w->around.at[w->around.n - 1]->end_ns <= ns; w->around.n--)
		if (w->around.at[w->around.n - 1]->end_ns > w->reach_ns)
			w->reach_ns = w->around.at[w->around.n - 1]->end_ns;
}

/* Adds the spans around an observation. Returns when the functions begin that it shows first: with
 * the first of these spans. */
static uint64_t enter_spans(struct python_walk *w, const struct observation *o)
{
	uint64_t begin_ns = o->begin_ns;
	for (; w->next_span < w->spans->at.n; w->next_span++) {
		const struct span *s = &w->spans->at.at[w->next_span];
		if (s->begin_ns > o->at_ns)
			break;
		if (s->end_ns <= o->at_ns)
			continue;
		if (s->begin_ns < begin_ns)
			begin_ns = s->begin_ns;
		vec_push(&w->around, s);
	}
	if (begin_ns >= w->reach_ns + ROOM_NS)
		return begin_ns;
	return w->reach_ns + ROOM_NS < o->at_ns ? w->reach_ns + ROOM_NS : o->at_ns;
}

/* Returns the end of the innermost span that began before `ns`. */
static uint64_t limit_at(const struct python_walk *w, uint64_t ns)
{
	for (size_t i = w->around.n; i-- > 0;)
		if (w->around.at[i]->begin_ns < ns)
			return w->around.at[i]->end_ns;
	return UINT64_MAX;
}

static void open_function(struct python_walk *w, const struct shown *shown,
			  const struct frame *caller, uint64_t begin_ns)
{
	const struct function *outer = w->open.n ? &w->open.at[w->open.n - 1] : NULL;
	struct function f = { .frame = shown->frame,
			      .begin_ns = begin_ns,
			      .limit_ns = limit_at(w, begin_ns),
			      .caller_line = caller ? caller->line : 0,
			      .is_inside = shown->is_inside };
	f.path = trace_mix(outer ? outer->path : 0,
			   trace_mix(hash_text(1, shown->frame->function), f.caller_line));
	f.module = *class_of(shown->frame) ? ++w->k->python : 0;
	f.id = ++w->k->python;
	vec_push(&w->open, f);
}

/* Returns how many of the open functions the observation shows, too. */
static size_t count_same(const struct python_walk *w, const struct observation *o,
			 const struct shown *shown, size_t n)
{
	size_t i = 0;
	for (; i < n && i < w->open.n; i++) {
		const struct function *f = &w->open.at[i];
		if (!is_same_function(f->frame, shown[i].frame) || f->limit_ns <= o->at_ns ||
		    (i && f->caller_line != shown[i - 1].frame->line))
			break;
	}
	return i;
}

static void observe(struct python_walk *w, const struct observation *o)
{
	struct shown shown[FRAMES_MOST];
	size_t n = list_python(w->k, o->stack, shown), same = count_same(w, o, shown, n);
	if (!n || o->at_ns < w->last_end_ns)
		return;
	leave_spans(w, o->at_ns);
	uint64_t begin_ns = enter_spans(w, o);
	close_functions(w, same, begin_ns);
	for (size_t i = same; i < n; i++)
		open_function(w, &shown[i], i ? shown[i - 1].frame : NULL,
			      shown[i].is_inside ? o->begin_ns : begin_ns);
	w->last_end_ns = o->end_ns;
}

/*
 * A sample counts for the time to the call before it and to the call or span after it. Between two
 * samples, the function changes in the middle.
 */
static void observe_sample(struct python_walk *w, const struct model_sample *s,
			   const struct model_sample *next, const struct model_call *call)
{
	struct observation o = { w->last_end_ns, s->ns, call ? call->begin_ns : w->k->m->end_ns,
				 s->stack };
	size_t span = w->next_span;
	if (next && (!call || next->ns < call->begin_ns))
		o.end_ns = s->ns + (next->ns - s->ns) / 2;
	while (span < w->spans->at.n && w->spans->at.at[span].begin_ns <= s->ns)
		span++;
	if (span < w->spans->at.n && w->spans->at.at[span].begin_ns < o.end_ns)
		o.end_ns = w->spans->at.at[span].begin_ns;
	o.end_ns = o.end_ns > s->ns + ROOM_NS ? o.end_ns - ROOM_NS : s->ns;
	observe(w, &o);
}

/* Returns the thread's sample at this index; NULL: it has no more. */
static const struct model_sample *sample_at(const struct model_step *m, size_t thread, size_t i)
{
	return i < m->samples.n && m->samples.at[i].thread == thread ? &m->samples.at[i] : NULL;
}

/* Shows the calls and the samples of a thread, in order of time. */
static void observe_thread(struct python_walk *w, size_t thread, size_t *sample)
{
	const struct model_step *m = w->k->m;
	const struct model_thread *t = &m->threads.at[thread];
	size_t call = 0;
	w->last_end_ns = m->begin_ns;
	for (;;) {
		const struct model_call *c = call < t->n ? &m->calls.at[t->first + call] : NULL;
		const struct model_sample *s = sample_at(m, thread, *sample);
		if (!c && !s)
			return;
		if (s && (!c || s->ns < c->begin_ns)) {
			observe_sample(w, s, sample_at(m, thread, ++*sample), c);
		} else {
			observe(w, &(struct observation){ c->begin_ns, c->begin_ns, c->end_ns,
							  c->stack });
			call++;
		}
	}
}

static void write_thread(struct kineto_file *k, size_t thread, size_t *sample)
{
	struct python_walk w = { .k = k, .spans = &k->step->threads[thread].spans };
	observe_thread(&w, thread, sample);
	leave_spans(&w, UINT64_MAX);
	close_functions(&w, 0, k->m->end_ns);
	if (w.slices.n)
		qsort(w.slices.at, w.slices.n, sizeof(*w.slices.at), by_time);
	for (size_t i = 0; i < w.slices.n; i++)
		write_slice(k, &w.slices.at[i], k->m->threads.at[thread].tid);
	vec_free(&w.around);
	vec_free(&w.open);
	vec_free(&w.slices);
}

void kineto_write_python(struct kineto_file *k)
{
	size_t sample = 0;
	for (size_t i = 0; k->m->frames && i < k->m->threads.n; i++)
		write_thread(k, i, &sample);
}
