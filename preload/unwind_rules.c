#include "preload/unwind_rules.h"

#include "core/runtime/log.h"
#include "preload/unwind_learn.h"

#include <errno.h>
#include <sched.h>
#include <stddef.h>
#include <sys/mman.h>

struct unwind_rule *unwind_rules;

static struct {
	uint32_t n; /* number of slots in use; only the learner accesses it */
	/* address of the learning thread's `self`; 0: no thread is learning */
	_Atomic uintptr_t learner;
	_Atomic uint64_t learned;
	_Atomic bool broken; /* a fork interrupted libunwind, so the child must not call it again */
} g;

bool rules_start(void)
{
	if (!learn_start())
		return false;
	void *memory = mmap(NULL, RULES_SLOTS * sizeof(*unwind_rules), PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED) {
		log_once(LOG_WARN, "not enough memory for native stacks: CUDA calls are recorded "
				   "without native stacks");
		return false;
	}
	unwind_rules = memory;
	return true;
}

/* Returns the slot of `key`, or the empty slot where `key` belongs. */
static struct unwind_rule *find(uint64_t key)
{
	struct unwind_rule *rule = rules_home(key);
	for (;; rule = rule + 1 < unwind_rules + RULES_SLOTS ? rule + 1 : unwind_rules) {
		uint64_t known = atomic_load_explicit(&rule->key, memory_order_acquire);
		if (!known || known == key)
			return rule;
	}
}

static bool is_known(const struct unwind_rule *rule, uint32_t generation)
{
	return atomic_load_explicit(&rule->key, memory_order_acquire) &&
	       rules_is_fresh(rule, generation);
}

/* Learns a rule and returns its slot, NULL if the table is full. Called only by the learner. */
static struct unwind_rule *learn(uint64_t key, uint32_t generation)
{
	struct unwind_rule *rule = find(key);
	if (is_known(rule, generation))
		return rule;
	bool is_new = !atomic_load_explicit(&rule->key, memory_order_relaxed);
	if (is_new && g.n == RULES_MOST) {
		log_once(LOG_WARN,
			 "more than %d distinct return addresses: native stacks are cut off at "
			 "further addresses",
			 RULES_MOST);
		return NULL;
	}
	g.n += is_new;
	atomic_store_explicit(&rule->what, learn_rule(key), memory_order_relaxed);
	atomic_store_explicit(&rule->generation, generation, memory_order_release);
	atomic_store_explicit(&rule->key, key, memory_order_release);
	atomic_fetch_add_explicit(&g.learned, 1, memory_order_relaxed);
	return rule;
}

static void wait_a_little(int tries)
{
	enum { PAUSES = 2000 }; /* some 50 us, the time in which twenty rules are learned */
	if (tries >= PAUSES)
		sched_yield(); /* the learner may be waiting for this CPU */
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* Makes this thread the learner. Threads that start at the same time need the same rules, so a
 * thread that finds another one learning waits a little. Returns false if the wait was too long, or
 * if this thread is the learner already and a signal handler interrupted it. */
static bool become_learner(uintptr_t self)
{
	enum { TRIES = 2050 };
	for (int tries = 0; tries < TRIES; tries++) {
		uintptr_t holder = 0;
		if (atomic_compare_exchange_strong_explicit(
			    &g.learner, &holder, self, memory_order_acquire, memory_order_relaxed))
			return true;
		if (holder == self)
			return false;
		wait_a_little(tries);
	}
	return false;
}

struct unwind_rule *rules_get(uint64_t key, uint32_t generation)
{
	struct unwind_rule *rule = find(key);
	if (is_known(rule, generation))
		return rule;
	/* the address of `self` is different in each thread, so it identifies the thread */
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
