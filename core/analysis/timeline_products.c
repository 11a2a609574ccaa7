/* Matrix products of libraries (cuBLAS, ...) in graphs: each launch of a graph runs the products
 * that were captured into it. */
#include "core/analysis/timeline.h"
#include "core/model/library.h"

/* The longest kernel of a product so far, or the longest work if there is no kernel. */
struct longest {
	uint64_t ns;
	bool is_kernel;
};

struct products {
	struct map place; /* launch << 32 | product -> index in `longest` + 1 */
	size_t first;	  /* of t->libraries */
	VEC(struct longest) longest;
};

static struct timeline_library *library_of(struct timeline *t, struct products *p,
					   const struct model_library *product, uint32_t number,
					   const struct timeline_work *w)
{
	const struct timeline_call *c = &t->captured.at[w->origin];
	uint64_t *at = map_at(&p->place, (uint64_t)w->call << 32 | number, NULL);
	if (!*at) {
		vec_push(&t->libraries,
			 (struct timeline_library){ .flops = library_flops(product),
						    .flops_most = product->flops_most,
						    .moved_bytes = product->moved_bytes,
						    .shape = product->shape,
						    .step = w->step,
						    .name = product->name,
						    .site = c->site,
						    .op = c->op,
						    .facts = product->facts,
						    .type = product->type,
						    .device = w->device });
		vec_push(&p->longest, (struct longest){ 0, false });
		*at = p->longest.n;
	}
	return &t->libraries.at[p->first + *at - 1];
}

static void add_work(struct timeline_library *l, struct longest *longest,
		     const struct timeline_work *w)
{
	struct longest own = { w->end_ns - w->begin_ns, w->kind == WORK_KERNEL };
	if (w->flags & GPU_INCOMPLETE)
		return;
	/* prefer a kernel to the memset before it, even if the memset took longer */
	if (own.is_kernel > longest->is_kernel ||
	    (own.is_kernel == longest->is_kernel && own.ns > longest->ns)) {
		*longest = own;
		l->kernel = w->name;
	}
	if (!l->gpu_end_ns || w->begin_ns < l->gpu_begin_ns)
		l->gpu_begin_ns = w->begin_ns;
	if (w->end_ns > l->gpu_end_ns)
		l->gpu_end_ns = w->end_ns;
	l->gpu_ns += own.ns;
}

void timeline_add_products(struct timeline *t, const struct model_step *m, uint32_t first_captured,
			   uint32_t first_work)
{
	struct products p = { .first = t->libraries.n };
	for (size_t i = first_work; i < t->works.n && m->products.n; i++) {
		const struct timeline_work *w = &t->works.at[i];
		uint32_t origin = w->origin - first_captured;
		uint32_t number = w->origin != MODEL_NO_CALL && origin < m->product_of.n
					  ? m->product_of.at[origin]
					  : 0;
		if (!number)
			continue;
		struct timeline_library *l =
			library_of(t, &p, &m->products.at[number - 1], number, w);
		add_work(l, &p.longest.at[l - &t->libraries.at[p.first]], w);
	}
	map_free(&p.place);
	vec_free(&p.longest);
}
