/*
 * Where in its iteration a step ends (core/steps/levels_find.h). Every trigram of the level comes once per
 * turn, so each is a possible boundary; the one that a person would choose is after the optimizer's
 * last launch, or, in programs without an optimizer, where the host pauses before it begins again.
 * Runs in the collector.
 */
#include "core/steps/levels_find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Latest occurrences looked at for each member: a median over more says the same. */
#define MAX_LOOKED_AT 64u
/* Between gaps of like length, what a program does at the end of a iteration decides: it reads the
 * result back, waits for the device, and begins the next iteration by copying input. */
#define FAVOUR_READ_BACK 4.0
#define FAVOUR_WAIT	 3.0
#define FAVOUR_INPUT	 2.0
/* A result that is read back this soon after the optimizer's last launch, in events, is the same step's. */
#define READ_BACK_NEAR 4u
/* Events that a boundary may be before or behind the optimizer's end, and still be where the step ends: the first trigram of launches that always
 * come, where the optimizer does not, is complete with the third of them. */
#define NEAR_BEFORE 2
#define NEAR_AFTER  3
/* Added to each gap: below this, gaps are the host's own jitter. */
#define GAP_FLOOR_NS 2000
#define NO_TARGET    UINT32_MAX
/* Of so few iterations one may be unlike the others, as the first ones often are. */
#define FEW_ITERATIONS 16u
/* Where launches come and go one of so many may be. */
#define FAILS_NOISY 12u

struct boundary {
	const struct levels_store *store;
	const struct levels_index *index;
	uint32_t *targets;   /* by event: the step end nearest to it, or NO_TARGET */
	uint64_t *gaps_ns;   /* by event: how long the host launched nothing after it */
	bool *is_end;	     /* by event: a step ends with it */
	bool ignores_frames; /* what frames say of the loop's iterations does not count */
	bool used_frames;    /* and it set an end */
};

/* The member that ends steps, if any. */
struct boundary_choice {
	uint32_t trigram; /* or NO_TARGET */
	struct merit {
		int64_t distance; /* events from where the step ends, median */
		double gap;
		bool is_work; /* mostly no copy */
	} merit;
};

/*
 * Where a step with this last launch of its optimizer ends: with the loss's copy to the host, if that comes next and is
 * waited for. The wait then belongs to the step that caused it.
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

/* The thread's launch before that at `at`, down to `least`. */
static uint32_t boundary_before(const struct boundary *b, uint32_t at, uint32_t least)
{
	const struct levels_stored *events = b->store->events;
	uint32_t thread = events[at].thread;
	while (at > least && events[--at].thread != thread)
		;
	return at;
}

/* What Python's frames say of launches behind one of an optimizer, and before the next one: */
struct after_optimizer {
	uint32_t
		last_after; /* the last that still belongs to the step; without one the optimizer's */
	uint32_t
		first_before; /* behind it the first with which the loop around both has gone round, or NO_TARGET */
};

/* Layers that are alike have their two stacks from the training pass, so an evaluation behind the optimizer seems to go back with them: what goes on
 * after it says that it did not. */
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
 * Where the step ends with this last launch of its optimizer, and `next` the next one's: before the loop goes round, as an average of the weights, a
 * scale's update or a log are still the same step's; else there, or where what comes is read back. The first launches of an evaluation that goes on
 * are the training pass's as well, so the step ends with what goes on last.
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

/* Whether the loop goes round there for sure: of launches that come more than once in each of `turns` it is known where one of them was made, and
 * not which. */
static bool boundary_loop_restarts(const struct boundary *b, uint32_t end, uint32_t next,
				   uint32_t iterations)
{
	uint32_t first_before = boundary_look_after(b, end, next).first_before;
	return first_before != NO_TARGET &&
	       levels_index_count(b->index, b->store->events[first_before].trigram) <=
		       iterations + 1;
}

/* Whether the optimizer's step is over somewhere in [begin, end), or another has begun. */
static bool boundary_leaves_optimizer(const struct boundary *b, uint32_t begin, uint32_t end)
{
	while (begin < end && !(b->store->events[begin].hints & LEVEL_NO_REEVALUATION))
		begin++;
	return begin < end;
}

/*
 * Marks the launches that end a step. An optimizer's phase may be broken by other
 * launches, and a iteration may have several (a GAN): the end is the one behind which the loop goes round, or where that is not known,
 * where the longest stretch without any optimizer begins, one for each iteration. Where its step evaluates a closure (`evaluates`) these stretches are
 * within the step, but for one.
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

/* How good a boundary a member is: near the optimizer's end first (rather after than before it),
 * then by its gap. */
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

/* In how many iterations of the reference, the first one aside, a member comes exactly once: much that is made once is made then. */
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

/* What a member must reach to be a boundary: few iterations less than the best of them. One that fails whenever the program
 * evaluates, or logs, loses those steps. */
static uint32_t boundary_min_once(const struct levels_index *x, const struct levels_level *level)
{
	uint32_t most = 0;
	for (uint32_t m = 0; m < level->n_members; m++) {
		uint32_t n = boundary_count_once(x, level, level->members[m]);
		most = n > most ? n : most;
	}
	uint32_t less = most < FEW_ITERATIONS ? 1 : most / 32;
	if (level_is_noisy(level)) /* each fails now and then, by chance */
		less = 1 + most / FAILS_NOISY;
	return most > less ? most - less : 0;
}

/* The end of the step that the boundary at `at` closes, if that lies behind it, in the next one: with the optimizer's, or before what that is fed
 * with; else NO_TARGET. */
static uint32_t boundary_closed_end(const struct boundary *b, uint32_t at)
{
	const struct levels_stored *events = b->store->events;
	uint32_t before = boundary_before(b, at, b->index->start), end = b->targets[at];
	if (events[at].hints & ~events[before].hints & LEVEL_H2D)
		end = before;
	return end < at && events[end].thread == events[at].thread ? end : NO_TARGET;
}

/* By its last two calls, where most steps end with the same: the votes of one's majority outnumber all others'. */
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
 * Where none ends a step just where the loop's iteration does, as behind two evaluations that are alike, but one the optimizer, that is taken: two launches
 * of the next forward pass would be a pass of their own in this step, and the rest be short of them; and what ends an evaluation may come in one
 * behind the loop. A batch's copy that comes too late cuts nothing.
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
