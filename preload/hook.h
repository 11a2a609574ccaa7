/*
 * Shared by all wrappers: the switch that they test first, the thread's state, and the inline code
 * around the real call. Hot path: takes no lock, makes no call and no system call, keeps errno.
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
/*
 * The linker puts HOT functions next to each other: each page of code that a call touches costs a
 * TLB miss, up to 50 ns in a virtual machine.
 */
#define HOT __attribute__((hot))
/*
 * For the first function of a wrapper: keeps those of one kind together, whatever file they are
 * from (GNU ld sorts such sections by name). HOT_DATA keeps the data that they read in few pages.
 */
#define HOT_ENTRY_POINT(kind) __attribute__((section(".text.sorted.entry." kind)))
#define HOT_DATA	      __attribute__((section(".data.hot")))
#define LIKELY(x)	      __builtin_expect(!!(x), 1)
#define UNLIKELY(x)	      __builtin_expect(!!(x), 0)

/*
 * Initial-exec: the library is preloaded, so its TLS block exists from a thread's first instruction
 * on, and access needs no call. Access to a global-dynamic variable would call __tls_get_addr,
 * which may allocate.
 */
#define THREAD_LOCAL __thread __attribute__((tls_model("initial-exec")))

/* A series of queries of the same thing that all returned "not ready". */
struct hook_polls {
	uint32_t n;
	uint64_t ticks;	       /* end of the first query */
	uint64_t what;	       /* what was queried */
	const uint8_t *cursor; /* end of the journal then; differs if a record was written since */
};

/* A launch that was counted without being hashed (steps_passes): the input of its token. */
struct hook_passed {
	uint64_t function;
	uint32_t grid[3], block[3];
};

/* The first two cache lines have what every call needs first. */
struct hook_thread {
	/*
	 * Above 0 inside a hooked call and inside the library. Calls made from there are passed on
	 * unrecorded, so nested calls count once, and CUPTI's and the library's own calls never.
	 */
	uint32_t depth;
	uint32_t fills;		  /* calls with GPU work that are no tokens; counted with tokens */
	uint32_t tokens;	  /* launches and copies; counted while steps are (steps.h) */
	uint8_t device;		  /* the runtime's current device (cudaSetDevice) */
	bool has_end;		  /* thread_ended() will run: its key is set */
	bool wants_stack;	  /* the current call takes a stack, despite hook_switch.stacks */
	bool has_ranges_to_write; /* has open ranges that are not in the journal: ranges.h */
	uint8_t libraries;	  /* libraries whose functions the thread is in: libs.c */
	uint32_t settled;	  /* how many of `tokens` are hashed into `window` */
	const void *entered;	  /* stack pointer of the outermost wrapper's caller; NULL: none */
	struct stack_thread *stacks; /* stack.h; NULL until the first stack is taken */
	struct journal_writer writer;
	struct token_window window;
	uint32_t announced, announced_in; /* number and session of the last gpu_push: gpu.c */
	uint64_t step_seen;		  /* the step under way at the last look at `tokens` */
	uint32_t tokens_then;		  /* `tokens` when that step was first seen */
	struct hook_polls polls;
	bool in_context;  /* in a call that creates or destroys a context: gpu_teardown.h */
	bool calls_cupti; /* calls CUPTI on profrun's behalf: gpu_yield.h */
	/* the last two launches not in `window` yet, at index `tokens` % 2 */
	struct hook_passed passed[2] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

extern THREAD_LOCAL struct hook_thread hook_thread;

/*
 * Returns the address of hook_thread, kept in a register: GCC would read the thread's base again
 * for each access to an array in it.
 */
static inline __attribute__((always_inline)) struct hook_thread *hook_thread_here(void)
{
	struct hook_thread *t = &hook_thread;
	__asm__("" : "+r"(t));
	return t;
}

/*
 * What step counting reads at every launch (steps.h). Kept in the switch's cache line, which a call
 * has fetched by then.
 */
struct steps_hot {
	_Atomic uint64_t anchor; /* hash of three tokens after which a step ends; 0: none */
	_Atomic uint64_t backup; /* replaces a missing anchor (core/runtime/iteration.h); 0: none */
	/* function whose launch completes them; not a launch: STEPS_NO_FUNCTION; 0: not seen yet */
	_Atomic uint64_t anchor_function, backup_function;
	_Atomic bool passes;	/* launches of other functions need not be hashed */
	_Atomic bool attention; /* the next token must go to steps_notice() */
	_Atomic bool ranges;	/* PROF_STEP=nvtx: a range that begins may begin a step */
};

/* Bits are 1u << CAT_*. `watch` is all ones before the first call, which sets the library up. */
struct hook_switch {
	_Atomic uint32_t watch;	     /* categories that the wrappers handle in any way */
	_Atomic uint32_t record;     /* categories that are journaled */
	_Atomic uint32_t stacks;     /* categories of them whose calls take a stack */
	_Atomic bool recorded;	     /* life_arm() is done */
	_Atomic bool begins_by_name; /* PROF_STEP=kernel: launches are looked up by name first */
	_Atomic bool push;	     /* GPU timing is on: calls with GPU work are announced */
	_Atomic bool ranges;	     /* the application's own ranges are journaled */
	_Atomic uint8_t libraries;   /* libraries whose calls are journaled: 1 << LIB_* */
	_Atomic uint8_t blocks;	     /* enum blocks_mode */
	uint32_t clock_kind;
	struct steps_hot steps;
};

extern struct hook_switch hook_switch;

/*
 * Returns whether the thread has left its hooked call by longjmp or an exception, and then resets
 * the depth. `frame`: stack pointer of the caller of the current wrapper. Cold.
 */
bool hook_was_left(const void *frame);

static inline bool hook_watches(unsigned category)
{
	return atomic_load_explicit(&hook_switch.watch, memory_order_relaxed) >> category & 1;
}

/* Returns whether a call is made from within another hooked call. `frame`: as above. */
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

/* Returns whether this call takes a stack: by its category, or because wants_stack is set. */
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

enum hook_id {
#define HOOK(ret, symbol, ...) HOOK_##symbol,
#include "preload/hooks.def"
#undef HOOK
	HOOK_COUNT
};

struct hook_row {
	const char *symbol, *name;
	uint16_t version; /* driver: version passed to cuGetProcAddress, divided by 10 to fit */
	uint8_t is_twin;
	uint8_t entry_point, category, space;
	void *wrapper;
	_Atomic(void *) *real;
};

extern const struct hook_row hook_rows[HOOK_COUNT];

/* Gives the thread a slot in the journal and arranges thread_ended(). Cold, once per thread. */
void hook_thread_keep(void);

#endif
