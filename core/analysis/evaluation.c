/*
 * The last forward pass before backward() is assumed to be the training pass. Calls that the same
 * function makes from another line belong to a separate pass. A pass with gradients keeps the
 * results of its layers until the backward pass. A pass without gradients frees each block once the
 * next layer has read it, except for the final result.
 *
 * So the test counts the places (stacks) at which a pass's modules allocated blocks, and the places
 * that still hold a block when backward begins. Models of two layers have too few places for this
 * test, and some runs have no records of blocks. In these cases, a decorator such as
 * torch.no_grad() is the evidence.
 */
#include "core/analysis/evaluation.h"

#include "core/symbols/phase_rules.h"
#include "core/util/map.h"
#include "core/util/path.h"

enum {
	PLACES_MADE = 3, /* with fewer places, a kept block proves nothing */
	PLACES_KEPT = 1, /* an evaluation keeps at most its final result */
};

struct pass {
	const struct frame *at; /* the loop's line that calls the pass; NULL: not a separate pass */
	bool is_of_model;	/* the pass runs a model of the trained model's class */
	bool is_decorated;
	/* Number of places at which the pass's modules allocated blocks, and number of these places
	 * that still hold a block when backward begins. */
	uint32_t n_made, n_kept;
};

enum { PASS_NONE, PASS_TRAINING, PASSES_FIRST };

struct passes {
	struct frames *frames;
	uint32_t training; /* DICT_STACK of a call within the training pass */
	const char *model;
	VEC(struct pass) at;
	struct map pass_of; /* DICT_STACK -> index in `at` */
};

/* ---- Passes ---- */

/* Returns true if torch's decorator wrapper is on the stack, inside of the frame `line`. */
static bool is_decorated(struct frames *frames, uint32_t stack, const struct frame *line)
{
	struct frame_list list = frames_of(frames, stack);
	for (size_t i = 0; i < list.n && list.at[i] != line; i++)
		if (list.at[i]->kind == FRAME_KIND_PYTHON &&
		    path_ends_with(list.at[i]->file, "torch/utils/_contextlib.py"))
			return true;
	return false;
}

static size_t pass_at(struct passes *p, const struct frame *line)
{
	for (size_t i = PASSES_FIRST; i < p->at.n; i++)
		if (p->at.at[i].at == line)
			return i;
	vec_push(&p->at, (struct pass){ .at = line });
	return p->at.n - 1;
}

static size_t find_pass(struct passes *p, uint32_t stack)
{
	struct phase_parting parting = phase_rules_parting(p->frames, stack, p->training);
	if (stack == p->training || parting.is_within_module)
		return PASS_TRAINING;
	if (!phase_rules_differ_by_line(&parting) || !parting.inner ||
	    frame_phase_part(parting.inner) == PART_MODULE)
		return PASS_NONE;
	size_t i = pass_at(p, parting.at);
	if (!strcmp(phase_rules_stack(p->frames, stack).module, p->model))
		p->at.at[i].is_of_model = true;
	if (is_decorated(p->frames, stack, parting.at))
		p->at.at[i].is_decorated = true;
	return i;
}

static size_t pass_of(struct passes *p, uint32_t stack)
{
	const uint64_t *known = map_find(&p->pass_of, stack);
	bool is_new;
	if (known)
		return *known;
	size_t i = stack ? find_pass(p, stack) : PASS_NONE;
	*map_at(&p->pass_of, stack, &is_new) = i;
	return i;
}

/* ---- Blocks that a pass keeps ---- */

static void count_place(struct passes *p, struct map *seen, uint32_t stack, bool is_kept)
{
	bool is_new;
	struct pass *pass = &p->at.at[pass_of(p, stack)];
	map_at(seen, stack, &is_new);
	if (!is_new || !*phase_rules_stack(p->frames, stack).module)
		return;
	if (is_kept)
		pass->n_kept++;
	else
		pass->n_made++;
}

static void count_places(struct passes *p, const struct model_step *m, uint32_t thread,
			 uint64_t backward_ns)
{
	/* `live`: address -> stack of the block's allocation; 0: freed. `made`, `kept`: the stacks
	 * counted so far. */
	struct map made = { 0 }, kept = { 0 }, live = { 0 };
	bool is_new;
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++) {
		const struct model_block *b = &m->blocks.at[i];
		if (b->ns >= backward_ns)
			break;
		if (b->event == BLOCK_FREED)
			*map_at(&live, b->address, &is_new) = 0;
		if (b->event != BLOCK_MADE || b->thread != thread)
			continue;
		*map_at(&live, b->address, &is_new) = b->stack;
		count_place(p, &made, b->stack, false);
	}
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++) {
		const struct model_block *b = &m->blocks.at[i];
		const uint64_t *stack = map_find(&live, b->address);
		if (b->ns >= backward_ns)
			break;
		if (stack && *stack)
			count_place(p, &kept, (uint32_t)*stack, true);
	}
	map_free(&made);
	map_free(&kept);
	map_free(&live);
}

static bool is_evaluation(const struct passes *p, const struct pass *pass)
{
	const struct pass *training = &p->at.at[PASS_TRAINING];
	if (!pass->at || !pass->is_of_model || pass->n_kept > PLACES_KEPT)
		return false;
	return pass->is_decorated ||
	       (pass->n_made >= PLACES_MADE && training->n_kept > PLACES_KEPT);
}

void evaluation_find(const struct model_step *m, struct frames *frames, uint32_t thread,
		     const uint32_t *calls, size_t n, uint64_t backward_ns, bool *is_eval)
{
	struct passes p = { .frames = frames, .model = "" };
	for (size_t i = n; i-- > 0 && !*p.model;) {
		p.training = m->calls.at[calls[i]].stack;
		p.model = p.training ? phase_rules_stack(frames, p.training).module : "";
	}
	if (!*p.model)
		return;
	for (size_t i = 0; i < PASSES_FIRST; i++)
		vec_push(&p.at, (struct pass){ 0 });
	for (size_t i = 0; i < n; i++)
		pass_of(&p, m->calls.at[calls[i]].stack);
	if (p.at.n > PASSES_FIRST)
		count_places(&p, m, thread, backward_ns);
	for (size_t i = 0; i < n; i++)
		is_eval[i] = is_evaluation(&p, &p.at.at[pass_of(&p, m->calls.at[calls[i]].stack)]);
	vec_free(&p.at);
	map_free(&p.pass_of);
}
