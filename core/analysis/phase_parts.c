/* See phase_parts.h. */
#include "core/analysis/phase_parts.h"

struct phase_stack phases_stack_of(struct phases *p, struct frames *frames, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&p->stack_of, stack, &is_new);
	if (is_new) {
		*at = p->stacks.n;
		vec_push(&p->stacks, phase_rules_stack(frames, stack));
	}
	return p->stacks.at[*at];
}

/* Returns true if the stack leaves open to which part a call belongs, so that other evidence may
 * decide. User code within an optimizer's step is a closure, which may contain any part. */
bool phases_is_open(const struct phase_stack *stack)
{
	return stack->part == PART_NONE || stack->part == PART_USER || !stack->is_certain ||
	       (stack->part == PART_OPTIMIZER && stack->via_user_code);
}
