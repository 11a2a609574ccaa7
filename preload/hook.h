/*
 * What every wrapper shares: the switch that it tests first, the thread's state, and the few inline steps around the real
 * call. Hot path: no lock, no call, no system call, errno untouched.
 */
#ifndef PRELOAD_HOOK_H
#define PRELOAD_HOOK_H

#include "core/runtime/clock.h"
#include "core/runtime/journal.h"
#include "core/runtime/record.h"
#include "core/runtime/token.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define EXPORT __attribute__((visibility("default")))
/* Such functions stand together: each page of code that a call touches is a miss of the TLB, up to 50 ns in a virtual machine. */
#define HOT __attribute__((hot))
/* What a wrapper begins with: those of a kind side by side, whatever file they are from (GNU ld sorts such sections by name); and what all of
 * them look at, in few pages, too. */
#define HOT_ENTRY_POINT(kind) __attribute__((section(".text.sorted.door." kind)))
#define HOT_DATA	      __attribute__((section(".data.hot")))
#define LIKELY(x)	      __builtin_expect(!!(x), 1)
#define UNLIKELY(x)	      __builtin_expect(!!(x), 0)

/* Initial-exec: the library is preloaded, so its block is there from a thread's first instruction, and reaching it calls
 * nothing; a global-dynamic variable would call __tls_get_addr, which may allocate. */
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

/* Unsuccessful queries in a row. */
struct hook_polls {
	uint32_t n;
	uint64_t ticks, what;  /* the end of the first; what they asked for */
	const uint8_t *cursor; /* the journal's end then: whether another record came since */
};

/* A launch that was let by (steps_passes): what its token is made of. */
struct hook_passed {
	uint64_t function;
	uint32_t grid[3], block[3];
};

/* Two cache lines, what every call needs first; behind them what some do. */
struct hook_thread {
	/* Above 0 inside a hooked call and inside the library: what is called from there is passed on unseen, so that
	 * nested calls count once and CUPTI's or the library's own calls never. */
	uint32_t depth;
	uint32_t fills;	  /* calls with GPU work that are no tokens, counted while tokens are */
	uint32_t tokens;  /* launches and copies, counted while steps are (steps.h) */
	uint8_t device;	  /* of the runtime, as cudaSetDevice left it */
	bool has_end;	  /* the key whose destructor hands the chunk over is set */
	bool wants_stack; /* of the call that is being made, whatever hook_switch.stacks says */
	bool has_ranges_to_write; /* open ranges that the journal does not have: ranges.h */
	uint8_t libraries;	  /* whose functions the thread is in: libs.c */
	uint32_t
		settled; /* of `tokens`, those that are in `window`; the last two behind them are in `passed` */
	const void *
		entered; /* the stack pointer of who called the wrapper whose function is being called; NULL: in none */
	struct stack_thread *stacks; /* stack.h; NULL until the first one is taken */
	struct journal_writer writer;
	struct token_window window;
	uint32_t announced, announced_in; /* the call that gpu_push was last told of; gpu.c */
	uint64_t step_seen;		  /* the step under way when `tokens` was looked at */
	uint32_t tokens_then;		  /* when that step was first seen */
	struct hook_polls polls;
	bool in_context;  /* in a call that makes or ends a context: gpu_teardown.h */
	bool calls_cupti; /* on profrun's behalf: gpu_yield.h */
	struct hook_passed passed[2] __attribute__((aligned(64))); /* by their number's parity */
} __attribute__((aligned(64)));

extern THREAD_LOCAL struct hook_thread hook_thread;

/* Its address, kept in a register: GCC asks for the thread's base anew for each of its fields that is an array's. */
static inline __attribute__((always_inline)) struct hook_thread *hook_thread_here(void)
{
	struct hook_thread *t = &hook_thread;
	__asm__("" : "+r"(t));
	return t;
}

/* What counting steps looks at with every launch (steps.h), in the switch's cache line, which a call has fetched by then. */
struct steps_hot {
	_Atomic uint64_t anchor; /* hash of three tokens after which a step ends; 0: none */
	_Atomic uint64_t backup; /* one that stands in for it (core/runtime/turn.h); 0: none */
	/* of the launch that completes either; another call's: STEPS_NO_FUNCTION; 0: not seen yet */
	_Atomic uint64_t anchor_function, backup_function;
	_Atomic bool passes;	/* launches of other functions need no look */
	_Atomic bool attention; /* the next token is to be looked at more closely */
	_Atomic bool ranges;	/* PROF_STEP=nvtx: ranges that begin may begin a step */
};

/* Bits are 1u << CAT_*. All ones before the first call: it arms. */
struct hook_switch {
	_Atomic uint32_t watch;	 /* categories that the wrappers look at in any way */
	_Atomic uint32_t record; /* categories that go into the journal */
	_Atomic uint32_t stacks; /* of them, those that take a stack */
	_Atomic bool recorded;	 /* life_arm has been through */
	_Atomic bool
		begins_by_name; /* PROF_STEP=kernel: launches are looked up before they are made */
	_Atomic bool push; /* GPU timing is on: calls that make GPU work are announced (gpu_push) */
	_Atomic bool ranges; /* the application's own ranges go into the journal */
	_Atomic uint8_t
		libraries; /* bits of enum record_library: their calls go into the journal */
	_Atomic uint8_t
		blocks; /* enum blocks_mode: what is done with a framework's memory reports */
	uint32_t clock_kind;
	struct steps_hot steps;
};

extern struct hook_switch hook_switch;

/* Whether the thread is in no hooked call after all: it left one by longjmp or an exception. `frame`: the stack pointer of
 * who called the wrapper that asks. Cold. */
bool hook_was_left(const void *frame);

static inline bool hook_watches(unsigned category)
{
	return atomic_load_explicit(&hook_switch.watch, memory_order_relaxed) >> category & 1;
}

/* Whether a call is made from within another one. `frame`: as above. */
static inline bool hook_is_nested(const void *frame)
{
	return hook_thread.depth && !(hook_thread.entered && hook_was_left(frame));
}

static inline bool hook_records(unsigned category)
{
	return atomic_load_explicit(&hook_switch.record, memory_order_relaxed) >> category & 1;
}

static inline bool hook_takes_stack(unsigned category)
{
	return atomic_load_explicit(&hook_switch.stacks, memory_order_relaxed) >> category & 1;
}

static inline bool hook_begins_by_name(void)
{
	return UNLIKELY(atomic_load_explicit(&hook_switch.begins_by_name, memory_order_relaxed));
}

/* The same, or this very call is to take one. */
static inline bool hook_asks_stack(unsigned category)
{
	if (hook_takes_stack(category))
		return true;
	if (LIKELY(!hook_thread.wants_stack))
		return false;
	hook_thread.wants_stack = false;
	return true;
}

static inline uint64_t hook_ticks(void)
{
	return clock_ticks(hook_switch.clock_kind);
}

/* The rows of hooks.def. */
enum hook_id {
#define HOOK(ret, symbol, ...) HOOK_##symbol,
#include "preload/hooks.def"
#undef HOOK
	HOOK_COUNT
};

struct hook_row {
	const char *symbol, *name;
	uint16_t version; /* driver: the version that cuGetProcAddress is asked for, / 10 to fit */
	uint8_t is_twin;
	uint8_t entry_point, category, space;
	void *wrapper;
	_Atomic(void *) *real;
};

extern const struct hook_row hook_rows[HOOK_COUNT];

/* Gives the thread its slot, and sees to it that its chunk is handed over when the thread ends. Cold, once a thread. */
void hook_thread_keep(void);

#endif
