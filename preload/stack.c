/*
 * See stack.h. A stack's number is its index in a table of the process. Finding the number
 * therefore takes one look-up and no lock.
 */
#include "preload/stack.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "preload/hook.h"
#include "preload/lookup.h"
#include "preload/python.h"
#include "preload/stack_merge.h"
#include "preload/stack_modules.h"
#include "preload/unwind_objects.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define BIT(category) (1u << CAT_##category)

enum {
	START_PAUSE_US = 50,
	START_AT_MOST_US = 1000000,
	TABLE_ROOM = 1 << 17, /* 2 MiB; only pages that were touched use memory */
	TABLE_MOST = TABLE_ROOM / 4 * 3,
	CACHE_SLOTS = 1024, /* a training step has a few hundred stacks */
	FRAMES_MOST = UNWIND_DEPTH_MOST + PYTHON_DEPTH_MOST,
};

struct cached {
	uint64_t key;
	uint32_t id;
	/* Index of the slot that was used after this slot the last time. That slot is prefetched,
	 * as in unwind_memo.c. */
	uint32_t next;
};

struct place {
	_Atomic uint64_t key; /* hash that the table is searched for; 0: free */
	_Atomic uint32_t id;  /* id of the DICT_STACK; 0: not known yet */
};

struct table {
	struct place *places;
	_Atomic uint32_t n;
};

struct stack_thread {
	struct unwind_thread *native; /* NULL: only Python frames are recorded */
	struct python_chain chain;
	uint32_t last_slot; /* index in `cache` of the stack that was looked up last */
	struct cached cache[CACHE_SLOTS];
	/* work space for a new stack */
	struct unwind_frame native_frames[UNWIND_DEPTH_MOST];
	struct python_frame python_frames[PYTHON_DEPTH_MOST];
	struct merged_frame merged[FRAMES_MOST];
	uint64_t frames[FRAMES_MOST];
	/* the stack that was written last: a new stack usually shares its outer frames */
	uint32_t last_id, n_last;
	uint64_t last[FRAMES_MOST];
	struct {
		struct dict_stack head;
		uint64_t frames[FRAMES_MOST];
	} record;
};

static struct {
	struct stack_masks masks;
	unsigned depth;
	bool wants_python;
	atomic_flag starting;
	_Atomic bool started;
	bool has_native;
	struct table walks;  /* from the hash of both walks to the stack's number */
	struct table stacks; /* from the hash of a stack's content; the index gives the number */
	/* Incremented when code is unmapped. Stacks then get new numbers. */
	_Atomic uint64_t generation;
	_Atomic uint64_t lost;
	/* the journal is new: the sampling thread's last stack is not in it */
	_Atomic bool sampler_forgets;
} g = { .starting = ATOMIC_FLAG_INIT };

/* ---- Starting ---- */

void stack_configure(const struct config *config)
{
	static const uint32_t waits = BIT(SYNC) | BIT(MEMCPY) | BIT(MEMSET) | BIT(ALLOC) |
				      BIT(FREE) | BIT(EVENT) | BIT(QUERY);
	const char *which = config->stacks.text;
	if (!strcmp(which, "all"))
		g.masks = (struct stack_masks){ (1u << CAT_COUNT) - 1, BIT(ALLOC) | BIT(FREE) };
	else if (!strcmp(which, "sync"))
		g.masks = (struct stack_masks){ waits, BIT(ALLOC) | BIT(FREE) };
	else
		g.masks = (struct stack_masks){ 0, 0 };
	g.depth = (unsigned)config_number(&config->stack_depth);
	g.wants_python = strcmp(config->python.text, "off") != 0;
}

struct stack_masks stack_masks(void)
{
	return g.masks;
}

static void *map_pages(size_t bytes)
{
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

/* This thread executes start(). A signal handler may interrupt it, and must not wait for it. */
static THREAD_LOCAL bool is_starting;

/*
 * Waits while another thread executes start(), which takes milliseconds, so that the first calls of
 * threads that begin together have stacks. The wait has a limit, because the other thread may need
 * a lock that this thread holds.
 */
static bool wait_for_start(void)
{
	const struct timespec pause = { .tv_nsec = START_PAUSE_US * 1000 };
	for (int us = 0; us < START_AT_MOST_US && !is_starting; us += START_PAUSE_US) {
		if (atomic_load_explicit(&g.started, memory_order_acquire))
			return g.stacks.places != NULL;
		nanosleep(&pause, NULL);
	}
	return false;
}

/* Allocates the tables and prepares the native and the Python walk. Called for the first stack, not
 * at startup, because many processes that use CUDA never record a step. Returns false if no stack
 * can be taken now. */
static bool start(void)
{
	if (atomic_load_explicit(&g.started, memory_order_acquire))
		return g.stacks.places != NULL;
	if (atomic_flag_test_and_set(&g.starting))
		return wait_for_start();
	is_starting = true;
	g.walks.places = map_pages(TABLE_ROOM * sizeof(struct place));
	g.stacks.places = g.walks.places ? map_pages(TABLE_ROOM * sizeof(struct place)) : NULL;
	g.has_native = unwind_start(g.depth);
	if (g.wants_python)
		python_start(g.depth);
	lookup_forget_error();
	atomic_store_explicit(&g.started, true, memory_order_release);
	is_starting = false;
	return g.stacks.places != NULL;
}

static struct stack_thread *start_thread(void)
{
	int saved = errno;
	struct stack_thread *t = start() ? map_pages(sizeof(*t)) : NULL;
	if (t && g.has_native)
		t->native = unwind_thread_new();
	if (!hook_thread.has_end)
		hook_thread_keep();
	hook_thread.stacks = t;
	errno = saved;
	return t;
}

void stack_thread_free(struct stack_thread *t)
{
	if (!t)
		return;
	if (t->native)
		unwind_thread_free(t->native);
	munmap(t, sizeof(*t));
}

/* ---- A new stack ---- */

/* Collects the merged frames of a new stack. Returns false if a code object could not be read at
 * this moment. */
static bool collect(struct stack_thread *t, const struct unwind_regs *regs, unsigned *n,
		    uint32_t *flags)
{
	unsigned n_native = 0, most = g.depth < UNWIND_DEPTH_MOST ? g.depth : UNWIND_DEPTH_MOST;
	*flags = 0;
	if (t->native)
		n_native = unwind_frames(t->native, regs, t->native_frames, most, flags);
	else
		*flags |= STACK_TRUNCATED;
	if (t->chain.n && !python_resolve(&t->chain, t->python_frames, flags))
		return false;
	*n = stack_merge(t->native_frames, n_native, t->python_frames, t->chain.n, t->merged,
			 flags);
	for (unsigned i = 0; i < *n; i++) {
		const struct merged_frame *m = &t->merged[i];
		if (m->is_python)
			t->frames[i] = frame_python(t->python_frames[m->index].code,
						    t->python_frames[m->index].lasti);
		else
			t->frames[i] = stack_modules_frame(t->native_frames[m->index].ip);
	}
	return true;
}

static unsigned count_shared(const struct stack_thread *t, unsigned n)
{
	unsigned shared = 0;
	while (t->last_id && shared < n && shared < t->n_last &&
	       t->frames[n - 1 - shared] == t->last[t->n_last - 1 - shared])
		shared++;
	return shared;
}

static void write_stack(struct stack_thread *t, uint32_t id, unsigned n, uint32_t flags)
{
	unsigned shared = count_shared(t, n), own = n - shared;
	t->record.head = (struct dict_stack){
		.head.kind = DICT_STACK,
		.id = id,
		.base = shared ? t->last_id : 0,
		.shared = (uint16_t)shared,
		.n = (uint16_t)own,
		.flags = flags,
	};
	memcpy(t->record.frames, t->frames, own * sizeof(*t->frames));
	size_t bytes = offsetof(struct dict_stack, frames) + own * sizeof(*t->frames);
	if (!journal_put(&t->record.head.head, bytes, NULL)) {
		atomic_fetch_add_explicit(&g.lost, 1, memory_order_relaxed);
		return;
	}
	memcpy(t->last, t->frames, n * sizeof(*t->frames));
	t->n_last = n;
	t->last_id = id;
}

/* Returns the place of `key`, and adds one if the table has none (`is_new`). Returns NULL if the
 * table is full. Lock-free, because places are never freed. */
static struct place *place_of(struct table *table, uint64_t key, bool *is_new)
{
	*is_new = false;
	for (uint32_t i = (uint32_t)(key >> 40);; i++) {
		struct place *at = &table->places[i % TABLE_ROOM];
		uint64_t there = atomic_load_explicit(&at->key, memory_order_relaxed);
		if (!there) {
			if (atomic_load_explicit(&table->n, memory_order_relaxed) >= TABLE_MOST)
				return NULL;
			if (atomic_compare_exchange_strong(&at->key, &there, key)) {
				atomic_fetch_add_explicit(&table->n, 1, memory_order_relaxed);
				*is_new = true;
				return at;
			}
		}
		if (there == key)
			return at;
	}
}

static uint64_t hash_frames(const uint64_t *frames, unsigned n, uint32_t flags)
{
	uint64_t h = flags + 1;
	for (unsigned i = 0; i < n; i++) {
		h = (h ^ frames[i]) * 0x9E3779B97F4A7C15ull;
		h ^= h >> 29;
	}
	return h + !h;
}

static uint32_t count_lost(void)
{
	atomic_fetch_add_explicit(&g.lost, 1, memory_order_relaxed);
	log_once(LOG_INFO,
		 "more than %d distinct stacks: calls with further stacks are recorded without a "
		 "stack",
		 TABLE_MOST);
	return 0;
}

/* Returns the number of a stack by its content, and writes the stack if it is new. The same frames
 * can occur with several walk hashes, because a hash changes when code objects are replaced. */
static uint32_t number_of(struct stack_thread *t, unsigned n, uint32_t flags)
{
	bool is_new;
	struct place *at = place_of(&g.stacks, hash_frames(t->frames, n, flags), &is_new);
	if (!at)
		return count_lost();
	uint32_t id = (uint32_t)(at - g.stacks.places) + 1;
	if (is_new)
		write_stack(t, id, n, flags);
	return id;
}

__attribute__((noinline)) static uint32_t
look_up(struct stack_thread *t, const struct unwind_regs *regs, uint64_t key, struct cached *cached)
{
	int saved = errno;
	bool is_new;
	struct place *at = place_of(&g.walks, key, &is_new);
	uint32_t id = at ? atomic_load_explicit(&at->id, memory_order_relaxed) : count_lost(),
		 flags;
	unsigned n;
	if (at && !id && collect(t, regs, &n, &flags)) {
		id = number_of(t, n, flags);
		atomic_store_explicit(&at->id, id, memory_order_relaxed);
	}
	if (id)
		*cached = (struct cached){ key, id, cached->next };
	errno = saved;
	return id;
}

/* ---- Every call ---- */

/* Returns the stack's number from the thread's cache, or else from the tables. */
HOT static uint32_t find_number(struct stack_thread *t, const struct unwind_regs *regs,
				uint64_t native, uint64_t with)
{
	uint64_t key = (native ^ with * 0x9E3779B97F4A7C15ull) * 0xD1342543DE82EF95ull;
	key ^= key >> 32;
	key += !key;
	uint32_t slot = (uint32_t)(key >> 54);
	struct cached *c = &t->cache[slot], *before = &t->cache[t->last_slot];
	if (before->next != slot)
		before->next = slot;
	t->last_slot = slot;
	__builtin_prefetch(&t->cache[c->next], 0, 2);
	return LIKELY(c->key == key) ? c->id : look_up(t, regs, key, c);
}

HOT uint32_t stack_take(const struct unwind_regs *regs)
{
	struct stack_thread *t = hook_thread.stacks;
	if (UNLIKELY(!t) && !(t = start_thread()))
		return 0;
	/* prefetch the state that unwind_walk() reads after python_read() */
	__builtin_prefetch(t->native, 1);
	uint64_t native = 0, python = 0;
	if (g.wants_python && python_read(&t->chain))
		python = t->chain.hash;
	else
		t->chain.n = 0;
	uint64_t with = python + atomic_load_explicit(&g.generation, memory_order_relaxed);
	uint32_t id = 0;
	if (t->native)
		native = unwind_walk(t->native, regs, with, &id);
	if (LIKELY(id))
		return id;
	if (UNLIKELY(!native && !python))
		return 0;
	id = find_number(t, regs, native, with);
	unwind_keep(t->native, native, with, id);
	return id;
}

/* ---- Samples ---- */

/* The sampling thread's state. It is kept when that thread ends, because the next one continues. */
static struct {
	struct stack_thread *thread;
	unsigned n_native;
	uint32_t flags;
	atomic_bool reads_code;
	_Atomic uint32_t n_unloading; /* dlclose() calls that have not returned */
} sampling;

/*
 * A thread's own stack keeps the code on it mapped, but the stack of a thread that goes on does
 * not. So code is read only while no library is being unloaded. Both sides write first and then
 * read what the other one wrote (sequentially consistent), so at least one of them sees the
 * other.
 */
static bool may_read_code(void)
{
	atomic_store(&sampling.reads_code, true);
	if (!atomic_load(&sampling.n_unloading))
		return true;
	atomic_store(&sampling.reads_code, false);
	return false;
}

static void has_read_code(void)
{
	atomic_store_explicit(&sampling.reads_code, false, memory_order_release);
}

void stack_objects_go(void)
{
	/* Before glibc 2.35, the sampling thread may need the loader's lock, which this thread may
	 * hold: it must not wait for good. */
	enum { YIELDS_MOST = 2000 };
	atomic_fetch_add(&sampling.n_unloading, 1);
	for (int i = 0; i < YIELDS_MOST && atomic_load(&sampling.reads_code); i++)
		sched_yield();
}

static struct stack_thread *sampling_thread(void)
{
	if (!sampling.thread && start())
		sampling.thread = map_pages(sizeof(*sampling.thread));
	if (sampling.thread && !sampling.thread->native && g.has_native)
		sampling.thread->native = unwind_thread_new();
	return sampling.thread;
}

unsigned stack_walk_sample(const struct unwind_regs *regs, const struct stack_window *window)
{
	struct stack_thread *t = sampling_thread();
	sampling.n_native = 0;
	sampling.flags = 0;
	if (!t || !t->native || !may_read_code())
		return 0;
	unsigned most = g.depth < UNWIND_DEPTH_MOST ? g.depth : UNWIND_DEPTH_MOST;
	sampling.n_native =
		unwind_other(t->native, regs, window, t->native_frames, most, &sampling.flags);
	has_read_code();
	return sampling.n_native;
}

bool stack_sample_is_own(void)
{
	static struct object own;
	const struct stack_thread *t = sampling.thread;
	if (!own.end)
		object_find((uintptr_t)&stack_sample_is_own, &own);
	for (unsigned i = 0; t && i < sampling.n_native; i++)
		if (t->native_frames[i].ip - own.start < own.end - own.start)
			return true;
	return false;
}

/* Puts the native frames into t->frames that lie within the evaluator's frame. Returns how many. */
static unsigned put_native(struct stack_thread *t, const struct stack_python *python)
{
	unsigned n = 0;
	if ((python->n && !python->evaluator && !python->is_by_name) || !may_read_code())
		return 0;
	for (; n < sampling.n_native; n++) {
		const struct unwind_frame *f = &t->native_frames[n];
		if (python->evaluator && python->evaluator < f->cfa)
			break;
		t->frames[n] = stack_modules_frame(f->ip);
	}
	has_read_code();
	return n;
}

uint32_t stack_of_sample(const struct stack_python *python, bool with_native)
{
	struct stack_thread *t = sampling_thread();
	uint32_t flags = STACK_TRUNCATED;
	if (!t || python->n > PYTHON_DEPTH_MOST)
		return 0;
	if (atomic_exchange_explicit(&g.sampler_forgets, false, memory_order_relaxed))
		t->last_id = 0;
	unsigned n = with_native ? put_native(t, python) : 0;
	if (n && (!python->n || python->is_by_name))
		flags = sampling.flags | (python->is_by_name ? STACK_BY_NAME : 0u);
	for (uint32_t i = 0; i < python->n; i++)
		t->frames[n++] = frame_python(python->frames[i].code, python->frames[i].lasti);
	return n ? number_of(t, n, flags) : 0;
}

/* ---- The rest of a process's life ---- */

void stack_objects_gone(void)
{
	if (atomic_load_explicit(&g.started, memory_order_acquire)) {
		atomic_fetch_add_explicit(&g.generation, 1, memory_order_relaxed);
		unwind_objects_gone();
		stack_modules_gone();
	}
	atomic_fetch_sub(&sampling.n_unloading, 1);
}

void stack_finish(void)
{
	char text[24];
	uint64_t lost = atomic_load(&g.lost);
	if (!lost)
		return;
	snprintf(text, sizeof(text), "%llu", (unsigned long long)lost);
	journal_put_info("stacks lost", text);
}

/* Drops the table's pages, which contain the numbers of the parent's journal. */
static void forget_table(struct table *table)
{
	if (table->places)
		madvise(table->places, TABLE_ROOM * sizeof(struct place), MADV_DONTNEED);
	atomic_store(&table->n, 0);
}

void stack_forget(void)
{
	atomic_store(&sampling.n_unloading, 0);
	atomic_store(&sampling.reads_code, false);
	if (!atomic_load(&g.started)) {
		/* the thread that was executing start() does not exist in the child */
		atomic_flag_clear(&g.starting);
		return;
	}
	forget_table(&g.walks);
	forget_table(&g.stacks);
	atomic_store(&g.lost, 0);
	atomic_store(&g.sampler_forgets, true);
	unwind_forget();
	python_forget();
	stack_modules_forget();
}
