/*
 * Reads the calling thread's Python frames. This is safe without the GIL: only the thread itself
 * changes its chain, and it is in here; the frames own their code objects, whose names, lines and
 * bytecode never change. Data that other threads may change (specialized bytecode, caches,
 * reference counts) is not read.
 *
 * Two risks remain. A daemon thread that has passed the check for finalization at the very moment
 * when the main thread frees its state reads freed memory (never seen in 280 exits with eight
 * threads reading all the time). And up to 3.11, a thread inside a subinterpreter shows the frames
 * of the interpreter that it used first.
 */
#include "preload/python.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "preload/lookup.h"
#include "preload/python_code.h"
#include "preload/python_find.h"
#include "preload/python_layout.h"
#include "preload/python_verify.h"
#include "preload/python_walk.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum state {
	STATE_OFF,   /* not started, or verification failed; final */
	STATE_NONE,  /* no Python until more objects are loaded */
	STATE_LOOK,  /* there may be a Python */
	STATE_FOUND, /* there is one, its frames are not verified yet */
	STATE_ON,
};

static struct {
	/* What every read needs, in two cache lines. The layout is one. */
	_Alignas(64) struct python_layout layout;
	python_walk *walk;
	uint32_t depth;
	_Atomic uint32_t state; /* enum state */
	struct python_api api;
	/* One thread looks for Python or verifies; the others go without until it has finished. */
	atomic_flag busy;
	char version[24];
} g = { .busy = ATOMIC_FLAG_INIT };

/* How often a thread's chain is compared with the objects that it was resolved to, where hashes
 * alone may miss a change (up to 3.11). Costs 400 ns at 20 frames if they are cached, 2.5 us at 7
 * in a PyTorch step: 2 to 10 ns per read. */
enum { READS_PER_CHECK = 256 };
static _Thread_local struct {
	uint32_t reads;
	bool is_known, is_main; /* is_main: the main thread; stays valid in a forked child */
} own;

/* ---- On and off ---- */

static void set_state(enum state state)
{
	atomic_store_explicit(&g.state, state, memory_order_release);
}

static void describe_version(void)
{
	uint32_t v = g.api.version;
	snprintf(g.version, sizeof(g.version), "%u.%u.%u%s", v >> 24, v >> 16 & 0xff, v >> 8 & 0xff,
		 g.layout.is_free_threaded ? "t" : "");
}

static void turn_off(const char *why)
{
	char text[160];
	snprintf(text, sizeof(text), "%s: %s", g.version, why);
	journal_put_info("python", text);
	log_line(LOG_WARN, "Python %s; stacks are recorded without Python frames", text);
	set_state(STATE_OFF);
}

static void look(void)
{
	set_state(STATE_NONE); /* first, so that a concurrent python_objects_changed is not lost */
	if (!python_find(&g.api))
		return;
	const char *why = python_layout_choose(&g.api, &g.layout);
	describe_version();
	if (!why &&
	    !(g.api.code_type && g.api.text_type && g.api.bytes_type && g.api.is_finalizing))
		why = "it does not export the required symbols";
	if (why) {
		turn_off(why);
		return;
	}
	g.walk = python_walk_for(&g.layout);
	set_state(STATE_FOUND);
}

static void verify(void)
{
	uint64_t thread = (uint64_t)(uintptr_t)g.api.thread_state();
	if (!thread || g.api.is_finalizing())
		return;
	switch (python_verify(&g.api, &g.layout, thread)) {
	case PYTHON_NO_FRAMES: /* the thread is idle; retry on the next thread */
		break;
	case PYTHON_DOUBTFUL:
		turn_off("its frames do not match the known layout of this version");
		break;
	case PYTHON_VERIFIED:
		journal_put_info("python", g.version);
		log_line(LOG_INFO, "Python %s: frames can be read", g.version);
		set_state(STATE_ON);
	}
}

/* Returns whether frames can be read now. Cold, except for threads without Python in a process that
 * has not run Python yet. */
__attribute__((noinline, cold)) static bool prepare(void)
{
	uint32_t state = atomic_load_explicit(&g.state, memory_order_acquire);
	if ((state != STATE_LOOK && state != STATE_FOUND) ||
	    atomic_flag_test_and_set_explicit(&g.busy, memory_order_acquire))
		return state == STATE_ON;
	int saved = errno;
	if (atomic_load_explicit(&g.state, memory_order_relaxed) == STATE_LOOK) {
		look();
		lookup_forget_error();
	}
	if (atomic_load_explicit(&g.state, memory_order_relaxed) == STATE_FOUND)
		verify();
	atomic_flag_clear_explicit(&g.busy, memory_order_release);
	errno = saved;
	return atomic_load_explicit(&g.state, memory_order_relaxed) == STATE_ON;
}

void python_start(unsigned depth)
{
	g.depth = depth < PYTHON_DEPTH_MOST ? depth : PYTHON_DEPTH_MOST;
	/* a forked child has a new journal */
	if (atomic_load_explicit(&g.state, memory_order_relaxed) == STATE_ON)
		journal_put_info("python", g.version);
	else if (!g.version[0])
		set_state(STATE_LOOK);
}

void python_objects_changed(void)
{
	uint32_t none = STATE_NONE;
	atomic_compare_exchange_strong(&g.state, &none, STATE_LOOK);
}

void python_forget(void)
{
	python_code_forget();
	atomic_flag_clear(&g.busy);
}

/* ---- Reading ---- */

static inline bool is_on(void)
{
	return __builtin_expect(atomic_load_explicit(&g.state, memory_order_acquire) == STATE_ON,
				1) ||
	       prepare();
}

/* Returns the calling thread's state, 0 if it has none or it must not be used any more: at
 * finalization the interpreter frees the states of all threads but the main one. */
static inline uint64_t thread_state(void)
{
	uint64_t thread = (uint64_t)(uintptr_t)g.api.thread_state();
	if (__builtin_expect(!own.is_known, 0)) {
		own.is_main = gettid() == getpid();
		own.is_known = true;
	}
	if (own.is_main || !thread || __builtin_expect(!g.api.is_finalizing(), 1))
		return thread;
	return gettid() == getpid() ? thread : 0;
}

static inline uint64_t top_frame(const struct python_layout *l, uint64_t thread)
{
	uint64_t top = python_word(thread + l->thread_top);
	if (l->cframe_frame == ABSENT || !top)
		return top;
	return python_word(top + l->cframe_frame);
}

/* Returns whether a code object of the chain has been replaced by another at the same address since
 * it got its id. */
__attribute__((noinline, cold)) static bool have_codes_changed(uint64_t frame, uint32_t n)
{
	const struct python_layout *l = &g.layout;
	uint64_t epoch = python_code_epoch();
	if (!python_code_try_lock())
		return false;
	for (; frame && n; frame = python_word(frame + l->frame_previous)) {
		if (python_is_shim(l, frame))
			continue;
		python_code_check(&g.api, l, python_frame_code(l, frame));
		n--;
	}
	python_code_unlock();
	return python_code_epoch() != epoch;
}

HOT bool python_read(struct python_chain *chain)
{
	uint64_t thread;
	*chain = (struct python_chain){ 0 };
	if (!is_on() || !(thread = thread_state()))
		return false;
	uint64_t top = top_frame(&g.layout, thread);
	g.walk(&g.layout, top, g.depth, python_code_epoch(), chain);
	if (!python_is_identity_unique(&g.layout) &&
	    __builtin_expect(++own.reads % READS_PER_CHECK == 0, 0) &&
	    have_codes_changed(top, chain->n))
		g.walk(&g.layout, top, g.depth, python_code_epoch(), chain);
	return chain->n;
}

/* ---- Resolving ---- */

/* Returns the bytecode that a frame runs. A free-threaded thread may run its own copy, which the
 * frame's index selects (3.14 and later). */
static uint64_t bytecode_of(const struct python_layout *l, uint64_t frame, uint64_t code)
{
	int32_t index = l->frame_tlbc == ABSENT ? 0 : (int32_t)python_half(frame + l->frame_tlbc);
	if (index <= 0)
		return code + l->code_start;
	uint64_t copies = python_word(code + l->code_tlbc); /* the count, then the addresses */
	if (!copies || (uint64_t)index >= python_word(copies))
		return 0;
	return python_word(copies + 8 + 8 * (uint64_t)index);
}

/* Returns the last instruction in bytes; unknown for a frame that has not started. */
static uint32_t lasti_of(const struct python_layout *l, uint64_t frame, uint64_t code)
{
	uint64_t position = python_frame_position(l, frame), start;
	if (l->position != POSITION_ADDRESS) {
		uint32_t index = (uint32_t)position;
		if ((int32_t)index < 0)
			return FRAME_LASTI_UNKNOWN;
		return l->position == POSITION_UNITS ? 2 * index : index;
	}
	start = bytecode_of(l, frame, code);
	if (!start || position - start >= 2 * python_word(code + l->object_size))
		return FRAME_LASTI_UNKNOWN;
	return (uint32_t)(position - start);
}

/* Finds addresses within the evaluator's C frames: the k-th activation that runs Python frames has
 * the k-th of the linked _PyCFrames on its stack (3.10, 3.11). */
static void mark_by_cframes(const struct python_layout *l, struct python_frame *frames, uint32_t n)
{
	uint64_t cframe;
	if (l->thread_cframe == ABSENT)
		return;
	cframe = python_word((uint64_t)(uintptr_t)g.api.thread_state() + l->thread_cframe);
	for (uint32_t i = 0; cframe && i < n; i++)
		if (frames[i].is_entry) {
			frames[i].marker = cframe;
			cframe = python_word(cframe + l->cframe_previous);
		}
}

static bool is_entry(const struct python_layout *l, uint64_t frame)
{
	if (l->frame_is_entry != ABSENT)
		return python_byte(frame + l->frame_is_entry);
	return l->frame_owner == ABSENT; /* up to 3.10 each frame has its own activation */
}

/* Repeats the walk and resolves each frame. A shim is in its activation's C frame (3.12 and later).
 * Returns how many frames were found. */
static uint32_t resolve_frames(const struct python_chain *chain, struct python_frame *out)
{
	const struct python_layout *l = &g.layout;
	uint64_t thread = thread_state(), frame = thread ? top_frame(l, thread) : 0;
	uint32_t n = 0;
	for (; frame; frame = python_word(frame + l->frame_previous)) {
		if (python_is_shim(l, frame)) {
			if (n && !out[n - 1].is_entry) {
				out[n - 1].is_entry = true;
				out[n - 1].marker = frame;
			}
			continue;
		}
		if (n == chain->n)
			break;
		uint64_t code = python_frame_code(l, frame);
		out[n++] = (struct python_frame){
			.code = python_code_id(&g.api, l, code),
			.lasti = lasti_of(l, frame, code),
			.is_entry = is_entry(l, frame),
		};
	}
	mark_by_cframes(l, out, n);
	return n;
}

bool python_resolve(const struct python_chain *chain, struct python_frame *out, uint32_t *flags)
{
	int saved = errno;
	uint32_t n = 0;
	memset(out, 0, chain->n * sizeof(*out));
	if (chain->is_truncated)
		*flags |= STACK_PYTHON_TRUNCATED;
	if (g.layout.frame_owner == ABSENT && g.layout.thread_cframe == ABSENT)
		*flags |= STACK_BY_NAME;
	if (chain->n && is_on() && python_code_lock()) {
		n = resolve_frames(chain, out);
		python_code_unlock();
	}
	for (uint32_t i = n; i < chain->n; i++)
		out[i].lasti = FRAME_LASTI_UNKNOWN;
	errno = saved;
	return n == chain->n;
}
