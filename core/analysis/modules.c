/*
 * Divides the CUDA calls of a module among the calls of the module. A stack does not show which
 * call of the module made a CUDA call. The module is assumed to have been called again in two
 * cases: it was called from elsewhere (different outer frames), or the stack of its first CUDA call
 * occurs again, after other stacks or after a pause.
 *
 * A loop inside a module looks like the second case if it begins with the module's first CUDA call.
 * If several nested modules may have been called again, only the innermost of them is assumed to
 * have been.
 */
#include "core/analysis/modules.h"

#include "core/analysis/spans.h"
#include "core/symbols/phase_rules.h"

enum { MODULES_MOST = 64 }; /* limit of the nesting depth; deeper modules are left out */

void modules_free(struct modules *s)
{
	vec_free(&s->stacks);
	vec_free(&s->entries);
	map_free(&s->stack_of);
}

/* ---- Stacks ---- */

static uint64_t mix(uint64_t hash, const void *frame)
{
	hash = (hash ^ (uint64_t)(uintptr_t)frame) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 32;
}

static void add_stack(struct modules *s, struct frames *frames, uint32_t stack)
{
	struct frame_list list = frames_of(frames, stack);
	struct module_stack entry = {
		.first = (uint32_t)s->entries.n,
		.pause_ns = spans_pause_ns(frames_operator(frames, stack, false)),
	};
	uint64_t outside = 0;
	for (size_t i = list.n; i-- > 0;) {
		const char *name = phase_rules_module(&list, i);
		if (*name && entry.n < MODULES_MOST) {
			vec_push(&s->entries, (struct module_in_stack){ name, outside });
			entry.n++;
		}
		/* Native frames are not hashed. They add nothing to the Python frames around them,
		 * and the outermost ones of a deep stack may be missing, in varying numbers. */
		if (list.at[i]->kind == FRAME_KIND_PYTHON)
			outside = mix(outside, list.at[i]);
	}
	vec_push(&s->stacks, entry);
}

static struct module_stack stack_at(struct modules *s, struct frames *frames, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&s->stack_of, stack, &is_new);
	if (is_new) {
		*at = s->stacks.n;
		add_stack(s, frames, stack);
	}
	return s->stacks.at[*at];
}

/* ---- Spans ---- */

struct open_module {
	struct module_in_stack entry;
	size_t span;
	uint32_t first_stack;
	bool has_others; /* a call with another stack followed */
};

struct nest {
	struct modules *s;
	struct module_list *list;
	size_t n;
	uint64_t last_end_ns;
	struct open_module open[MODULES_MOST];
};

/* Returns true if one line of module `k` calls several modules in turn, as in Sequential. If the
 * first of these is called again, module `k` need not have been called again. */
static bool loops_over_modules(const struct nest *n, const struct module_stack *stack, size_t k)
{
	return k + 1 < n->n && k + 1 < stack->n &&
	       n->s->entries.at[stack->first + k + 1].outside == n->open[k + 1].entry.outside;
}

/* Returns how many of the open modules the call is still in, from the outermost one. `id`: the
 * call's DICT_STACK. */
static size_t still_open(const struct nest *n, const struct module_stack *stack, uint32_t id,
			 uint64_t begin_ns)
{
	const struct module_in_stack *entries = &n->s->entries.at[stack->first];
	size_t k = 0, again = MODULES_MOST;
	for (; k < n->n && k < stack->n; k++) {
		const struct open_module *o = &n->open[k];
		if (entries[k].outside != o->entry.outside ||
		    strcmp(entries[k].name, o->entry.name) != 0)
			break;
		bool comes_again = o->has_others || begin_ns > n->last_end_ns + stack->pause_ns;
		if (o->first_stack == id && comes_again && !loops_over_modules(n, stack, k))
			again = k;
	}
	return again < k ? again : k;
}

static void add_call(struct nest *n, struct module_stack stack, uint32_t call, uint32_t id,
		     uint64_t begin_ns, uint64_t end_ns)
{
	size_t k = still_open(n, &stack, id, begin_ns);
	n->last_end_ns = end_ns;
	for (size_t i = 0; i < k; i++) {
		n->open[i].has_others |= n->open[i].first_stack != id;
		n->list->at.at[n->open[i].span].end_ns = end_ns;
		n->list->at.at[n->open[i].span].n_calls++;
	}
	for (n->n = k; n->n < stack.n; n->n++) {
		n->open[n->n] = (struct open_module){
			.entry = n->s->entries.at[stack.first + n->n],
			.span = n->list->at.n,
			.first_stack = id,
		};
		vec_push(&n->list->at, (struct module_span){ .begin_ns = begin_ns,
							     .end_ns = end_ns,
							     .name = n->open[n->n].entry.name,
							     .first_call = call,
							     .n_calls = 1,
							     .depth = (uint32_t)n->n });
	}
}

void modules_find(struct modules *s, const struct model_step *m, size_t thread,
		  struct frames *frames, struct module_list *list)
{
	const struct model_thread *t = &m->threads.at[thread];
	struct nest *n = mem_zero(sizeof(*n));
	uint64_t last_end_ns = 0, begin_ns;
	n->s = s;
	n->list = list;
	list->at.n = 0;
	for (size_t i = 0; i < t->n; i++) {
		const struct model_call *c = &m->calls.at[t->first + i];
		spans_clip(c, &begin_ns, &last_end_ns);
		if (c->stack)
			add_call(n, stack_at(s, frames, c->stack), (uint32_t)(t->first + i),
				 c->stack, begin_ns, last_end_ns);
	}
	free(n);
}
