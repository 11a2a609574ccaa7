/*
 * Finds where in its iteration a step ends (core/steps/levels_find.h). Every trigram of the level
 * occurs once per iteration, so each is a possible boundary. The one a person would choose is after
 * the optimizer's last launch, or, without an optimizer, where the host pauses before it continues.
 * Runs in the collector.
 */
#include "core/steps/levels_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Latest occurrences examined per member; a median over more says the same. */
#define MAX_LOOKED_AT 64u
/*
 * Between gaps of similar length, what programs do at the end of an iteration decides: they read
 * the result back, wait for the device, and begin the next iteration by copying input.
 */
#define FAVOUR_READ_BACK 4.0
#define FAVOUR_WAIT	 3.0
#define FAVOUR_INPUT	 2.0
/*
 * A result read back within this many events of the optimizer's last launch belongs to the same
 * step.
 */
#define READ_BACK_NEAR 4u
/*
 * Events by which a boundary may precede or follow the optimizer's end and still end the step
 * there. Where the optimizer's launches do not always occur, the first trigram of launches that do
 * is complete with the third of them.
 */
#define NEAR_BEFORE 2
#define NEAR_AFTER  3
/* Added to each gap: shorter gaps are the host's jitter. */
#define GAP_FLOOR_NS 2000
#define NO_TARGET    UINT32_MAX
/* With so few iterations, one may differ from the others; the first ones often do. */
#define FEW_ITERATIONS 16u
/* In noisy loops, one iteration in this many may lack a member. */
#define FAILS_NOISY 12u

struct boundary {
	const struct levels_store *store;
	const struct levels_index *index;
	uint32_t *targets;   /* by event: the nearest step end, or NO_TARGET */
	uint64_t *gaps_ns;   /* by event: how long the host launched nothing after it */
	bool *is_end;	     /* by event: a step ends with it */
	bool ignores_frames; /* ignore what frames say about the loop's iterations */
	bool used_frames;    /* frames determined an end */
};

/* The member that ends steps, if any. */
struct boundary_choice {
	uint32_t trigram; /* or NO_TARGET */
	struct merit {
		int64_t distance; /* events from the step's end, median */
		double gap;
		bool is_work; /* mostly not a copy */
	} merit;
};

/*
 * Returns the end of a step, given its optimizer's last launch `end`: the loss's copy to the host,
 * if that follows and is waited for; else `end`. The wait then belongs to the step that caused it.
 */
static uint32_t boundary_after_read_back(const struct boundary *b, uint32_t end)
{
	const struct levels_stored *events = b->store->events;
	for (uint32_t i = end + 1; i <= end + READ_BACK_NEAR && i + 1 < b->index->end; i++) {
		if (events[i].hints & LEVEL_H2D)
			break;
		if (events[i].hints & LEVEL_D2H && events[i + 1].hints & LEVEL_SYNCED)
			return i;
	}
	return end;
}

/* Returns the thread's launch before the one at `at`, but not before `least`. */
static uint32_t boundary_before(const struct boundary *b, uint32_t at, uint32_t least)
{
	const struct levels_stored *events = b->store->events;
	uint32_t thread = events[at].thread;
	while (at > least && events[--at].thread != thread)
		;
	return at;
}

/* What Python frames say about the launches from one of an optimizer to the next one: */
struct after_optimizer {
	/* The last one that still belongs to the step; the optimizer's own if there is none. */
	uint32_t last_after;
	/* The first one after it in the next iteration of the loop around both, or NO_TARGET. */
	uint32_t first_before;
};

/*
 * Similar layers have both their stacks from the training pass, so an evaluation after the
 * optimizer seems to go back to them. A later launch that is still after the optimizer shows that
 * it did not.
 */
static struct after_optimizer boundary_look_after(const struct boundary *b, uint32_t end,
						  uint32_t next)
{
	const struct levels_stored *events = b->store->events;
	struct after_optimizer found = { end, NO_TARGET };
	for (uint32_t i = end + 1; i < next && !b->ignores_frames; i++) {
		if (events[i].thread != events[end].thread)
			continue;
		if (events[i].hints & LEVEL_AFTER_OPTIMIZER)
			found = (struct after_optimizer){ i, NO_TARGET };
		else if (events[i].hints & LEVEL_BEFORE_OPTIMIZER &&
			 found.first_before == NO_TARGET)
			found.first_before = i;
	}
	return found;
}

/*
 * Returns where the step ends. `end` is its optimizer's last launch, `next` the optimizer's next
 * one. The step ends before the loop's next iteration, because averaging the weights, updating a
 * scale or a log still belong to it. If frames do not show that place, the step ends at the
 * optimizer or where a result is read back after it. An evaluation's first launches are also the
 * training pass's, so the last launch known to be after the optimizer ends the step.
 */
static uint32_t boundary_after_optimizer(struct boundary *b, uint32_t end, uint32_t next)
{
	struct after_optimizer after_optimizer = boundary_look_after(b, end, next);
	if (after_optimizer.first_before == NO_TARGET)
		return boundary_after_read_back(b, end);
	b->used_frames = true;
	return after_optimizer.last_after != end
		       ? after_optimizer.last_after
		       : boundary_before(b, after_optimizer.first_before, end);
}

/*
 * Whether the loop's next iteration certainly begins there. Launches that occur more than once in
 * each of the `iterations` have a known stack for one occurrence, but not for which.
 */
static bool boundary_loop_restarts(const struct boundary *b, uint32_t end, uint32_t next,
				   uint32_t iterations)
{
	uint32_t first_before = boundary_look_after(b, end, next).first_before;
	return first_before != NO_TARGET &&
	       levels_index_count(b->index, b->store->events[first_before].trigram) <=
		       iterations + 1;
}

/* Whether the optimizer's step has ended somewhere in [begin, end), or another one has begun. */
static bool boundary_leaves_optimizer(const struct boundary *b, uint32_t begin, uint32_t end)
{
	while (begin < end && !(b->store->events[begin].hints & LEVEL_NO_REEVALUATION))
		begin++;
	return begin < end;
}

/*
 * Marks the launches that end a step, one per iteration. Other launches may interrupt an
 * optimizer's phase, and an iteration may have several phases (a GAN). The end is the phase after
 * which the loop begins its next iteration; if that is unknown, the one before the longest stretch
 * without any optimizer. If the optimizer's step evaluates a closure (`reevaluates`), all of these
 * stretches but one are within the step.
 */
static void boundary_mark_ends(struct boundary *b, const uint32_t *at, uint32_t n, bool reevaluates)
{
	const struct levels_stored *events = b->store->events;
	uint32_t next_optimizer = b->index->end;
	for (uint32_t k = n - 1, i = at[n - 1]; k-- > 0;) {
		uint32_t longest = 0, end = NO_TARGET;
		bool is_restart = false;
		for (; i-- > at[k];) {
			if (!(events[i].hints & LEVEL_OPTIMIZER))
				continue;
			uint32_t length = next_optimizer - i;
			bool is_this = boundary_loop_restarts(b, i, next_optimizer, n - 1);
			bool is_within = reevaluates &&
					 !boundary_leaves_optimizer(b, i + 1, next_optimizer);
			next_optimizer = i;
			if (is_within || (is_this == is_restart ? length <= longest : is_restart))
				continue;
			longest = length;
			end = i;
			is_restart = is_this;
		}
		i = at[k];
		if (end != NO_TARGET)
			b->is_end[boundary_after_optimizer(b, end, end + longest)] = true;
	}
}

static void boundary_set_targets(struct boundary *b)
{
	uint32_t n = b->index->end, last = NO_TARGET;
	for (uint32_t i = b->index->start; i < n; i++) {
		if (b->is_end[i])
			last = i;
		b->targets[i] = last;
	}
	uint32_t next = NO_TARGET;
	for (uint32_t i = n; i-- > b->index->start;) {
		if (b->is_end[i])
			next = i;
		uint32_t before = b->targets[i];
		if (next != NO_TARGET && (before == NO_TARGET || next - i < i - before))
			b->targets[i] = next;
	}
}

static void boundary_set_gaps(struct boundary *b)
{
	const struct levels_stored *events = b->store->events;
	uint64_t busy_until_ns = 0;
	for (uint32_t i = b->index->start; i < b->index->end; i++) {
		if (events[i].end_ns > busy_until_ns)
			busy_until_ns = events[i].end_ns;
		b->gaps_ns[i] = 0;
		if (i + 1 == b->index->end || events[i + 1].begin_ns <= busy_until_ns)
			continue;
		uint64_t gap_ns = events[i + 1].begin_ns - busy_until_ns;
		uint64_t blocked_ns = (uint64_t)events[i + 1].blocked_us * 1000;
		b->gaps_ns[i] = gap_ns > blocked_ns ? gap_ns - blocked_ns : 0;
	}
}

/*
 * Returns how good a boundary the member is: first by its distance from the optimizer's end, where
 * after is better than before; then by its gap.
 */
static struct merit boundary_merit(const struct boundary *b, uint32_t trigram)
{
	const struct levels_stored *events = b->store->events;
	uint32_t n = levels_index_count(b->index, trigram);
	const uint32_t *at = levels_index_of(b->index, trigram);
	if (n > MAX_LOOKED_AT) {
		at += n - MAX_LOOKED_AT;
		n = MAX_LOOKED_AT;
	}
	int64_t distances[MAX_LOOKED_AT], gaps[MAX_LOOKED_AT];
	uint32_t n_read_back = 0, n_wait = 0, n_input = 0, n_copy = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t next = at[i] + 1 < b->index->end ? events[at[i] + 1].hints : 0;
		distances[i] = b->targets[at[i]] == NO_TARGET ? 0
							      : (int64_t)at[i] - b->targets[at[i]];
		gaps[i] = (int64_t)b->gaps_ns[at[i]];
		n_copy += (events[at[i]].hints & LEVEL_COPY) != 0;
		n_read_back += (events[at[i]].hints & LEVEL_D2H) != 0;
		n_wait += (next & LEVEL_SYNCED) != 0;
		n_input += (next & LEVEL_H2D) != 0;
	}
	double favour = (n_read_back * 2 > n ? FAVOUR_READ_BACK : 1) *
			(n_wait * 2 > n ? FAVOUR_WAIT : 1) * (n_input * 2 > n ? FAVOUR_INPUT : 1);
	return (struct merit){
		.distance = levels_median(distances, n),
		.gap = (double)(levels_median(gaps, n) + GAP_FLOOR_NS) * favour,
		.is_work = n_copy * 2 < n,
	};
}

static bool merit_better(struct merit a, struct merit b)
{
	if (llabs(a.distance) != llabs(b.distance))
		return llabs(a.distance) < llabs(b.distance);
	if (a.distance != b.distance)
		return a.distance > b.distance;
	return a.gap > b.gap;
}

/*
 * Returns in how many iterations of the reference the member occurs exactly once. Leaves out the
 * first one, in which much is created once.
 */
static uint32_t boundary_count_once(const struct levels_index *x, const struct levels_level *level,
				    uint32_t member)
{
	const uint32_t *at = levels_index_of(x, level->reference), *b = levels_index_of(x, member);
	uint32_t n = levels_index_count(x, member), i = 0, n_once = 0;
	for (uint32_t k = 0; k < level->iterations; k++) {
		uint32_t first = i;
		while (i < n && b[i] <= at[k + 1])
			i++;
		n_once += k && i - first == 1;
	}
	return n_once;
}

/*
 * Returns in how many iterations a member must occur once to be a boundary: slightly fewer than the
 * best one. A member that is missing whenever the program evaluates or logs would miss those steps.
 */
static uint32_t boundary_min_once(const struct levels_index *x, const struct levels_level *level)
{
	uint32_t most = 0;
	for (uint32_t m = 0; m < level->n_members; m++) {
		uint32_t n = boundary_count_once(x, level, level->members[m]);
		most = n > most ? n : most;
	}
	uint32_t less = most < FEW_ITERATIONS ? 1 : most / 32;
	if (level_is_noisy(level)) /* each may be missing occasionally, by chance */
		less = 1 + most / FAILS_NOISY;
	return most > less ? most - less : 0;
}

/*
 * Returns the end of the step that the boundary at `at` closes, if the boundary is only in the next
 * step: the optimizer's end, or the launch before the next step's input. Else returns NO_TARGET.
 */
static uint32_t boundary_closed_end(const struct boundary *b, uint32_t at)
{
	const struct levels_stored *events = b->store->events;
	uint32_t before = boundary_before(b, at, b->index->start), end = b->targets[at];
	if (events[at].hints & ~events[before].hints & LEVEL_H2D)
		end = before;
	return end < at && events[end].thread == events[at].thread ? end : NO_TARGET;
}

/* Identifies the end by its last two calls, if most steps end with the same (majority vote). */
static uint64_t boundary_end_pair(const struct boundary *b, uint32_t trigram)
{
	const struct levels_stored *events = b->store->events;
	const uint32_t *at = levels_index_of(b->index, trigram);
	uint32_t n = levels_index_count(b->index, trigram), votes = 0;
	uint64_t pair = 0;
	for (uint32_t i = n > MAX_LOOKED_AT ? n - MAX_LOOKED_AT : 0; i < n; i++) {
		uint32_t end = boundary_closed_end(b, at[i]);
		uint64_t of_this = 0;
		if (end != NO_TARGET) {
			uint32_t before = boundary_before(b, end, b->index->start);
			of_this = token_pair_hash(b->store->tokens.keys[events[before].token],
						  b->store->tokens.keys[events[end].token]);
		}
		if (!votes)
			pair = of_this;
		votes += pair == of_this ? 1 : -1u;
	}
	return pair;
}

static struct boundary_choice boundary_choose(struct boundary *b, const struct levels_level *level)
{
	memset(b->is_end, 0, b->index->end * sizeof(*b->is_end));
	if (level->optimizer)
		boundary_mark_ends(b, levels_index_of(b->index, level->reference),
				   level->iterations + 1, level->reevaluates);
	boundary_set_targets(b);
	struct boundary_choice best = { .trigram = NO_TARGET };
	uint32_t wanted = boundary_min_once(b->index, level);
	for (uint32_t m = 0; m < level->n_members && best.trigram != LEVELS_EXCHANGE; m++) {
		uint32_t member = level->members[m];
		if (boundary_count_once(b->index, level, member) < wanted)
			continue;
		struct merit merit = boundary_merit(b, member);
		if (best.trigram == NO_TARGET || member == LEVELS_EXCHANGE ||
		    merit_better(merit, best.merit))
			best = (struct boundary_choice){ member, merit };
	}
	return best;
}

/*
 * If no member ends a step exactly with the loop's iteration (as after two similar evaluations),
 * but one ends it exactly at the optimizer, takes that one. Else two launches of the next forward
 * pass would form a pass of their own in this step and be missing in the next one; and what ends an
 * evaluation may also occur in an evaluation after the loop. A batch's copy that is slightly late
 * does not cut a pass.
 */
static struct boundary_choice boundary_choose_whole(struct boundary *b,
						    const struct levels_level *level)
{
	struct boundary_choice iteration = boundary_choose(b, level);
	if (!b->used_frames || !iteration.merit.distance ||
	    (iteration.merit.distance > 0 && !iteration.merit.is_work))
		return iteration;
	b->ignores_frames = true;
	struct boundary_choice optimizer = boundary_choose(b, level);
	if (!optimizer.merit.distance)
		return optimizer;
	b->ignores_frames = false;
	return boundary_choose(b, level);
}

int levels_find_boundary(const struct levels_store *s, const struct levels_index *x,
			 const struct levels_level *level, struct levels_boundary *found)
{
	struct boundary b = {
		.store = s,
		.index = x,
		.targets = malloc(x->end * sizeof(*b.targets)),
		.gaps_ns = malloc(x->end * sizeof(*b.gaps_ns)),
		.is_end = malloc(x->end * sizeof(*b.is_end)),
	};
	int rc = -ENOMEM;
	if (b.targets && b.gaps_ns && b.is_end) {
		boundary_set_gaps(&b);
		struct boundary_choice choice = boundary_choose_whole(&b, level);
		int64_t distance = choice.merit.distance;
		*found = (struct levels_boundary){
			.trigram = choice.trigram,
			.how = level->optimizer ? LEVEL_BY_OPTIMIZER : LEVEL_BY_GAP,
			.end = choice.trigram == NO_TARGET ? 0
							   : boundary_end_pair(&b, choice.trigram),
			.is_near_end = !level->optimizer ||
				       (distance >= -NEAR_BEFORE && distance <= NEAR_AFTER),
		};
		rc = 0;
	}
	free(b.targets);
	free(b.gaps_ns);
	free(b.is_end);
	return rc;
}
