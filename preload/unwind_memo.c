#include "preload/unwind_memo.h"

#include "preload/hook.h"

#include <string.h>

enum {
	RING_UNITS = MEMO_RING_BYTES / MEMO_UNIT,
	ROUND = 4 /* number of words compared together */
};

struct memo_round {
	uint64_t value[ROUND];
	uint32_t offset[ROUND]; /* the words' offsets from sp */
};

struct memo_entry {
	uint64_t ip, sp, bp, hash;
	/* an entry's `kept` is valid only together with this value of the caller's `with` */
	uint64_t with;
	uint32_t kept;
	uint32_t next; /* unit of the entry that was found after this entry the last time */
	uint32_t n_rounds;
	bool bp_matters;
	struct memo_round rounds[];
};

static uint64_t key_of(const struct unwind_regs *regs)
{
	return (regs->ip ^ regs->sp << 17) * 0x9E3779B97F4A7C15u;
}

static struct memo_place *set_of(const struct memo *m, uint64_t key)
{
	return m->sets[key >> 56 & (MEMO_SETS - 1)];
}

static struct memo_entry *entry_at(const struct memo *m, uint32_t unit)
{
	return (struct memo_entry *)(m->ring + (size_t)(unit % RING_UNITS) * MEMO_UNIT);
}

/* Returns whether the entry at `unit` is neither overwritten nor stale. */
static bool is_alive(const struct memo *m, uint32_t unit)
{
	uint32_t age = m->head - unit;
	return age - 1 < RING_UNITS && age <= m->head - m->floor;
}

static inline bool is_unchanged(const struct memo_entry *e)
{
	const char *sp = (const char *)(uintptr_t)e->sp;
	for (const struct memo_round *r = e->rounds; r < e->rounds + e->n_rounds; r++) {
		uint64_t differ = 0;
		for (int i = 0; i < ROUND; i++)
			differ |= *(const uint64_t *)(sp + r->offset[i]) ^ r->value[i];
		if (UNLIKELY(differ))
			return false;
	}
	return true;
}

static inline bool is_match(const struct memo *m, uint32_t unit, const struct unwind_regs *regs)
{
	const struct memo_entry *e = entry_at(m, unit);
	return is_alive(m, unit) && e->ip == regs->ip && e->sp == regs->sp &&
	       (!e->bp_matters || e->bp == regs->bp) && is_unchanged(e);
}

/*
 * Prefetches the entry that is expected next. A framework touches megabytes between two calls, so
 * fetching ten cache lines from far away would be half the cost of a stack. Programs loop: the
 * entry that followed entry `unit` the last time usually follows it again. That entry is fetched
 * now, into a cache large enough to keep it, and the next look-up checks it before the sets.
 */
static inline void expect_next(struct memo *m, uint32_t unit)
{
	enum {
		LINE = 64,
		LINES = 10 /* enough for a stack of 40 frames; the hardware prefetches the rest */
	};
	m->found = unit;
	m->expected = entry_at(m, unit)->next;
	const char *next = (const char *)entry_at(m, m->expected);
	for (int i = 0; i < LINES; i++)
		__builtin_prefetch(next + i * LINE, 0, 2);
}

/* Searches the set of `regs`. Sets `is_there` to whether it has a valid entry, and returns that
 * entry's unit. */
static uint32_t find_in_set(struct memo *m, const struct unwind_regs *regs, bool *is_there)
{
	uint64_t key = key_of(regs);
	struct memo_place *set = set_of(m, key);
	for (int way = 0; way < MEMO_WAYS; way++) {
		struct memo_place found = set[way];
		if (found.tag != (uint32_t)key || !is_match(m, found.unit, regs))
			continue;
		if (way) {
			set[way] = set[way - 1];
			set[way - 1] = found;
		}
		*is_there = true;
		return found.unit;
	}
	*is_there = false;
	return 0;
}

HOT uint64_t memo_find(struct memo *m, const struct unwind_regs *regs, uint64_t with,
		       uint32_t *kept)
{
	uint32_t unit = m->expected;
	if (UNLIKELY(!is_match(m, unit, regs))) {
		bool is_there;
		unit = find_in_set(m, regs, &is_there);
		if (!is_there)
			return 0;
		if (is_alive(m, m->found))
			entry_at(m, m->found)->next = unit;
	}
	expect_next(m, unit);
	const struct memo_entry *e = entry_at(m, unit);
	*kept = e->with == with ? e->kept : 0;
	return e->hash;
}

void memo_keep(struct memo *m, uint64_t hash, uint64_t with, uint32_t value)
{
	struct memo_entry *e = entry_at(m, m->found);
	if (!is_alive(m, m->found) || e->hash != hash)
		return;
	e->with = with;
	e->kept = value;
}

/* Reserves contiguous room for an entry. Skips the rest of the ring if it is too short. */
static struct memo_entry *take_room(struct memo *m, uint32_t units)
{
	uint32_t left = RING_UNITS - m->head % RING_UNITS;
	if (left < units)
		m->head += left;
	return entry_at(m, m->head);
}

/* Stores the words in the entry. Returns false if a word is too far from sp for a 32-bit offset. */
static bool put_words(struct memo_entry *e, uint64_t sp, const struct walk_word *words, uint32_t n)
{
	uint64_t far = 0;
	struct memo_round *r = e->rounds;
	for (uint32_t left = n; left; r++) {
		/* a round with fewer than ROUND words repeats the last word */
		uint32_t last = (left < ROUND ? left : ROUND) - 1;
		for (uint32_t i = 0; i < ROUND; i++) {
			const struct walk_word *word = &words[i < last ? i : last];
			uint64_t offset = word->at - sp;
			far |= offset;
			r->value[i] = word->value;
			r->offset[i] = (uint32_t)offset;
		}
		words += last + 1;
		left -= last + 1;
	}
	e->n_rounds = (uint32_t)(r - e->rounds);
	return !(far >> 32);
}

static uint32_t units_of(uint32_t n_rounds)
{
	size_t bytes = sizeof(struct memo_entry) + n_rounds * sizeof(struct memo_round);
	return (uint32_t)((bytes + MEMO_UNIT - 1) / MEMO_UNIT);
}

static bool was_seen(struct memo *m, uint64_t hash)
{
	uint16_t *part = &m->seen[hash % MEMO_SEEN], now = (uint16_t)(hash >> 48 | 1);
	bool seen = *part == now;
	*part = now;
	return seen;
}

void memo_add(struct memo *m, const struct unwind_regs *regs, const struct walk_trail *trail,
	      uint64_t hash)
{
	if (!trail->n || !was_seen(m, hash))
		return;
	const struct walk_step *innermost = &trail->steps[trail->n - 1];
	uint32_t n = innermost->words_end, units = units_of((n + ROUND - 1) / ROUND);
	if (units > RING_UNITS / 4)
		return;
	struct memo_entry *e = take_room(m, units);
	uint32_t unit = m->head;
	m->head += units;
	if (m->head - m->floor > RING_UNITS)
		m->floor = m->head - RING_UNITS;
	if (!put_words(e, regs->sp, trail->words, n))
		return;
	e->ip = regs->ip;
	e->sp = regs->sp;
	e->bp = regs->bp;
	e->hash = hash;
	e->next = unit;
	e->kept = 0;
	e->bp_matters = innermost->flags & STEP_NEEDS_BP;
	uint64_t key = key_of(regs);
	struct memo_place *set = set_of(m, key);
	memmove(set + 1, set, sizeof(*set) * (MEMO_WAYS - 1));
	*set = (struct memo_place){ unit, (uint32_t)key };
}
