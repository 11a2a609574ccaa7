/* See shapes.h. */
#include "core/source/kineto/shapes.h"

#include "core/model/operator_cost.h"
#include "core/source/kineto/launching.h"

void shapes_find(struct trace *t)
{
	t->shapes.n = launching_keep(t, t->shapes.at, t->shapes.n, sizeof(*t->shapes.at));
}

bool shapes_library(struct model_library *to, const struct trace_shape *x, struct strtab *names)
{
	struct operator_cost cost;
	if (!operator_cost_find(&cost, strtab_text(names, x->name), strtab_text(names, x->dims),
				strtab_text(names, x->types), strtab_text(names, x->values)))
		return false;
	*to = (struct model_library){
		.begin_ns = x->span.begin_ns,
		.end_ns = x->span.end_ns,
		.flops = cost.flops,
		.flops_most = cost.flops_most,
		.moved_bytes = cost.bytes,
		.name = x->name,
		.shape = strtab_intern(names, cost.shape),
		.work = MODEL_NO_WORK,
		.peer = -1,
		.family = LIBRARIES,
		.facts = FACTS_OPERATOR,
		.type = cost.type,
	};
	return true;
}

static void build_one(const struct cutting *c, struct model_step *m, const struct trace_shape *x,
		      uint32_t thread)
{
	struct model_library library;
	if (!shapes_library(&library, x, &c->t->tables.names))
		return;
	library.thread = thread;
	vec_push(&m->libraries, library);
}

void shapes_build(const struct cutting *c, struct model_step *m,
		  uint32_t (*thread_of)(void *context, uint32_t thread), void *context)
{
	const struct trace *t = c->t;
	struct launching_part p = { 0 };
	while (launching_next(&p, t->shapes.at, t->shapes.n, sizeof(*t->shapes.at), m->begin_ns,
			      m->end_ns))
		for (size_t i = p.first; i < p.last; i++)
			build_one(c, m, &t->shapes.at[i],
				  thread_of(context, t->shapes.at[i].span.thread));
}
