#include "core/analysis/call_code.h"

void call_code_free(struct call_code *c)
{
	for (size_t i = 0; i < c->threads.room && c->threads.at; i++) {
		span_list_free(&c->threads.at[i].spans);
		vec_free(&c->threads.at[i].modules.at);
	}
	vec_free(&c->threads);
	vec_free(&c->places);
	vec_free(&c->tied);
	vec_free(&c->is_backward);
	phases_free(&c->phases);
	spans_free(&c->spans);
	modules_free(&c->modules);
	autograd_map_free(&c->autograd_map);
}

/* Sets the number of threads. Slots of earlier steps keep their allocations, so that later steps
 * can reuse them; new slots are zeroed. */
static void make_threads(struct call_code *c, size_t n)
{
	size_t room = c->threads.at ? c->threads.room : 0;
	c->threads.n = 0;
	vec_reserve(&c->threads, n);
	memset(c->threads.at + room, 0, (c->threads.room - room) * sizeof(*c->threads.at));
	c->threads.n = n;
}

static void find_spans(struct call_code *c, const struct model_step *m, struct frames *frames)
{
	make_threads(c, m->threads.n);
	for (size_t i = 0; i < m->threads.n; i++) {
		struct analyzed_thread *t = &c->threads.at[i];
		spans_find(&c->spans, m, i, frames, &t->spans);
		t->modules.at.n = 0;
		if (frames)
			modules_find(&c->modules, m, i, frames, &t->modules);
	}
}

static void find_places(struct call_code *c, struct timeline *t, const struct model_step *m,
			const struct timeline_call *calls, const uint32_t *call_of)
{
	size_t n = m->calls.n;
	c->places.n = c->tied.n = c->is_backward.n = 0;
	vec_reserve(&c->places, n + 1);
	vec_reserve(&c->tied, n + 1);
	vec_reserve(&c->is_backward, n + 1);
	for (size_t i = 0; i < n; i++)
		c->places.at[i] = (struct autograd_map_place){
			calls[call_of[i]].site, timeline_stack(t, m->calls.at[i].stack).module
		};
	memset(c->tied.at, 0, n * sizeof(*c->tied.at));
	memset(c->is_backward.at, 0, n * sizeof(*c->is_backward.at));
	c->places.n = c->tied.n = c->is_backward.n = n;
}

static void tie_backward(struct call_code *c, const struct model_step *m, struct frames *frames,
			 struct timeline_call *calls, const uint32_t *call_of)
{
	autograd_map_begin(&c->autograd_map, m);
	for (size_t i = 0; i < m->threads.n; i++)
		autograd_map_add_thread(&c->autograd_map, m, i, &c->threads.at[i].spans, &c->phases,
					c->places.at, frames);
	autograd_map_end(&c->autograd_map, m, frames, c->tied.at, c->is_backward.at);
	for (size_t i = 0; i < m->calls.n; i++) {
		calls[call_of[i]].forward_site = c->tied.at[i].site;
		calls[call_of[i]].is_backward = c->is_backward.at[i];
	}
}

void call_code_find(struct call_code *c, struct timeline *t, const struct model_step *m,
		    struct timeline_call *calls, const uint32_t *call_of)
{
	find_places(c, t, m, calls, call_of);
	phases_find(&c->phases, m, t->frames);
	find_spans(c, m, t->frames);
	tie_backward(c, m, t->frames, calls, call_of);
}
