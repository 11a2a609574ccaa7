/*
 * Rules for getting from a frame to its caller, by the address that the frame executes. All threads
 * share the rules, and look them up and add new ones without locks: a thread that waits for another
 * one waits long on a busy machine. A rule never changes its slot, so one rule may refer to another
 * by its slot.
 */
#ifndef PRELOAD_UNWIND_RULES_H
#define PRELOAD_UNWIND_RULES_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where the frame ends. The end is the frame's canonical frame address (CFA). */
enum rule_kind {
	RULE_SP,	/* at sp + offset */
	RULE_BP,	/* at bp + offset */
	RULE_SP_WORD,	/* given by the word at sp + offset */
	RULE_BP_WORD,	/* given by the word at bp + offset: frames that realign the stack */
	RULE_SIGNAL,	/* this is the kernel's frame below a signal handler */
	RULE_LAST,	/* this is the outermost frame */
	RULE_NO_INFO,	/* unknown: the object has no unwind information for the code */
	RULE_NO_OBJECT, /* unknown: the code is in no object, as code generated at run time */
	RULE_COMPLEX,	/* anything else: libunwind has to make the step */
};

/* Where the frame saved the caller's bp: not at all, or at an offset from the CFA, from sp or from
 * bp. */
enum rule_bp { RULE_BP_KEPT, RULE_BP_BY_CFA, RULE_BP_BY_SP, RULE_BP_BY_BP };

/* A rule packed into one word, so that one atomic load reads it: 4 bits kind, 2 bits where bp is
 * saved, 26 bits offset of the CFA, 16 bits offset of the saved bp, 16 bits offset of the return
 * address from the CFA (0: it is in the link register). Offsets are in words of 8 bytes. */
static inline unsigned rule_kind(uint64_t what)
{
	return what & 15;
}

static inline unsigned rule_bp_base(uint64_t what)
{
	return what >> 4 & 3;
}

static inline int64_t rule_cfa(uint64_t what)
{
	return ((int64_t)(what << 32) >> 38) * 8;
}

static inline int64_t rule_bp(uint64_t what)
{
	return ((int64_t)(what << 16) >> 48) * 8;
}

static inline int64_t rule_return(uint64_t what)
{
	return ((int64_t)what >> 48) * 8;
}

static inline bool rule_word_fits(int64_t bytes, unsigned bits)
{
	int64_t most = (int64_t)8 << (bits - 1);
	return !(bytes & 7) && bytes < most && bytes >= -most;
}

struct unwind_rule {
	_Atomic uint64_t key; /* the code address; 0: an empty slot */
	/* the caller that followed last: its key << 16 | its slot; 0: none yet */
	_Atomic uint64_t next;
	_Atomic uint64_t what;
	_Atomic uint32_t generation; /* generation in which `what` was learned */
};

/* A hash table of 1 MiB, touched as needed. PyTorch's training has some 500 return addresses. */
enum { RULES_BITS = 15, RULES_SLOTS = 1 << RULES_BITS, RULES_MOST = RULES_SLOTS / 4 * 3 };

extern struct unwind_rule *unwind_rules;

bool rules_start(void);

/* Returns the rule for the code at `key`, learned in `generation` or later. Learns it if necessary.
 * Returns NULL if the table is full, or if this is a signal handler that interrupted this thread's
 * learning. */
struct unwind_rule *rules_get(uint64_t key, uint32_t generation);

/* In a forked child: see learn_forget(). */
void rules_forget(void);

uint64_t rules_learned(void);

static inline struct unwind_rule *rules_home(uint64_t key)
{
	return &unwind_rules[key * 0x9E3779B97F4A7C15u >> (64 - RULES_BITS)];
}

static inline bool rules_is_fresh(const struct unwind_rule *rule, uint32_t generation)
{
	uint32_t known = atomic_load_explicit(&rule->generation, memory_order_acquire);
	return __builtin_expect((int32_t)(known - generation) >= 0, 1);
}

/* Returns the rule for the caller, which executes the code at `key`. Looks first at the caller that
 * followed `from` the last time, then at the slot where `key` belongs. Returns NULL as rules_get()
 * does. */
static inline struct unwind_rule *rules_next(struct unwind_rule *from, uint64_t key,
					     uint32_t generation)
{
	uint64_t next = atomic_load_explicit(&from->next, memory_order_relaxed);
	struct unwind_rule *to = &unwind_rules[next & (RULES_SLOTS - 1)];
	if (__builtin_expect(next >> 16 == key, 1) && rules_is_fresh(to, generation))
		return to;
	to = rules_home(key);
	if (__builtin_expect(atomic_load_explicit(&to->key, memory_order_acquire) != key, 0) ||
	    !rules_is_fresh(to, generation)) {
		to = rules_get(key, generation);
		if (!to)
			return NULL;
	}
	atomic_store_explicit(&from->next, key << 16 | (uint64_t)(to - unwind_rules),
			      memory_order_relaxed);
	return to;
}

#endif
