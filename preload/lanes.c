/* See lanes.h. */
#include "preload/lanes.h"

#include "preload/hook.h"

#include <string.h>
#include <sys/prctl.h>

enum {
	LANES_MOST = 1024,
	/* how many of them keep their chunks, 64 KiB each; those of the others are sealed */
	CHUNKS_MOST = 32,
	NAME_BYTES = 16,
};

enum { EMPTY, BUSY, LEFT };

struct lane {
	_Atomic uint32_t state;
	char name[NAME_BYTES];
	struct journal_writer writer;
	uint32_t tokens, fills, settled, tokens_then, announced, announced_in;
	uint64_t step_seen;
	struct token_window window;
	struct hook_passed passed[2];
};

static struct {
	bool may_continue;
	_Atomic uint32_t n_left, n_chunks;
	_Atomic uint32_t last; /* where a lane was left last */
	struct lane lanes[LANES_MOST];
} g;

void lanes_configure(bool may_continue)
{
	g.may_continue = may_continue;
}

/* Takes a lane in state `from`, and makes it BUSY. Returns NULL if it is in another state. */
static struct lane *take(uint32_t i, uint32_t from)
{
	struct lane *lane = &g.lanes[i % LANES_MOST];
	uint32_t expected = from;
	return atomic_load_explicit(&lane->state, memory_order_relaxed) == from &&
			       atomic_compare_exchange_strong(&lane->state, &expected, BUSY)
		       ? lane
		       : NULL;
}

/* Seals the chunk if enough other lanes keep theirs. */
static void limit_chunks(struct journal_writer *w)
{
	if (w->chunk && atomic_fetch_add(&g.n_chunks, 1) >= CHUNKS_MOST) {
		atomic_fetch_sub(&g.n_chunks, 1);
		journal_release(w);
	}
}

void lanes_leave(void)
{
	struct hook_thread *t = hook_thread_here();
	struct lane *lane = NULL;
	uint32_t start = atomic_load_explicit(&g.last, memory_order_relaxed), i = 0;
	if (!g.may_continue || t->is_helper || t->has_own_stream || !t->writer.slot ||
	    !journal_header())
		i = LANES_MOST;
	for (; i < LANES_MOST && !lane; i++)
		lane = take(start + i, EMPTY);
	if (!lane) {
		journal_release(&t->writer);
		return;
	}
	limit_chunks(&t->writer);
	if (!t->name[0])
		prctl(PR_GET_NAME, t->name);
	memcpy(lane->name, t->name, sizeof(lane->name));
	lane->writer = t->writer;
	lane->tokens = t->tokens;
	lane->fills = t->fills;
	lane->settled = t->settled;
	lane->tokens_then = t->tokens_then;
	lane->step_seen = t->step_seen;
	lane->announced = t->announced;
	lane->announced_in = t->announced_in;
	lane->window = t->window;
	memcpy(lane->passed, t->passed, sizeof(lane->passed));
	t->writer = (struct journal_writer){ 0 };
	t->tokens = t->fills = t->settled = 0;
	t->window = (struct token_window){ 0 };
	atomic_store_explicit(&g.last, (uint32_t)(lane - g.lanes), memory_order_relaxed);
	atomic_fetch_add(&g.n_left, 1);
	/* pairs with take(): the thread that takes the lane sees all of it */
	atomic_store_explicit(&lane->state, LEFT, memory_order_release);
}

/* Takes a lane that a thread of this name has left. */
static struct lane *find(const char *name)
{
	uint32_t start = atomic_load_explicit(&g.last, memory_order_relaxed) + LANES_MOST;
	uint32_t n = atomic_load_explicit(&g.n_left, memory_order_relaxed);
	/* the lane left last first, because its chunk is in the cache */
	for (uint32_t i = 0; i < LANES_MOST && n; i++) {
		struct lane *lane = take(start - i, LEFT);
		if (!lane)
			continue;
		if (!memcmp(lane->name, name, NAME_BYTES))
			return lane;
		atomic_store_explicit(&lane->state, LEFT, memory_order_release);
		n--;
	}
	return NULL;
}

/*
 * Adds the thread's own counts, of calls that were counted without being recorded, to those of the
 * lane. Tokens are kept by whether their number is odd (hook_thread.passed), so the lane's count is
 * rounded up to an even one.
 */
static void add_counts(struct hook_thread *t, const struct lane *lane)
{
	uint32_t before = lane->tokens;
	if (t->tokens) {
		before += before & 1;
		t->settled += before;
		t->tokens_then += before;
	} else {
		t->settled = lane->settled;
		t->tokens_then = lane->tokens_then;
		t->step_seen = lane->step_seen;
		t->window = lane->window;
		memcpy(t->passed, lane->passed, sizeof(t->passed));
	}
	t->tokens += before;
	t->fills += lane->fills;
}

void lanes_continue(void)
{
	struct hook_thread *t = hook_thread_here();
	if (t->writer.slot || !atomic_load_explicit(&g.n_left, memory_order_relaxed))
		return;
	prctl(PR_GET_NAME, t->name);
	struct lane *lane = find(t->name);
	if (!lane)
		return;
	t->writer = lane->writer;
	if (t->writer.chunk)
		atomic_fetch_sub(&g.n_chunks, 1);
	t->announced = lane->announced;
	t->announced_in = lane->announced_in;
	add_counts(t, lane);
	atomic_fetch_sub(&g.n_left, 1);
	atomic_store_explicit(&lane->state, EMPTY, memory_order_release);
}

void lanes_forget(void)
{
	/* a lane that a thread of the parent was just using stays BUSY, which does no harm */
	for (uint32_t i = 0; i < LANES_MOST && atomic_load(&g.n_left); i++)
		atomic_store(&g.lanes[i].state, EMPTY);
	atomic_store(&g.n_left, 0);
	atomic_store(&g.n_chunks, 0);
}
