/* See unwind.h. This file keeps the state of each thread and the generation that makes learned data
 * stale. */
#include "preload/unwind.h"

#include "core/runtime/log.h"
#include "core/runtime/record.h"
#include "preload/hook.h"
#include "preload/unwind_memo.h"
#include "preload/unwind_rules.h"
#include "preload/unwind_walk.h"

#include <stddef.h>
#include <string.h>
#include <sys/mman.h>

struct unwind_thread {
	/* A remembered walk needs only the members from here to `memo_hits`: one cache line.
	 * is_busy: the thread is changing its state, so its signal handlers must not use it. */
	bool is_busy;
	/* walker.trail describes the last walk; false: an entry of the memo replaced that walk */
	bool trail_is_last;
	uint32_t generation;
	struct memo memo;
	/* only the thread that owns this state writes the counters */
	_Atomic uint64_t walks, memo_hits;
	_Atomic uint64_t truncated; /* counts walks with missing outer frames */
	/* next in the list of all states ever made; a state of an ended thread is reused */
	struct unwind_thread *next;
	atomic_bool in_use;
	struct walker walker;
	char *data;
	size_t data_bytes;
};

static struct {
	uint32_t depth;
	_Atomic uint32_t generation; /* starts at 1, because unused rules have generation 0 */
	_Atomic(struct unwind_thread *) threads;
} g = { .generation = 1 };

bool unwind_start(unsigned depth)
{
	if (g.depth)
		return true;
	if (!rules_start())
		return false;
	g.depth = depth < 1 ? 1 : depth > UNWIND_DEPTH_MOST ? UNWIND_DEPTH_MOST : depth;
	return true;
}

/* ---- A thread's state ---- */

/* Lays out the arrays of a thread's state in `data`, in this order. Returns their size: 330 KiB at
 * a depth of 128, touched as needed. */
static size_t lay_out(struct unwind_thread *t, char *data)
{
	struct walker *w = &t->walker;
	uint32_t words = walk_words_most(g.depth);
	struct {
		void **part;
		size_t bytes;
	} parts[] = {
		{ (void **)&w->trail.steps, g.depth * sizeof(struct walk_step) },
		{ (void **)&w->trail.words, words * sizeof(struct walk_word) },
		{ (void **)&w->steps, g.depth * sizeof(struct walk_step) },
		{ (void **)&w->words, words * sizeof(struct walk_word) },
		{ (void **)&t->memo.sets, MEMO_SETS * sizeof(*t->memo.sets) },
		{ (void **)&t->memo.seen, MEMO_SEEN * sizeof(*t->memo.seen) },
		{ (void **)&t->memo.ring, MEMO_RING_BYTES },
		{ (void **)&w->copy, STACK_COPY_BYTES },
		{ (void **)&w->known, sizeof(*w->known) },
	};
	size_t at = 0;
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		*parts[i].part = data + at;
		at += (parts[i].bytes + 63) & ~(size_t)63;
	}
	w->depth = g.depth;
	w->words_most = words;
	return at;
}

static struct unwind_thread *make_thread(void)
{
	enum { HEAD_BYTES = 4096 };
	_Static_assert(sizeof(struct unwind_thread) <= HEAD_BYTES, "the head has a page");
	_Static_assert(offsetof(struct unwind_thread, truncated) <= 64, "one cache line");
	struct unwind_thread measured;
	size_t bytes = lay_out(&measured, NULL);
	char *memory = mmap(NULL, HEAD_BYTES + bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (memory == MAP_FAILED)
		return NULL;
	struct unwind_thread *t = (struct unwind_thread *)memory;
	t->data = memory + HEAD_BYTES;
	t->data_bytes = bytes;
	t->in_use = true;
	lay_out(t, t->data);
	struct unwind_thread *first = atomic_load_explicit(&g.threads, memory_order_relaxed);
	do
		t->next = first;
	while (!atomic_compare_exchange_weak_explicit(&g.threads, &first, t, memory_order_release,
						      memory_order_relaxed));
	return t;
}

static struct unwind_thread *first_thread(void)
{
	return atomic_load_explicit(&g.threads, memory_order_acquire);
}

static struct unwind_thread *reuse_thread(void)
{
	for (struct unwind_thread *t = first_thread(); t; t = t->next) {
		bool used = false;
		if (atomic_compare_exchange_strong_explicit(
			    &t->in_use, &used, true, memory_order_acquire, memory_order_relaxed))
			return t;
	}
	return NULL;
}

struct unwind_thread *unwind_thread_new(void)
{
	if (!g.depth)
		return NULL;
	struct unwind_thread *t = reuse_thread();
	if (!t)
		t = make_thread();
	if (!t) {
		log_once(LOG_WARN, "not enough memory for native stacks: CUDA calls on one thread "
				   "are recorded without native stacks");
		return NULL;
	}
	t->walker.own = stack_bounds_of_thread();
	t->generation = atomic_load_explicit(&g.generation, memory_order_acquire);
	return t;
}

void unwind_thread_free(struct unwind_thread *t)
{
	if (!t)
		return;
	memo_clear(&t->memo);
	t->walker.trail.is_kept = t->trail_is_last = false;
	madvise(t->data, t->data_bytes, MADV_DONTNEED);
	atomic_store_explicit(&t->in_use, false, memory_order_release);
}

/* ---- Walks ---- */

/* Increments a counter that only this thread writes. The addition therefore need not be atomic. */
static inline void count(_Atomic uint64_t *counter)
{
	atomic_store_explicit(counter, atomic_load_explicit(counter, memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

static void forget_stale(struct unwind_thread *t, uint32_t generation)
{
	memo_clear(&t->memo);
	t->walker.trail.is_kept = t->trail_is_last = false;
	t->generation = generation;
}

static __attribute__((noinline)) uint64_t walk_anew(struct unwind_thread *t,
						    const struct unwind_regs *regs)
{
	uint64_t hash = walk(&t->walker, regs, t->generation);
	const struct walk_trail *trail = &t->walker.trail;
	t->trail_is_last = true;
	if (trail->is_lasting)
		memo_add(&t->memo, regs, trail, hash);
	if (trail->flags & STACK_TRUNCATED)
		count(&t->truncated);
	return hash;
}

/* Hashes only the caller's own frame, which needs no thread state. */
static uint64_t hash_alone(const struct unwind_regs *regs)
{
	return regs->ip * 0x9E3779B97F4A7C15u | 1;
}

HOT uint64_t unwind_walk(struct unwind_thread *t, const struct unwind_regs *regs, uint64_t with,
			 uint32_t *kept)
{
	*kept = 0;
	if (UNLIKELY(t->is_busy))
		return hash_alone(regs);
	t->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	uint32_t generation = atomic_load_explicit(&g.generation, memory_order_acquire);
	if (UNLIKELY(t->generation != generation))
		forget_stale(t, generation);
	count(&t->walks);
	uint64_t hash = memo_find(&t->memo, regs, with, kept);
	if (LIKELY(hash)) {
		t->trail_is_last = false;
		count(&t->memo_hits);
	} else {
		hash = walk_anew(t, regs);
	}
	atomic_signal_fence(memory_order_seq_cst);
	t->is_busy = false;
	return hash;
}

void unwind_keep(struct unwind_thread *t, uint64_t number, uint64_t with, uint32_t value)
{
	if (!t || t->is_busy)
		return;
	t->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	memo_keep(&t->memo, number, with, value);
	atomic_signal_fence(memory_order_seq_cst);
	t->is_busy = false;
}

static unsigned copy_frames(const struct walk_trail *trail, struct unwind_frame *out, unsigned most)
{
	unsigned n = trail->n < most ? trail->n : most;
	for (unsigned i = 0; i < n; i++) {
		const struct walk_step *step = &trail->steps[trail->n - 1 - i];
		uint64_t ip = step->key + !(step->flags & STEP_INTERRUPTED);
		out[i] = (struct unwind_frame){ ip, step->sp,
						i + 1 < trail->n ? step[-1].sp : step->sp };
	}
	return n;
}

unsigned unwind_frames(struct unwind_thread *t, const struct unwind_regs *regs,
		       struct unwind_frame *out, unsigned most, uint32_t *flags)
{
	if (!most)
		return 0;
	if (UNLIKELY(t->is_busy)) {
		*flags |= STACK_TRUNCATED;
		*out = (struct unwind_frame){ regs->ip, regs->sp, regs->sp };
		return 1;
	}
	t->is_busy = true;
	atomic_signal_fence(memory_order_seq_cst);
	if (!t->trail_is_last) {
		walk(&t->walker, regs, t->generation);
		t->trail_is_last = true;
	}
	const struct walk_trail *trail = &t->walker.trail;
	unsigned n = copy_frames(trail, out, most);
	*flags |= trail->flags | (n < trail->n ? STACK_TRUNCATED : 0);
	atomic_signal_fence(memory_order_seq_cst);
	t->is_busy = false;
	return n;
}

unsigned unwind_other(struct unwind_thread *t, const struct unwind_regs *regs,
		      const struct stack_window *window, struct unwind_frame *out, unsigned most,
		      uint32_t *flags)
{
	const struct walk_trail *trail = &t->walker.trail;
	walk_other(&t->walker, regs, window,
		   atomic_load_explicit(&g.generation, memory_order_acquire));
	unsigned n = copy_frames(trail, out, most);
	*flags |= trail->flags | (n < trail->n ? STACK_TRUNCATED : 0);
	return n;
}

/* ---- Generations, forked children, statistics ---- */

void unwind_objects_gone(void)
{
	atomic_fetch_add_explicit(&g.generation, 1, memory_order_acq_rel);
}

void unwind_forget(void)
{
	rules_forget();
	for (struct unwind_thread *t = first_thread(); t; t = t->next) {
		t->walks = t->memo_hits = t->truncated = 0;
		t->walker.slow = 0;
	}
}

void unwind_count(struct unwind_counts *to)
{
	*to = (struct unwind_counts){ .learned = rules_learned() };
	for (struct unwind_thread *t = first_thread(); t; t = t->next) {
		to->walks += atomic_load_explicit(&t->walks, memory_order_relaxed);
		to->memo_hits += atomic_load_explicit(&t->memo_hits, memory_order_relaxed);
		to->truncated += atomic_load_explicit(&t->truncated, memory_order_relaxed);
		to->slow += t->walker.slow;
	}
}
