/*
 * Finds where in its iteration a step ends (core/steps/levels_find.h). Every trigram of the level
 * occurs once per iteration, so each of them is a possible boundary. Chooses the one that a person
 * would choose: after the optimizer's last launch or, without an optimizer, where the host pauses
 * before it continues. Runs in the collector.
 */
#include "core/steps/levels_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/*
 * Only this many of the latest occurrences of a trigram are examined; more would not change the
 * median.
 */
#define MAX_LOOKED_AT 64u
/*
 * Factors on a trigram's gap. If gaps have similar lengths, what programs do at the end of an
 * iteration decides: they read the result, wait for the device, and begin the next iteration by
 * copying input.
 */
#define FAVOUR_READ_BACK 4.0
#define FAVOUR_WAIT	 3.0
#define FAVOUR_INPUT	 2.0
/*
 * If a result is read within this many events after the optimizer's last launch, the read belongs
 * to the same step.
 */
#define READ_BACK_NEAR 4u
/*
 * A boundary that precedes or follows the optimizer's end by at most this many events still ends
 * the step there. If some of the optimizer's launches do not always occur, the first trigram
 * without them is complete only three launches later.
 */
#define NEAR_BEFORE 2
#define NEAR_AFTER  3
/* Added to each gap, because shorter gaps are due to the host's jitter. */
#define GAP_FLOOR_NS 2000
#define NO_TARGET    UINT32_MAX
/*
 * With fewer iterations, one may lack the boundary; the first ones often do. With more, one in 32
 * may.
 */
#define FEW_ITERATIONS 16u
/* In noisy loops, one more iteration in this many may lack the boundary. */
#define FAILS_NOISY 12u

struct boundary {
	const struct levels_store *store;
	const struct levels_index *index;
	uint32_t *targets; /* by event: the event of the nearest step end, or NO_TARGET */
	/*
	 * by event: how long after it the host launched nothing, without the time in which the host
	 * was blocked
	 */
	uint64_t *gaps_ns;
	bool *is_end; /* by event: whether a step ends with it */
};

/* The trigram that ends the steps. NO_TARGET: no trigram does. */
struct boundary_choice {
	uint32_t trigram;
	struct merit {
		int64_t distance; /* median number of events from the step's end to the trigram */
		/* median time of the gap after the trigram, times the factors; ns */
		double gap;
	} merit;
};

/*
 * Returns the end of a step whose optimizer's last launch is `end`. If the loss is copied to the
 * host soon afterwards and the host waits for it, returns that copy, because the wait belongs to
 * the step that caused it. Else returns `end`.
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

/* Returns the event that precedes `at` on the same thread, but none before `least`. */
static uint32_t boundary_before(const struct boundary *b, uint32_t at, uint32_t least)
{
	const struct levels_stored *events = b->store->events;
	uint32_t thread = events[at].thread;
	while (at > least && events[--at].thread != thread)
		;
	return at;
}

/*
 * Marks the launches that end a step, one per iteration. `at` are the `n` events at which
 * iterations begin.
 *
 * An iteration may have several optimizer phases (a GAN), and other launches may interrupt a phase.
 * The step ends with the phase that the longest stretch without an optimizer follows.
 */
static void boundary_mark_ends(struct boundary *b, const uint32_t *at, uint32_t n)
{
	const struct levels_stored *events = b->store->events;
	uint32_t next_optimizer = b->index->end;
	for (uint32_t k = n - 1, i = at[n - 1]; k-- > 0;) {
		uint32_t longest = 0, end = NO_TARGET;
		for (; i-- > at[k];) {
			if (!(events[i].hints & LEVEL_OPTIMIZER))
				continue;
			uint32_t length = next_optimizer - i;
			next_optimizer = i;
			if (length <= longest)
				continue;
			longest = length;
			end = i;
		}
		i = at[k];
		if (end != NO_TARGET)
			b->is_end[boundary_after_read_back(b, end)] = true;
	}
}

/* Fills in b->targets: for each event, the nearest event at which a step ends. */
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

/* Fills in b->gaps_ns. */
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
 * Returns how good a boundary the trigram is: first by its distance from the step's end, then by
 * the gap that follows it.
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
	uint32_t n_read_back = 0, n_wait = 0, n_input = 0;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t next = at[i] + 1 < b->index->end ? events[at[i] + 1].hints : 0;
		distances[i] = b->targets[at[i]] == NO_TARGET ? 0
							      : (int64_t)at[i] - b->targets[at[i]];
		gaps[i] = (int64_t)b->gaps_ns[at[i]];
		n_read_back += (events[at[i]].hints & LEVEL_D2H) != 0;
		n_wait += (next & LEVEL_SYNCED) != 0;
		n_input += (next & LEVEL_H2D) != 0;
	}
	double favour = (n_read_back * 2 > n ? FAVOUR_READ_BACK : 1) *
			(n_wait * 2 > n ? FAVOUR_WAIT : 1) * (n_input * 2 > n ? FAVOUR_INPUT : 1);
	return (struct merit){
		.distance = levels_median(distances, n),
		.gap = (double)(levels_median(gaps, n) + GAP_FLOOR_NS) * favour,
	};
}

/* Prefers smaller distances, then boundaries after the step's end, then longer gaps. */
static bool merit_better(struct merit a, struct merit b)
{
	if (llabs(a.distance) != llabs(b.distance))
		return llabs(a.distance) < llabs(b.distance);
	if (a.distance != b.distance)
		return a.distance > b.distance;
	return a.gap > b.gap;
}

/*
 * Returns in how many iterations of the level the trigram `member` occurs exactly once. Leaves out
 * the first iteration, in which much is created once.
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
 * Returns in how many iterations a trigram must occur exactly once to be a boundary: slightly fewer
 * than the most frequent one. A trigram that is missing whenever the program evaluates or logs
 * would miss those steps.
 */
static uint32_t boundary_min_once(const struct levels_index *x, const struct levels_level *level)
{
	uint32_t most = 0;
	for (uint32_t m = 0; m < level->n_members; m++) {
		uint32_t n = boundary_count_once(x, level, level->members[m]);
		most = n > most ? n : most;
	}
	uint32_t less = most < FEW_ITERATIONS ? 1 : most / 32;
	if (level_is_noisy(level)) /* by chance, any trigram may be missing now and then */
		less = 1 + most / FAILS_NOISY;
	return most > less ? most - less : 0;
}

/*
 * Returns the event with which a step ends if its boundary, completed at event `at`, is already in
 * the next step: the optimizer's end, or the event before the next step's input. Returns NO_TARGET
 * if the boundary is not in the next step.
 */
static uint32_t boundary_closed_end(const struct boundary *b, uint32_t at)
{
	const struct levels_stored *events = b->store->events;
	uint32_t before = boundary_before(b, at, b->index->start), end = b->targets[at];
	if (events[at].hints & ~events[before].hints & LEVEL_H2D)
		end = before;
	return end < at && events[end].thread == events[at].thread ? end : NO_TARGET;
}

/*
 * Returns token_pair_hash() of a step's last two calls if most steps end with the same two calls
 * (majority vote), else 0. Returns 0, too, if boundaries are not in the next step.
 */
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

/*
 * Chooses the trigram with the best merit among those that occur in enough iterations. An exchange
 * with the host takes precedence.
 */
static struct boundary_choice boundary_choose(struct boundary *b, const struct levels_level *level)
{
	memset(b->is_end, 0, b->index->end * sizeof(*b->is_end));
	if (level->optimizer)
		boundary_mark_ends(b, levels_index_of(b->index, level->reference),
				   level->iterations + 1);
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
		struct boundary_choice choice = boundary_choose(&b, level);
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
