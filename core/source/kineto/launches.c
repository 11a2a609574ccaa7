/* See launches.h. A trace has no handles of functions, so a kernel is known by its name. */
#include "core/source/kineto/launches.h"

#include "core/runtime/token.h"
#include "core/source/kineto/api.h"
#include "core/util/kernel_name.h"

#include <stdlib.h>
#include <string.h>

struct span {
	uint64_t begin_ns, end_ns;
	uint32_t thread;
};

struct search {
	const struct trace *t;
	uint32_t *work_of;	    /* of each call: its first work; MODEL_NO_CALL: none */
	VEC(struct span) optimizer; /* sorted by thread and time */
	VEC(struct level_event) launches;
	VEC(uint32_t) threads;
	/* of the current thread, since its last launch or copy */
	uint64_t blocked_ns;
	bool has_synced;
};

static void find_works(struct search *x, const uint32_t *call_of)
{
	const struct trace *t = x->t;
	x->work_of = mem_resize(NULL, (t->calls.n + 1) * sizeof(*x->work_of));
	for (size_t i = 0; i < t->calls.n; i++)
		x->work_of[i] = MODEL_NO_CALL;
	for (size_t i = t->works.n; i-- > 0;)
		if (call_of[i] != MODEL_NO_CALL && t->works.at[i].kind != WORK_SYNC)
			x->work_of[call_of[i]] = (uint32_t)i;
}

/* PyTorch annotates each optimizer's step. */
static void find_optimizer(struct search *x)
{
	static const char prefix[] = "Optimizer.step#";
	for (size_t i = 0; i < x->t->slices.n; i++) {
		const struct trace_slice *s = &x->t->slices.at[i];
		const char *name = strtab_text(&x->t->tables.names, s->name);
		if (!strncmp(name, prefix, sizeof(prefix) - 1))
			vec_push(&x->optimizer,
				 ((struct span){ s->begin_ns, s->end_ns, s->thread }));
	}
}

static bool is_in_optimizer(const struct search *x, const struct trace_call *c)
{
	size_t i = bisect(x->optimizer.n, k,
			  x->optimizer.at[k].thread < c->thread ||
				  (x->optimizer.at[k].thread == c->thread &&
				   x->optimizer.at[k].begin_ns <= c->begin_ns));
	return i && x->optimizer.at[i - 1].thread == c->thread &&
	       c->begin_ns < x->optimizer.at[i - 1].end_ns;
}

/* Returns a hash of the kernel's name in the place of its function's handle. */
static uint64_t function_of(const struct model_work *w)
{
	return token_fold(w->name + 1ull, TOKEN_K0);
}

static void set_launch(struct level_event *e, const struct search *x, const struct model_work *w,
		       const struct trace_call *c)
{
	static const uint32_t no_block[3];
	const struct tables *t = &x->t->tables;
	const char *name = strtab_text(&t->names, w->name);
	bool has_shape = w->kernel && w->kernel <= t->kernels.n;
	e->kernel = function_of(w);
	e->token = token_launch(e->kernel, w->grid,
				has_shape ? t->kernels.at[w->kernel - 1].block : no_block);
	e->hints |= LEVEL_NAMED;
	if (kernel_is_optimizers(name) || is_in_optimizer(x, c))
		e->hints |= LEVEL_OPTIMIZER;
}

static void set_copy(struct level_event *e, const struct search *x, const struct model_work *w)
{
	uint8_t copy = api_copy(strtab_text(&x->t->tables.names, w->name));
	e->token = token_copy(copy);
	e->hints |= LEVEL_COPY;
	e->hints |= copy == COPY_H2D ? LEVEL_H2D : copy == COPY_D2H ? LEVEL_D2H : 0;
}

static void add_call(struct search *x, size_t i)
{
	const struct trace_call *c = &x->t->calls.at[i];
	uint8_t category = api_category(strtab_text(&x->t->tables.names, c->name));
	struct level_event e = { .begin_ns = c->begin_ns,
				 .end_ns = c->end_ns,
				 .blocked_ns = x->blocked_ns,
				 .hints = x->has_synced ? LEVEL_SYNCED : 0 };
	if (category == CAT_SYNC || category == CAT_ALLOC || category == CAT_FREE)
		x->blocked_ns += c->end_ns - c->begin_ns;
	x->has_synced |= category == CAT_SYNC;
	if (!(RECORD_TOKENS >> category & 1) || x->work_of[i] == MODEL_NO_CALL)
		return;
	const struct model_work *w = &x->t->works.at[x->work_of[i]];
	if (category == CAT_MEMCPY) {
		set_copy(&e, x, w);
	} else if (category == CAT_GRAPH) {
		e.token = token_graph(w->graph ? w->graph : function_of(w));
		e.hints |= LEVEL_GRAPH;
	} else {
		set_launch(&e, x, w, c);
	}
	vec_push(&x->launches, e);
	vec_push(&x->threads, c->thread);
	x->blocked_ns = 0;
	x->has_synced = false;
}

bool launches_find_steps(struct step_search *to, const struct trace *t, const uint32_t *call_of)
{
	struct search x = { .t = t };
	find_works(&x, call_of);
	find_optimizer(&x);
	for (size_t i = 0; i < t->calls.n; i++) {
		if (!i || t->calls.at[i].thread != t->calls.at[i - 1].thread) {
			x.blocked_ns = 0;
			x.has_synced = false;
		}
		add_call(&x, i);
	}
	bool is_found = step_search(to, x.launches.at, x.threads.at, x.launches.n) &&
			to->choice.confidence >= LAUNCHES_SURE && to->begins_ns.n;
	free(x.work_of);
	vec_free(&x.optimizer);
	vec_free(&x.launches);
	vec_free(&x.threads);
	return is_found;
}
