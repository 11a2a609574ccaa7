/* Analyzes gaps, the host's own time between two calls: whether the host makes an input batch in a
 * gap, and which part of a gap the program could move elsewhere or avoid. */
#include "core/analysis/host_kinds.h"
#include "core/symbols/stack_about.h"
#include "core/whatif/whatif_parts.h"

/* In a shorter gap the host does not make a batch. */
#define INPUT_LEAST_NS 20e3
/* In a shorter gap after a data loader's last call the host does not wait in the data loader. The
 * limit is higher than INPUT_LEAST_NS, because the host may only be on its way to the next call. */
#define AFTER_LOADER_LEAST_NS 200e3

uint8_t whatif_copy_kind(const struct whatif *w, const struct timeline_call *c)
{
	if (c->copy != COPY_UNKNOWN || !c->n_work)
		return c->copy;
	const struct timeline_work *work =
		&w->timeline->works.at[w->timeline->work_of_call.at[c->first_work]];
	if (work->target == HOST_PAGEABLE || work->target == HOST_PINNED)
		return COPY_D2H;
	return work->source == HOST_PAGEABLE || work->source == HOST_PINNED ? COPY_H2D : COPY_D2D;
}

/* Returns the first op of the call's step. */
static uint32_t first_of_step(const struct whatif *w, const struct timeline_call *c)
{
	uint32_t i = 0;
	while (i < w->replay.ops.n && (!whatif_call(w, i) || whatif_call(w, i)->step != c->step))
		i++;
	return i;
}

/*
 * Returns true if the host waited in a data loader between the lane's previous call and the op's
 * call. This happens with a data loader that copies its batches to the device itself, such as
 * accelerate's: after the copy of a batch it waits for the next batch, and then returns the copied
 * batch.
 */
static bool is_after_loader(const struct whatif *w, uint32_t op)
{
	uint32_t last = w->before[op];
	const struct timeline_call *c = last == REPLAY_NONE ? NULL : whatif_call(w, last);
	return c && c->about & ABOUT_INPUT &&
	       (double)w->replay.ops.at[op].gap_ns >= AFTER_LOADER_LEAST_NS;
}

uint32_t whatif_pause_site(const struct whatif *w, uint32_t op)
{
	return w->site[is_after_loader(w, op) ? w->before[op] : op];
}

/*
 * Returns what samples show of the time before a call: an enum host_kind. The time before the first
 * call of a window of recorded steps lies in a step that was not recorded. There, the step after it
 * must do.
 */
static uint8_t before_kind(const struct whatif *w, const struct timeline_call *c)
{
	const struct timeline *t = w->timeline;
	const struct timeline_step *step = &t->steps.at[c->step];
	if (c->before_kind || step->follows || c != &t->calls.at[step->first_call] ||
	    c->step + 1 == t->steps.n)
		return c->before_kind;
	const struct timeline_call *next = &t->calls.at[step[1].first_call];
	return step[1].n_calls && next->stack == c->stack ? next->before_kind : HOST_UNKNOWN;
}

/*
 * Returns true if the host made an input batch in the gap before the op's call. Samples of the gap
 * show it. Without samples, a data loader is on the stack of this call, of the call before, or of
 * a call soon after. If the recorded calls end before that, the search continues with the first
 * call of the op's own step, because the next step is assumed to begin in the same way. The copy
 * of a batch alone shows nothing: before it, a program may compute anything.
 */
static bool is_input(const struct whatif *w, uint32_t op)
{
	const struct timeline_call *c = whatif_call(w, op);
	uint32_t n = w->replay.ops.n;
	int calls = 0;
	if (!c || (double)w->replay.ops.at[op].gap_ns < INPUT_LEAST_NS)
		return false;
	uint8_t kind = before_kind(w, c);
	if (kind)
		return kind == HOST_LOADER;
	if (c->about & ABOUT_INPUT || is_after_loader(w, op))
		return true;
	if (w->timeline->host.n)
		return false;
	for (uint32_t k = op, i = op; calls < WHATIF_CALLS_TO_BATCH && k < op + n; k++, i++) {
		if (i == n)
			i = first_of_step(w, c);
		if (w->replay.ops.at[i].lane != w->replay.ops.at[op].lane || !whatif_call(w, i))
			continue;
		if (whatif_call(w, i)->about & ABOUT_INPUT)
			return true;
		if (w->replay.ops.at[i].n_work || whatif_call(w, i)->category == CAT_SYNC)
			return false;
		calls++;
	}
	return false;
}

/*
 * Returns true if the user could move the host's work in the gap before the op's call elsewhere, or
 * avoid it. If samples show a stall, the user can; if they show a framework on its way to the call,
 * the user cannot. Otherwise the user cannot if only library code runs between the two calls. An
 * exception is a library that does more than to get from one call to the next, such as pickling,
 * because the user can call it less often. The exception does not hold in forward and backward
 * passes and optimizer steps, because every step needs them.
 */
static bool is_movable(const struct whatif *w, uint32_t op, struct host_split own)
{
	uint32_t last = w->before[op];
	const struct timeline_call *c = whatif_call(w, op);
	uint8_t kind = c ? before_kind(w, c) : HOST_UNKNOWN;
	if (kind == HOST_FRAMEWORK)
		return false;
	if (host_kind_is_stall(kind) || last == REPLAY_NONE ||
	    !host_share_is_library(&w->share, last, op))
		return true;
	return w->share.is_known && w->site[last] == w->site[op] &&
	       !(whatif_call(w, op)->about & ABOUT_PASS) &&
	       (double)w->replay.ops.at[op].gap_ns > WHATIF_TIMES_SHARE * (own.out_ns + own.in_ns);
}

double whatif_spare_ns(const struct whatif *w, uint32_t op, bool of_input)
{
	uint32_t last = w->before[op];
	double gap = w->replay.ops.at[op].gap_ns;
	struct host_split own = { 0, 0 };
	if (last != REPLAY_NONE)
		own = host_share_of(&w->share, last, op, gap);
	return of_input || is_movable(w, op, own) ? gap - own.out_ns - own.in_ns : 0;
}

/* Looks back only WHATIF_CALLS_TO_BATCH calls of the lane, because other threads of the lane may
 * have made calls in between. */
bool whatif_is_exchange(const struct whatif *w, uint32_t op)
{
	const struct timeline_call *c = whatif_call(w, op);
	uint32_t last = w->before[op];
	if (!(w->traits[op] & IS_OF_RANKS))
		return false;
	for (int i = 0; i < WHATIF_CALLS_TO_BATCH && last != REPLAY_NONE;
	     i++, last = w->before[last])
		if (whatif_call(w, last)->thread == c->thread)
			return c->about & whatif_call(w, last)->about & ABOUT_COLLECTIVE;
	return false;
}

void whatif_free_gaps(struct whatif *w, bool of_input)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++)
		if (w->replay.ops.at[i].role != ROLE_ORPHAN && is_input(w, i) == of_input &&
		    !whatif_is_exchange(w, i))
			w->edit.cut_ns[i] += (float)whatif_spare_ns(w, i, of_input);
}

void whatif_free_pauses(struct whatif *w, const struct whatif_change *change)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (!c || (change->site && w->site[i] != change->site) ||
		    (change->is_within && !whatif_is_within(w, i)) ||
		    (change->sampled && c->before_site != change->sampled) || is_input(w, i) ||
		    whatif_is_exchange(w, i))
			continue;
		w->edit.cut_ns[i] += (float)whatif_spare_ns(w, i, false);
	}
}

void whatif_halve_gaps(struct whatif *w, bool of_own)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		if (w->replay.ops.at[i].role == ROLE_ORPHAN || whatif_is_exchange(w, i))
			continue;
		const struct timeline_call *c = whatif_call(w, i);
		bool of_input = is_input(w, i), stalls = c && host_kind_is_stall(before_kind(w, c));
		double spare = whatif_spare_ns(w, i, of_input),
		       needed = w->replay.ops.at[i].gap_ns - spare;
		if (!of_own)
			w->edit.cut_ns[i] += (float)(needed / 2);
		else if (!of_input)
			w->edit.cut_ns[i] += (float)(stalls ? spare : spare / 2);
	}
}

bool whatif_has_stalls(const struct whatif *w)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (c && w->edit.cut_ns[i] > 0 && host_kind_is_stall(before_kind(w, c)))
			return true;
	}
	return false;
}

void whatif_free_gaps_before(struct whatif *w, const struct whatif_change *change)
{
	struct whatif_place place;
	whatif_place_open(&place, w, change);
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		if (w->replay.ops.at[i].role == ROLE_ORPHAN)
			continue;
		uint32_t owner = is_after_loader(w, i) ? w->before[i] : i;
		if (!whatif_is_here(&place, whatif_call(w, owner)))
			continue;
		w->edit.cut_ns[i] += (float)whatif_spare_ns(w, i, is_input(w, i));
	}
	whatif_place_close(&place);
}
