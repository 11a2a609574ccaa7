/* Shared by the files that find the phases of a step (phases.h). All work on the lane whose calls
 * are in `calls` of struct phases. */
#ifndef CORE_PHASE_PARTS_H
#define CORE_PHASE_PARTS_H

#include "core/analysis/phases.h"

/* The part of calls without a stack, until their part is derived from the calls around them. */
enum { PART_UNKNOWN = PHASE_PARTS_N };

/* At least this many copies to the host are a read-out, such as saving a model, which copies each
 * parameter. Logging reads fewer values. */
enum { READS_LEAST = 4 };

/* Returns what phase_rules_stack() says of the stack. */
struct phase_stack phases_stack_of(struct phases *p, struct frames *frames, uint32_t stack);
/* Returns true if the stack leaves open to which part a call belongs, so that other evidence may
 * decide. */
bool phases_is_open(const struct phase_stack *stack);

/* ---- phase_batches.c ---- */

/* Takes copies out of the batches that bring back what the same function copied to the host. */
void phase_batches_leave_trips(struct phases *p, const struct model_step *m, struct frames *frames);
/* Assigns the waits for the copy of a batch to that batch. */
void phase_batches_take_waits(struct phases *p, const struct model_step *m, struct frames *frames);
/* Assigns calls that only prepare the copy of a batch to it. */
void phase_batches_take_preparing(struct phases *p, const struct model_step *m,
				  struct frames *frames);

/* ---- phase_passes.c. `thread`: the lane's ---- */

/* Takes what the loop reads at the end of its body out of the next pass; sets p->n_reads. */
void phase_passes_leave_reads(struct phases *p, const struct model_step *m, uint32_t thread,
			      struct frames *frames);
/* Assigns the user's own code ahead of backward() to the forward pass. */
void phase_passes_take_user_calls(struct phases *p);
/* Marks evaluations: after the last backward pass, at the end of the loop's body, and ahead of the
 * training pass. */
void phase_passes_find_evaluation(struct phases *p, const struct model_step *m,
				  struct frames *frames);
void phase_passes_find_early(struct phases *p, const struct model_step *m, uint32_t thread,
			     struct frames *frames);
void phase_passes_find_ahead(struct phases *p, const struct model_step *m, uint32_t thread,
			     struct frames *frames);
/* Takes user code out of the forward pass that cannot belong to it. */
void phase_passes_leave_user_code(struct phases *p, const struct model_step *m, uint32_t thread,
				  struct frames *frames);

/* ---- phase_gaps.c ---- */

/* Appends the lane's spans, which cover the whole step. All its calls must have their parts. */
void phase_gaps_add_spans(struct phases *p, const struct model_step *m, uint32_t thread,
			  struct frames *frames);

#endif
