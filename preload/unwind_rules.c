#include "preload/unwind_rules.h"

#include "core/runtime/log.h"
#include "preload/unwind_learn.h"

#include <errno.h>
#include <stddef.h>
#include <sys/mman.h>

struct unwind_rule *unwind_rules;

static struct {
	_Atomic uint32_t n; /* number of slots in use */
	_Atomic uint64_t learned;
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

static struct unwind_rule *slot_after(struct unwind_rule *rule)
{
	return rule + 1 < unwind_rules + RULES_SLOTS ? rule + 1 : unwind_rules;
}

/* Returns the slot of `key`; NULL: there is none. */
static struct unwind_rule *find(uint64_t key)
{
	for (struct unwind_rule *rule = rules_home(key);; rule = slot_after(rule)) {
		uint64_t known = atomic_load_explicit(&rule->key, memory_order_acquire);
		if (!known || known == key)
			return known ? rule : NULL;
	}
}

/* Returns the slot of `key`, which may be new; NULL: the table is full. A new slot has generation
 * 0, so no thread uses its rule yet. */
static struct unwind_rule *take(uint64_t key)
{
	for (struct unwind_rule *rule = rules_home(key);; rule = slot_after(rule)) {
		uint64_t known = atomic_load_explicit(&rule->key, memory_order_acquire);
		if (!known && atomic_load_explicit(&g.n, memory_order_relaxed) >= RULES_MOST)
			return NULL;
		if (!known && atomic_compare_exchange_strong(&rule->key, &known, key)) {
			atomic_fetch_add_explicit(&g.n, 1, memory_order_relaxed);
			return rule;
		}
		if (known == key)
			return rule;
	}
}

/*
 * Stores what a thread has learned. Threads that learn the same rule at the same time find the same
 * in the same generation. If an object was unmapped meanwhile, one of them may have learned in the
 * generation before: then the rule is made stale, to be learned again.
 */
static void store(struct unwind_rule *rule, uint64_t what, uint32_t generation)
{
	atomic_store(&rule->what, what);
	bool is_outdated = (int32_t)(atomic_load(&rule->generation) - generation) > 0;
	atomic_store(&rule->generation, is_outdated ? 0 : generation);
	if (atomic_load(&rule->what) != what)
		atomic_store(&rule->generation, 0);
}

static struct unwind_rule *learn(uint64_t key, uint32_t generation)
{
	uint64_t what;
	if (!learn_rule(key, &what))
		return NULL;
	struct unwind_rule *rule = take(key);
	if (!rule) {
		log_once(LOG_WARN,
			 "more than %d distinct return addresses: native stacks are cut off at "
			 "further addresses",
			 RULES_MOST);
		return NULL;
	}
	store(rule, what, generation);
	atomic_fetch_add_explicit(&g.learned, 1, memory_order_relaxed);
	return rule;
}

struct unwind_rule *rules_get(uint64_t key, uint32_t generation)
{
	struct unwind_rule *rule = find(key);
	if (rule && rules_is_fresh(rule, generation))
		return rule;
	int saved = errno;
	rule = learn(key, generation);
	errno = saved;
	return rule;
}

void rules_forget(void)
{
	learn_forget();
	atomic_store_explicit(&g.learned, 0, memory_order_relaxed);
}

uint64_t rules_learned(void)
{
	return atomic_load_explicit(&g.learned, memory_order_relaxed);
}
