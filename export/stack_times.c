/* See stack_times.h. */
#include "export/stack_times.h"

#include "core/analysis/host_kinds.h"

struct times {
	const struct analyzed_step *step;
	void (*take)(void *context, const struct stack_time *t);
	void *context;
};

struct frame_list stack_times_frames(const struct model_step *m, uint32_t stack)
{
	struct frame_list list = { .n = 0 };
	if (!m->frames || !stack)
		return list;
	list = frames_of(m->frames, stack);
	size_t n = list.n;
	while (n && list.at[n - 1]->kind != FRAME_KIND_PYTHON)
		n--;
	list.n = n ? n : list.n;
	return list;
}

static bool is_blocked(uint8_t kind)
{
	return kind == HOST_LOCK || kind == HOST_GIL || kind == HOST_IO || kind == HOST_LOOP ||
	       kind == HOST_SLEEP || kind == HOST_CHILD;
}

static void take_samples(const struct times *t)
{
	const struct lane_samples *s = t->step->idle->host;
	for (size_t i = 0; s && i < s->at.n; i++) {
		const struct lane_sample *x = &s->at.at[i];
		struct stack_time one = { is_blocked(x->kind) ? STACK_BLOCKED : STACK_CPU,
					  x->stack,
					  { NULL },
					  x->weight_ns };
		if (!x->weight_ns)
			continue;
		if (x->kind != HOST_PYTHON && (x->kind != HOST_NATIVE || !x->stack))
			one.more[0] = host_kinds[x->kind].noun;
		t->take(t->context, &one);
	}
}

static void take_waits(const struct times *t)
{
	const struct model_step *m = t->step->model;
	for (size_t i = 0; i < m->calls.n; i++) {
		const struct model_call *c = &m->calls.at[i];
		if ((c->category != CAT_SYNC && !c->polls) || c->end_ns <= c->begin_ns)
			continue;
		t->take(t->context,
			&(struct stack_time){ STACK_BLOCKED,
					      c->stack,
					      { strtab_text(&m->tables->names, c->name), NULL },
					      c->end_ns - c->begin_ns });
	}
}

static void take_works(const struct times *t)
{
	const struct model_step *m = t->step->model;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		const char *name = strtab_text(&m->tables->names, w->name);
		struct stack_time one = {
			STACK_GPU, model_work_stack(m, w), { name, NULL }, w->end_ns - w->begin_ns
		};
		if (w->kind == WORK_SYNC)
			continue;
		if (w->graph) {
			one.more[0] = "[CUDA graph]";
			one.more[1] = name;
		}
		t->take(t->context, &one);
	}
}

static bool is_on_device(const struct model_call *c)
{
	return c->category == CAT_ALLOC && !c->status &&
	       (c->space == SPACE_DEVICE || c->space == SPACE_POOL || c->space == SPACE_MANAGED ||
		c->space == SPACE_PHYSICAL);
}

/* Takes the blocks of a framework's allocator; without one, the memory from the driver. */
static void take_bytes(const struct times *t)
{
	const struct model_step *m = t->step->model;
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++)
		if (m->blocks.at[i].event == BLOCK_MADE)
			t->take(t->context, &(struct stack_time){ STACK_BYTES,
								  m->blocks.at[i].stack,
								  { NULL },
								  m->blocks.at[i].bytes });
	for (size_t i = 0; !m->blocks.n && i < m->calls.n; i++) {
		const struct model_call *c = &m->calls.at[i];
		if (is_on_device(c))
			t->take(t->context,
				&(struct stack_time){
					STACK_BYTES,
					c->stack,
					{ strtab_text(&m->tables->names, c->name), NULL },
					c->bytes });
	}
}

void stack_times_walk(const struct analyzed_step *step,
		      void (*take)(void *context, const struct stack_time *t), void *context)
{
	const struct times t = { step, take, context };
	take_samples(&t);
	take_waits(&t);
	take_works(&t);
	take_bytes(&t);
}
