/*
 * Reads the calling thread's Python frames. Reading them without the GIL is safe for two reasons.
 * Only the thread itself changes its chain of frames, and it is executing this code. The frames own
 * their code objects, whose names, lines and bytecode never change. Of the data that
 * other threads may change, only the bytecode is read, which they specialize: each instruction is
 * right before and after. Caches and reference counts are not used.
 *
 * Two risks remain. A daemon thread may pass the check for finalization at the very moment when the
 * main thread frees the daemon thread's state; it then reads freed memory (never seen in 280 exits
 * with eight threads reading all the time). And up to 3.11, a thread inside a subinterpreter shows
 * the frames of the interpreter that it used first.
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
	STATE_OFF,   /* not started, or verification failed; never left after a failure */
	STATE_NONE,  /* no Python found; look again when more objects are loaded */
	STATE_LOOK,  /* a Python may be loaded */
	STATE_FOUND, /* a Python is loaded, but its frames are not verified yet */
	STATE_ON,
};

static struct {
	/* The members from here to `state` are what every read needs: two cache lines, one of which
	 * is the layout. */
	_Alignas(64) struct python_layout layout;
	python_walk *walk;
	uint32_t depth;
	_Atomic uint32_t state; /* enum state */
	struct python_api api;
	/* The thread that looks for Python or verifies frames holds this. Other threads record no
	 * Python frames until it has finished. */
	atomic_flag busy;
	char version[24];
} g = { .busy = ATOMIC_FLAG_INIT };

/* How often a thread compares its code objects with the ids that they got. Only needed up to 3.11,
 * where the hash of a chain may miss a replaced code object. One comparison takes 400 ns for 20
 * frames in the cache, and 2.5 us for 7 frames in a PyTorch step: 2 to 10 ns per read. */
enum { READS_PER_CHECK = 256 };
static _Thread_local struct {
	uint32_t reads;
	/* is_known: is_main is set. is_main: this is the main thread; stays valid in a forked
	 * child */
	bool is_known, is_main;
	/* the thread's PyThreadState when its frames were read last; another thread samples it */
	_Atomic uint64_t state;
} own;

const void *python_state_place(void)
{
	return &own.state;
}

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
	/* set first, so that a concurrent python_objects_changed() is not lost */
	set_state(STATE_NONE);
	if (!python_find(&g.api))
		return;
	const char *why = python_layout_choose(&g.api, &g.layout);
	describe_version();
	if (!why &&
	    !(g.api.code_type && g.api.text_type && g.api.bytes_type && g.api.is_finalizing))
		why = "the interpreter does not export the required symbols";
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
	case PYTHON_NO_FRAMES: /* the thread runs no Python code; the next thread is tried */
		break;
	case PYTHON_DOUBTFUL:
		turn_off("the interpreter's frames do not match the known layout of this version");
		break;
	case PYTHON_VERIFIED:
		journal_put_info("python", g.version);
		log_line(LOG_INFO, "Python %s: frames can be read", g.version);
		set_state(STATE_ON);
	}
}

const struct python_layout *python_layout_verified(const struct python_api **api)
{
	*api = &g.api;
	return atomic_load_explicit(&g.state, memory_order_acquire) == STATE_ON ? &g.layout : NULL;
}

/* Returns whether frames can be read now. Rarely called, except by threads without Python frames in
 * a process that has not run Python code yet. */
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
	/* a forked child writes the version to its own, new journal */
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

/* Returns the calling thread's state. Returns 0 if the thread has no state, or if the state must
 * not be used any more: at finalization the interpreter frees the states of all threads except the
 * main thread. */
static inline uint64_t thread_state(void)
{
	uint64_t thread = (uint64_t)(uintptr_t)g.api.thread_state();
	if (__builtin_expect(!own.is_known, 0)) {
		own.is_main = gettid() == getpid();
		own.is_known = true;
	}
	atomic_store_explicit(&own.state, thread, memory_order_relaxed);
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

/* Returns whether a code object of the chain has been replaced by another one at the same address
 * since the address got its id. */
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

/* Returns the address of the bytecode that a frame runs; 0 if it is not found. In a free-threaded
 * Python, a thread may run its own copy of the bytecode; the frame then has the index of the copy
 * (3.14 and later). */
static uint64_t bytecode_of(const struct python_layout *l, uint64_t frame, uint64_t code)
{
	int32_t index = l->frame_tlbc == ABSENT ? 0 : (int32_t)python_half(frame + l->frame_tlbc);
	if (index <= 0)
		return code + l->code_start;
	/* the number of copies, followed by their addresses */
	uint64_t copies = python_word(code + l->code_tlbc);
	if (!copies || (uint64_t)index >= python_word(copies))
		return 0;
	return python_word(copies + 8 + 8 * (uint64_t)index);
}

/* Returns the offset of the frame's last instruction in bytes, FRAME_LASTI_UNKNOWN if the frame has
 * not started. */
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

/* Sets `marker` of the frames to an address within the C frame of the evaluator that runs them
 * (3.10, 3.11). Each activation of the evaluator has a _PyCFrame on its C stack, and these are
 * linked. The k-th activation with Python frames has the k-th _PyCFrame. */
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
	/* up to 3.10, each Python frame has its own activation of the evaluator */
	return l->frame_owner == ABSENT;
}

/* Walks the chain again and resolves each frame. A shim frame lies in the C frame of its activation
 * of the evaluator (3.12 and later), so its address becomes the marker. Returns how many frames
 * were found. */
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
