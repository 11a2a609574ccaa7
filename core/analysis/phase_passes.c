/* Which calls belong to the forward pass, to an evaluation, or to neither, as the order of the
 * passes shows. */
#include "core/analysis/evaluation.h"
#include "core/analysis/phase_parts.h"

/* Assigns user code between the batch and backward() to the forward pass: it usually computes the
 * loss. Other user code becomes PART_NONE. */
void phase_passes_take_user_calls(struct phases *p)
{
	bool before_backward = false;
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		enum phase phase = phase_of_part(*part);
		if (*part == PART_USER)
			*part = before_backward ? PART_FUNCTIONAL : PART_NONE;
		else if (*part != PART_NONE && *part != PART_ZERO_GRAD && *part != PART_UNKNOWN &&
			 *part != PART_METRIC && *part != PART_PRINT)
			before_backward = phase == PHASE_BACKWARD ||
					  (before_backward && phase == PHASE_FORWARD);
	}
}

/* Returns true for calls in the closure of an optimizer. A closure is part of the training, never
 * an evaluation. It may run several times, and a step boundary may lie anywhere in it (L-BFGS). */
static bool is_in_closure(struct phases *p, const struct model_step *m, uint32_t call,
			  struct frames *frames)
{
	uint32_t stack = m->calls.at[call].stack;
	return frames && stack && phases_stack_of(p, frames, stack).in_closure;
}

/*
 * In a step with a backward pass, a forward pass is an evaluation if no backward pass comes after
 * it before the next call of the optimizer or the step's end. This does not hold for a step that
 * begins with its backward pass: its boundary lies after the forward pass, so the last forward pass
 * belongs to the next step's backward pass.
 */
void phase_passes_find_evaluation(struct phases *p, const struct model_step *m,
				  struct frames *frames)
{
	bool has_backward = false, begins_forward = false;
	for (size_t i = 0; i < p->calls.n && !has_backward; i++) {
		enum phase phase = phase_of_part(p->part_of_call.at[p->calls.at[i]]);
		has_backward = phase == PHASE_BACKWARD;
		begins_forward |= phase == PHASE_FORWARD;
	}
	if (!has_backward || !begins_forward)
		return;
	bool is_followed = false;
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		enum phase phase = phase_of_part(*part);
		if (phase == PHASE_BACKWARD)
			is_followed = true;
		else if (*part == PART_OPTIMIZER)
			is_followed = false;
		else if (phase == PHASE_FORWARD && !is_followed &&
			 !is_in_closure(p, m, p->calls.at[i], frames))
			*part = PART_EVALUATION;
	}
}

/* Returns the stack of the thread's first call within backward(); 0: none. `before` gets the number
 * of the lane's calls before the backward pass. */
static uint32_t first_backward(const struct phases *p, const struct model_step *m, uint32_t thread,
			       size_t *before)
{
	const struct model_thread *t = &m->threads.at[thread];
	*before = p->calls.n;
	for (size_t i = 0; i < p->calls.n; i++) {
		uint32_t call = p->calls.at[i];
		if (phase_of_part(p->part_of_call.at[call]) != PHASE_BACKWARD)
			continue;
		if (*before == p->calls.n)
			*before = i;
		if (call >= t->first && call < t->first + t->n)
			return m->calls.at[call].stack;
	}
	return 0;
}

/*
 * If the step boundary lies after the optimizer, the step begins with the code after the optimizer,
 * at the end of the loop's body. A forward pass in this code is an evaluation. Such a pass is
 * called on a later line than backward(), and is followed by a forward pass of the same model on an
 * earlier line than backward().
 */
void phase_passes_find_early(struct phases *p, const struct model_step *m, uint32_t thread,
			     struct frames *frames)
{
	size_t before, n_after = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0;
	const char *evaluated = "", *trained = "";
	for (size_t i = 0; backward && i < before; i++) {
		uint32_t call = p->calls.at[i], stack = m->calls.at[call].stack;
		if (phase_of_part(p->part_of_call.at[call]) != PHASE_FORWARD || !stack ||
		    is_in_closure(p, m, call, frames))
			continue;
		const char *module = phases_stack_of(p, frames, stack).module;
		bool is_later = phase_rules_is_after(frames, stack, backward);
		n_after = is_later ? i + 1 : n_after;
		if (*module)
			*(is_later ? &evaluated : &trained) = module;
	}
	if (!*evaluated || strcmp(evaluated, trained) != 0)
		return;
	for (size_t i = 0; i < n_after; i++) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		if (phase_of_part(*part) == PHASE_FORWARD)
			*part = PART_EVALUATION;
	}
}

/*
 * A step that begins with the end of the loop's body (see phase_passes_find_early()) may copy many
 * values to the host there, to save a model or to log norms. This code does not belong to the
 * forward pass that follows. The time from its last copy to the next call belongs to this code,
 * too, for example to the writing of a file.
 */
void phase_passes_leave_reads(struct phases *p, const struct model_step *m, uint32_t thread,
			      struct frames *frames)
{
	size_t before, n_copies = 0, n = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0;
	p->n_reads = 0;
	for (; backward && n < before; n++) {
		const struct model_call *c = &m->calls.at[p->calls.at[n]];
		uint8_t part = p->part_of_call.at[p->calls.at[n]];
		if ((part != PART_USER && part != PART_NONE) ||
		    !phase_rules_is_after(frames, c->stack, backward))
			break;
		n_copies += c->category == CAT_MEMCPY && c->copy == COPY_D2H;
	}
	if (n_copies < READS_LEAST)
		return;
	p->n_reads = n;
	for (size_t i = 0; i < n; i++)
		p->part_of_call.at[p->calls.at[i]] = PART_NONE;
}

/* Marks evaluations that the loop runs before its training pass (evaluation.h). */
void phase_passes_find_ahead(struct phases *p, const struct model_step *m, uint32_t thread,
			     struct frames *frames)
{
	size_t before, n = 0;
	if (!frames || !first_backward(p, m, thread, &before) || !before)
		return;
	uint32_t *calls = mem_resize(NULL, before * sizeof(*calls));
	bool *is_eval = mem_zero(before * sizeof(*is_eval));
	for (size_t i = 0; i < before; i++) {
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		if (phase_of_part(part) == PHASE_FORWARD && part != PART_EVALUATION &&
		    !is_in_closure(p, m, p->calls.at[i], frames))
			calls[n++] = p->calls.at[i];
	}
	evaluation_find(m, frames, thread, calls, n, m->calls.at[p->calls.at[before]].begin_ns,
			is_eval);
	for (size_t i = 0; i < n; i++)
		if (is_eval[i])
			p->part_of_call.at[calls[i]] = PART_EVALUATION;
	free(calls);
	free(is_eval);
}

/*
 * phase_passes_take_user_calls() put user code in the forward pass. Takes out what is not part of
 * it: code of the previous iteration, which is on a later line than backward(), such as an average
 * of the weights; and lines whose result the CPU reads, such as an accuracy, because backward()
 * cannot follow what the CPU reads.
 */
void phase_passes_leave_user_code(struct phases *p, const struct model_step *m, uint32_t thread,
				  struct frames *frames)
{
	size_t before = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0, read_site = 0;
	for (size_t i = p->calls.n; frames && i-- > 0;) {
		uint32_t call = p->calls.at[i], stack = m->calls.at[call].stack;
		if (p->part_of_call.at[call] != PART_FUNCTIONAL || !stack ||
		    phases_stack_of(p, frames, stack).part != PART_USER)
			continue;
		if (phases_stack_of(p, frames, stack).is_read)
			read_site = frames_site(frames, stack);
		bool is_earlier = backward && i < before &&
				  phase_rules_is_after(frames, stack, backward);
		if (is_earlier || (read_site && frames_site(frames, stack) == read_site))
			p->part_of_call.at[call] = PART_NONE;
	}
}
