#include "preload/unwind_rules.h"

#include "core/log.h"
#include "preload/unwind_learn.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

enum { INDEX_BITS = 17, INDEX_SLOTS = 1 << INDEX_BITS };

struct unwind_rule *unwind_rules;

static struct {
	_Atomic uint16_t *index;   /* rule, 0: none; at most half full */
	uint32_t n;		   /* rules in use, counting the nobody at 0; the learner's */
	_Atomic uintptr_t learner; /* whose stack's address: 0 if nobody learns */
	_Atomic uint64_t learned;
	_Atomic bool broken; /* libunwind was left in the middle by a fork */
} g;

/* Touched only where used. */
static void *get_memory(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

bool rules_start(void)
{
	if (!learn_start())
		return false;
	_Atomic uint16_t *index = get_memory(INDEX_SLOTS * sizeof(*index));
	struct unwind_rule *rules = get_memory((RULES_MOST + 1) * sizeof(*rules));
	if (!index || !rules) {
		log_once(LOG_WARN, "no memory for native stacks: calls are recorded without them");
		return false;
	}
	g.index = index;
	g.n = 1;
	unwind_rules = rules;
	return true;
}

/* The slot that holds the rule for `key`, or the empty one where it would go. */
static _Atomic uint16_t *find(uint64_t key)
{
	size_t at = key * 0x9E3779B97F4A7C15u >> (64 - INDEX_BITS);
	for (;; at = (at + 1) % INDEX_SLOTS) {
		uint16_t rule = atomic_load_explicit(&g.index[at], memory_order_acquire);
		if (!rule ||
		    atomic_load_explicit(&unwind_rules[rule].key, memory_order_relaxed) == key)
			return &g.index[at];
	}
}

static struct unwind_rule *find_fresh(uint64_t key, uint32_t generation)
{
	uint16_t at = atomic_load_explicit(find(key), memory_order_acquire);
	struct unwind_rule *rule = &unwind_rules[at];
	uint32_t known = atomic_load_explicit(&rule->generation, memory_order_acquire);
	return at && (int32_t)(known - generation) >= 0 ? rule : NULL;
}

/* By the learner alone. */
static struct unwind_rule *learn(uint64_t key, uint32_t generation)
{
	struct unwind_rule *rule = find_fresh(key, generation);
	if (rule)
		return rule;
	_Atomic uint16_t *slot = find(key);
	uint16_t at = atomic_load_explicit(slot, memory_order_relaxed);
	if (!at && g.n > RULES_MOST) {
		log_once(LOG_WARN,
			 "native stacks: more than %d places of calls; further ones end the stack",
			 RULES_MOST - 1);
		return NULL;
	}
	if (!at) {
		at = (uint16_t)g.n++;
		atomic_store_explicit(&unwind_rules[at].key, key, memory_order_relaxed);
	}
	rule = &unwind_rules[at];
	atomic_store_explicit(&rule->what, learn_rule(key), memory_order_relaxed);
	atomic_store_explicit(&rule->generation, generation, memory_order_release);
	atomic_store_explicit(slot, at, memory_order_release);
	atomic_fetch_add_explicit(&g.learned, 1, memory_order_relaxed);
	return rule;
}

/*
 * Several threads that start at once learn the same things: whoever finds another thread learning waits a little (a rule
 * takes some microseconds). A learner on the same thread was interrupted by a signal and must not be waited for.
 */
static bool become_learner(uintptr_t self)
{
	for (int spins = 0; spins < 2000; spins++) {
		uintptr_t nobody = 0;
		if (atomic_compare_exchange_strong_explicit(
			    &g.learner, &nobody, self, memory_order_acquire, memory_order_relaxed))
			return true;
		if (nobody == self)
			return false;
#if defined(__x86_64__)
		__builtin_ia32_pause();
#elif defined(__aarch64__)
		__asm__ volatile("yield");
#endif
	}
	return false;
}

struct unwind_rule *rules_get(uint64_t key, uint32_t generation)
{
	struct unwind_rule *rule = find_fresh(key, generation);
	if (rule)
		return rule;
	/* any address that belongs to the thread alone tells threads apart */
	static __thread char self __attribute__((tls_model("initial-exec")));
	if (atomic_load_explicit(&g.broken, memory_order_relaxed) ||
	    !become_learner((uintptr_t)&self))
		return NULL;
	int saved = errno;
	rule = learn(key, generation);
	errno = saved;
	atomic_store_explicit(&g.learner, 0, memory_order_release);
	return rule;
}

void rules_forget(void)
{
	if (atomic_load_explicit(&g.learner, memory_order_relaxed))
		atomic_store_explicit(&g.broken, true, memory_order_relaxed);
	atomic_store_explicit(&g.learned, 0, memory_order_relaxed);
}

uint64_t rules_learned(void)
{
	return atomic_load_explicit(&g.learned, memory_order_relaxed);
}
