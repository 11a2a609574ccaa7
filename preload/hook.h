/*
 * What all wrappers share: the switch that a wrapper tests first, the state of the calling thread,
 * and the inline functions that read them. The inline functions are on the hot path: they take no
 * lock, call no function except in rare cases, make no system call and keep errno.
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
 * The linker puts HOT functions next to each other, because each page of code that a call touches
 * may cost a TLB miss, up to 50 ns in a virtual machine.
 */
#define HOT __attribute__((hot))
/*
 * HOT_ENTRY_POINT is for the first function of a wrapper. It keeps all such functions of one `kind`
 * together, whatever file they are from, because GNU ld sorts sections of this name. HOT_DATA keeps
 * the data that these functions read in few pages.
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

/* A series of queries of the same object that all returned "not ready". */
struct hook_polls {
	uint32_t n;
	uint64_t ticks; /* end of the first query of the series */
	uint64_t what;	/* hash of the function and the object queried */
	/* journal cursor when the series began; differs if a record was written since */
	const uint8_t *cursor;
};

/*
 * A launch that was counted without being hashed (steps_passes()). Its token can still be computed
 * from these members.
 */
struct hook_passed {
	uint64_t function;
	uint32_t grid[3], block[3];
};

/* The members that every call needs are in the first two cache lines. */
struct hook_thread {
	/*
	 * Above 0 while the thread is inside a hooked call or this library. CUDA calls made
	 * meanwhile are passed on without a record. So nested calls are recorded once, and calls
	 * made by CUPTI or this library are not recorded.
	 */
	uint32_t depth;
	/*
	 * Calls with GPU work that make no token (core/runtime/token.h): memsets, and launches and
	 * copies that are captured into a graph. rec_call's `seq` is `fills` + `tokens`.
	 */
	uint32_t fills;
	/* launches and copies, counted while steps are counted (steps.h) */
	uint32_t tokens;
	uint8_t device; /* the runtime's current device (cudaSetDevice) */
	/* number of the current context: devices_context(); 0: a primary context, or unknown */
	uint8_t context;
	bool has_end; /* thread_ended() will run when the thread ends */
	/* the current call takes a stack, whatever hook_switch.stacks says */
	bool wants_stack;
	/* the thread has open ranges that are not in the journal: ranges.h */
	bool has_ranges_to_write;
	/* bits of the libraries in whose functions the thread is: libs.c */
	uint8_t libraries;
	uint32_t settled; /* how many of `tokens` have been hashed into `window` */
	/* stack pointer of the outermost wrapper's caller; NULL: not inside a real call */
	const void *entered;
	struct stack_thread *stacks; /* stack.h; NULL until the first stack is taken */
	struct journal_writer writer;
	struct token_window window;
	/* `seq` of the last announced call, and its CUPTI session: gpu.c */
	uint32_t announced, announced_in;
	/* number of the step that the thread noticed last: steps_see() */
	uint64_t step_seen;
	uint32_t tokens_then; /* value of `tokens` when the thread noticed that step */
	struct hook_polls polls;
	/* the thread is in a call that creates or destroys a context: gpu_teardown.h */
	bool in_context;
	bool stopped_gpu; /* GPU timing is off while the thread creates a context: steps.h */
	/* recorded calls used the thread's own default stream, so its slot is not passed on */
	bool has_own_stream;
	/* index in host.c's table of threads, plus 1; 0: none */
	uint16_t host_entry;
	char name[16];	  /* the thread's name at its first recorded call; empty: unknown */
	uint32_t product; /* the matrix product that the thread captures: as in struct rec_node */
	bool is_helper;	  /* the thread is CUPTI's own, which has no calls: lanes.h */
	bool calls_cupti; /* the thread calls CUPTI for profrun: gpu_yield.h */
	/*
	 * the last two launches that are not in `window` yet; token number n, from 0, is at n % 2
	 */
	struct hook_passed passed[2] __attribute__((aligned(64)));
} __attribute__((aligned(64)));

extern THREAD_LOCAL struct hook_thread hook_thread;

/*
 * Returns the address of hook_thread. Keeps it in a register, because otherwise GCC would read the
 * thread's base address again for each access to an array in the struct.
 */
static inline __attribute__((always_inline)) struct hook_thread *hook_thread_here(void)
{
	struct hook_thread *t = &hook_thread;
	__asm__("" : "+r"(t));
	return t;
}

/*
 * What step counting reads at every launch (steps.h). It is a part of struct hook_switch, so that
 * it lies in the cache line that the wrapper has already read.
 */
struct steps_hot {
	_Atomic uint64_t anchor; /* hash of three tokens after which a step ends; 0: none */
	/* ends the step if the anchor is missing (core/runtime/iteration.h); 0: none */
	_Atomic uint64_t backup;
	/*
	 * The functions whose launches complete anchor and backup. STEPS_NO_FUNCTION: a copy or a
	 * graph launch completes it. 0: not seen yet.
	 */
	_Atomic uint64_t anchor_function, backup_function;
	_Atomic bool passes;	/* launches of other functions need not be hashed */
	_Atomic bool attention; /* the next launch or copy must go to steps_notice() */
	_Atomic bool ranges;	/* PROF_STEP=nvtx: a range that begins may begin a step */
};

enum hook_setup {
	HOOK_NOT_SET_UP,
	/* life_arm() has set the library up, but the driver was not initialized yet */
	HOOK_AWAITS_DRIVER,
	HOOK_SET_UP,
};

/*
 * Bit CAT_* of `watch`, `record` and `stacks` stands for a category. `watch` is all ones until the
 * first hooked call, which sets the library up.
 */
struct hook_switch {
	_Atomic uint32_t watch;	 /* categories whose calls are counted, journaled or both */
	_Atomic uint32_t record; /* categories whose calls are journaled */
	_Atomic uint32_t stacks; /* journaled categories whose calls take a stack */
	_Atomic uint8_t setup;	 /* enum hook_setup */
	/* PROF_STEP=kernel: a launch begins a step if its kernel's name matches */
	_Atomic bool begins_by_name;
	_Atomic bool push;	   /* GPU timing is on: calls with GPU work are announced */
	_Atomic bool ranges;	   /* the application's own ranges are journaled */
	_Atomic uint8_t libraries; /* libraries whose calls are journaled: libs.c */
	_Atomic uint8_t blocks;	   /* enum blocks_mode */
	/* number of streams that began a capture and have not ended it: graphs.h */
	_Atomic uint16_t captures;
	uint32_t clock_kind;
	struct steps_hot steps;
};

_Static_assert(sizeof(struct hook_switch) == 64, "one cache line");

extern struct hook_switch hook_switch;

/*
 * Returns whether the thread has left its previous hooked call by longjmp or an exception. If so,
 * resets the thread's depth. `frame`: stack pointer of the caller of the current wrapper. Not on
 * the hot path.
 */
bool hook_was_left(const void *frame);

static inline bool hook_watches(unsigned category)
{
	return atomic_load_explicit(&hook_switch.watch, memory_order_relaxed) >> category & 1;
}

/*
 * Returns whether a call is made from within another hooked call. `frame`: stack pointer of the
 * caller of the current wrapper.
 */
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

/* Returns whether any stream captures. */
static inline bool hook_captures(void)
{
	return UNLIKELY(atomic_load_explicit(&hook_switch.captures, memory_order_relaxed));
}

static inline bool hook_begins_by_name(void)
{
	return UNLIKELY(atomic_load_explicit(&hook_switch.begins_by_name, memory_order_relaxed));
}

/*
 * Returns whether this call takes a stack, because of its category or of wants_stack, which is then
 * cleared.
 */
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
	/* driver functions: CUDA version of the signature, divided by 10 to fit */
	uint16_t version;
	uint8_t is_twin; /* per-thread-default-stream twin */
	uint8_t entry_point, category, space;
	void *wrapper;
	/* where the real function's address is stored; NULL there: unknown */
	_Atomic(void *) *real;
};

extern const struct hook_row hook_rows[HOOK_COUNT];

/*
 * Gives the thread a slot in the journal, and arranges that thread_ended() runs when the thread
 * ends. Called once per thread, not on the hot path.
 */
void hook_thread_keep(void);

/*
 * Does what hook_thread_keep() does, but lets the thread continue the records of an ended thread
 * (lanes.h). Call before the current call takes its number.
 */
void hook_thread_begin(void);

#endif
