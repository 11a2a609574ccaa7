/*
 * The wrappers. Every row of hooks.def becomes an exported function here. A wrapper decides nothing
 * itself: it tests the switch, records the facts that the row names, makes the real call between
 * two clock readings, and writes one record. The application's errno, result and arguments pass
 * through unchanged.
 */
/* makes the headers declare every symbol by its real name, twins included */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "core/runtime/log.h"
#include "preload/births.h"
#include "preload/capture.h"
#include "preload/gpu.h"
#include "preload/gpu_teardown.h"
#include "preload/graphs.h"
#include "preload/hook.h"
#include "preload/host.h"
#include "preload/lanes.h"
#include "preload/life.h"
#include "preload/lookup.h"
#include "preload/ranges.h"
#include "preload/stack.h"
#include "preload/steps.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

THREAD_LOCAL struct hook_thread hook_thread;

__attribute__((aligned(64))) struct hook_switch hook_switch = { .watch = UINT32_MAX, .record = 0 };

/*
 * Pointers to the real functions, set on demand. They are typed, so that the compiler checks each
 * call.
 */
static HOT_DATA struct {
#define HOOK(ret, symbol, name, version, twin, entry_point, check, category, space, params, ...) \
	ret(*symbol) params;
#include "preload/hooks.def"
#undef HOOK
} real;

/* The error returned when the CUDA library is missing. */
enum { MISSING_RUNTIME = cudaErrorUnknown, MISSING_DRIVER = CUDA_ERROR_NOT_INITIALIZED };

/*
 * Sets `seq` of a call with GPU work. Most of these calls make a token, which was counted already;
 * the others are counted here. Calls that are counted but not recorded take numbers as well, so a
 * gap between two recorded numbers shows how many calls are missing.
 */
HOT static inline void take_number(struct rec_call *c, unsigned category)
{
	bool has_work = record_gpu_work >> category & 1;
	if (has_work && !(RECORD_TOKENS >> category & 1))
		hook_thread.fills++;
	if (has_work)
		c->seq = hook_thread.tokens + hook_thread.fills;
}

/* Notes whether the call uses the calling thread's own default stream. `symbol`: a literal. */
static inline __attribute__((always_inline)) void note_own_stream(const struct rec_call *c,
								  const char *symbol, size_t n)
{
	bool is_twin = n > 5 &&
		       (!strcmp(&symbol[n - 5], "_ptsz") || !strcmp(&symbol[n - 5], "_ptds"));
	if (is_twin || UNLIKELY(c->stream == (uintptr_t)cudaStreamPerThread))
		hook_thread.has_own_stream = true;
}

HOT static inline void call_begin(struct rec_call *c, bool pushed)
{
	if (pushed) {
		if (UNLIKELY(!hook_thread.writer.slot))
			hook_thread_keep();
		gpu_push((uint64_t)hook_thread.writer.slot << 32 | c->seq);
	}
	/*
	 * the thread last touched these in its previous call, so they are probably not in the cache
	 */
	__builtin_prefetch(hook_thread.writer.chunk, 1);
	__builtin_prefetch(hook_thread.stacks);
	c->begin_ticks = hook_ticks();
}

/*
 * Returns whether a query needs no record, because it returned "not ready". Polling loops would
 * otherwise fill the journal. A series is several such queries of the same object, with no other
 * record of the thread in between. The query that ends the series is recorded, with the number of
 * queries in the series and the time since the first one.
 */
static inline bool is_idle_poll(struct rec_call *c, uint32_t status, uint64_t end_ticks)
{
	struct hook_polls *p = &hook_thread.polls;
	uint64_t what = c->arg ^ c->stream ^ c->hook;
	bool goes_on = p->n && p->what == what && p->cursor == hook_thread.writer.cursor;
	if (status != cudaErrorNotReady) {
		c->detail = goes_on ? p->n : 0;
		c->seq = goes_on ? (uint32_t)((c->begin_ticks - p->ticks) >> REC_POLLED_SHIFT) : 0;
		p->n = 0;
		return false;
	}
	if (!goes_on)
		*p = (struct hook_polls){ 0, end_ticks, what, hook_thread.writer.cursor };
	p->n++;
	return true;
}

static inline void put_word(uint64_t *to, uint64_t word)
{
	__atomic_store_n(to, word, __ATOMIC_RELAXED);
}

/*
 * Copies a record to the journal. The words with fields that have just been set are built in
 * registers, and the other words are copied one by one. A vector load would wait 12 ns for the
 * separate stores of the fields. `stack` may be taken after the real call, because the real call
 * leaves the frames of its callers unchanged.
 */
static inline void fill_call(uint64_t *to, const struct rec_call *c, uint32_t stack,
			     uint64_t outcome)
{
	_Static_assert(sizeof(*c) == 6 * 8, "copies every word");
	const uint64_t *from = (const uint64_t *)(const void *)c;
	const uint64_t head = REC_CALL | sizeof(*c) / 8 << 8 | (uint64_t)c->hook << 16;
	put_word(to, head | (uint64_t)stack << 32);
	put_word(to + 1, c->begin_ticks);
	put_word(to + 2, outcome);
	for (int i = 3; i < 6; i++)
		put_word(to + i, from[i]);
}

enum { MOST_STATUS = (1 << 10) - 1 }; /* CUDA's result codes are less than 1,000 */

HOT static void write_call(const struct rec_call *c, uint32_t stack, uint32_t status,
			   uint64_t end_ticks)
{
	uint64_t outcome = record_pack_duration(end_ticks - c->begin_ticks) |
			   (uint64_t)(status < MOST_STATUS ? status : MOST_STATUS) << 40 |
			   (uint64_t)hook_thread.context << 50 | (uint64_t)hook_thread.device << 56;
	ranges_before_record();
	struct journal_writer *w = &hook_thread.writer;
	uint64_t *to = journal_reserve(w, REC_CALL, sizeof(*c));
	if (UNLIKELY(!hook_thread.has_end))
		hook_thread_keep();
	if (UNLIKELY(!to))
		return;
	fill_call(to, c, stack, outcome);
	journal_commit(w, sizeof(*c));
}

enum { CALLERS_MOST_BYTES = 256 << 10 };

/*
 * A caller's frame has a higher address than its callee's frame. So a call made from a frame at or
 * above that of the previous hooked call's caller cannot be nested in that call. Addresses say
 * nothing on another stack, of a signal handler or a coroutine, but such a stack is further away
 * than CALLERS_MOST_BYTES.
 */
bool hook_was_left(const void *frame)
{
	stack_t handlers;
	uintptr_t above = (uintptr_t)frame - (uintptr_t)hook_thread.entered;
	if (above > CALLERS_MOST_BYTES ||
	    (!sigaltstack(NULL, &handlers) && handlers.ss_flags & SS_ONSTACK))
		return false;
	hook_thread.depth = 0;
	hook_thread.entered = NULL;
	log_once(LOG_WARN, "longjmp or an exception left a CUDA call before it returned: CUDA "
			   "calls that this thread made since then may be missing");
	return true;
}

/*
 * Declares `next`, the real function. Makes the wrapper return MISSING_* if there is none. If the
 * process has two CUDA runtimes, the caller of the wrapper determines which one is meant; `real` is
 * then NULL.
 */
#define FIND_REAL(symbol, ret, entry_point)                                                       \
	__typeof__(real.symbol) next = __atomic_load_n(&real.symbol, __ATOMIC_RELAXED);           \
	if (UNLIKELY(!next))                                                                      \
		next = (__typeof__(next))lookup_real(HOOK_##symbol, __builtin_return_address(0)); \
	if (UNLIKELY(!next))                                                                      \
	return (ret)MISSING_##entry_point

/*
 * Each row becomes three functions, so that the first one, in which most calls end, has few
 * registers to save. It jumps to the others and to the real function without a stack frame (GCC's
 * sibling calls). The stack then looks as if the caller of the wrapper had called them directly.
 *
 * hooked_: the exported function. A call that is not watched costs only its tests (1.1 ns).
 *	While steps are only counted, most launches end here, too: capture_launch() sets `seq`
 *	to true if the launch need not be hashed.
 * aside_: handles nested calls, and calls whose real function is not known yet or depends on the
 *	caller.
 * watched_: handles all other calls. While another thread sets the library up, a call is not
 *	recorded. Then the wrapper keeps only what its thread must remember (device, kernel
 *	names), because that needs no setup.
 */
#define HOOK(ret, symbol, name, version, twin, entry_point_, check, category_, space, params,   \
	     args, before, after)                                                               \
	static ret aside_##symbol params, watched_##symbol params;                              \
	EXPORT ret hooked_##symbol params __asm__(#symbol);                                     \
	HOT_ENTRY_POINT(#category_) ret hooked_##symbol params                                  \
	{                                                                                       \
		__typeof__(real.symbol) next = __atomic_load_n(&real.symbol, __ATOMIC_RELAXED); \
		if (UNLIKELY(!next))                                                            \
			return aside_##symbol args;                                             \
		if (LIKELY(!hook_watches(CAT_##category_)))                                     \
			return next args;                                                       \
		struct hook_thread *t = hook_thread_here();                                     \
		if (UNLIKELY(t->depth))                                                         \
			return aside_##symbol args;                                             \
		if (CAT_##category_ == CAT_LAUNCH && UNLIKELY(steps_let_by())) {                \
			struct rec_call facts, *c = &facts;                                     \
			struct launch_shape *const shape = NULL;                                \
			(void)shape;                                                            \
			c->seq = false;                                                         \
			before;                                                                 \
			if (LIKELY(c->seq)) {                                                   \
				t->depth = 1;                                                   \
				t->entered = __builtin_dwarf_cfa();                             \
				ret status = next args;                                         \
				t->entered = NULL;                                              \
				t->depth = 0;                                                   \
				return status;                                                  \
			}                                                                       \
		}                                                                               \
		return watched_##symbol args;                                                   \
	}                                                                                       \
	static __attribute__((noinline)) ret aside_##symbol params                              \
	{                                                                                       \
		if (hook_watches(CAT_##category_) && !hook_is_nested(__builtin_dwarf_cfa()))    \
			return watched_##symbol args;                                           \
		FIND_REAL(symbol, ret, entry_point_);                                           \
		return next args;                                                               \
	}                                                                                       \
	HOT static __attribute__((noinline)) ret watched_##symbol params                        \
	{                                                                                       \
		FIND_REAL(symbol, ret, entry_point_);                                           \
		struct rec_call call = { .hook = HOOK_##symbol }, *c = &call;                   \
		struct launch_shape shape_of_call, *shape = &shape_of_call;                     \
		shape->function = 0;                                                            \
		hook_thread.depth = 1;                                                          \
		if (CAT_##category_ == CAT_CAPTURE || CAT_##category_ == CAT_GRAPH) {           \
			steps_before_graph(CAT_##category_ == CAT_GRAPH);                       \
			gpu_teardown_graph();                                                   \
		}                                                                               \
		if (UNLIKELY(!atomic_load_explicit(&hook_switch.setup, memory_order_acquire) && \
			     !life_arm())) {                                                    \
			hook_thread.entered = __builtin_dwarf_cfa();                            \
			ret status = next args;                                                 \
			hook_thread.entered = NULL;                                             \
			if (CAT_##category_ == CAT_CONTROL) {                                   \
				after;                                                          \
			}                                                                       \
			hook_thread.depth = 0;                                                  \
			return status;                                                          \
		}                                                                               \
		if (UNLIKELY(!hook_thread.has_end) && hook_records(CAT_##category_))            \
			hook_thread_begin();                                                    \
		before;                                                                         \
		bool recorded = hook_records(CAT_##category_);                                  \
		bool pushed = recorded && (record_gpu_work >> CAT_##category_ & 1) &&           \
			      atomic_load_explicit(&hook_switch.push, memory_order_relaxed);    \
		bool stacked = recorded && hook_asks_stack(CAT_##category_);                    \
		take_number(c, CAT_##category_);                                                \
		bool captures = (RECORD_NODES >> CAT_##category_ & 1) && hook_captures();       \
		if (recorded) {                                                                 \
			note_own_stream(c, #symbol, sizeof(#symbol) - 1);                       \
			call_begin(c, pushed);                                                  \
		} else if (captures) {                                                          \
			c->begin_ticks = hook_ticks();                                          \
		}                                                                               \
		hook_thread.entered = __builtin_dwarf_cfa();                                    \
		ret status = next args;                                                         \
		hook_thread.entered = NULL;                                                     \
		uint64_t end_ticks = recorded ? hook_ticks() : 0;                               \
		if (pushed)                                                                     \
			gpu_pop();                                                              \
		after;                                                                          \
		if (CAT_##category_ == CAT_LAUNCH && recorded)                                  \
			capture_shape(c->arg, shape);                                           \
		if (captures && !status)                                                        \
			graphs_called(c, shape, CALLER_REGS);                                   \
		if (recorded && !(CAT_##category_ == CAT_QUERY &&                               \
				  is_idle_poll(c, (uint32_t)status, end_ticks)))                \
			write_call(c, stacked ? stack_take(CALLER_REGS) : 0, (uint32_t)status,  \
				   end_ticks);                                                  \
		if (CAT_##category_ == CAT_SYNC && UNLIKELY(steps_wants_syncs()))               \
			steps_synced();                                                         \
		if (CAT_##category_ != CAT_LAUNCH && CAT_##category_ != CAT_QUERY &&            \
		    UNLIKELY(atomic_load_explicit(&hook_switch.setup, memory_order_relaxed) ==  \
			     HOOK_AWAITS_DRIVER))                                               \
			life_meet_driver();                                                     \
		hook_thread.depth = 0;                                                          \
		return status;                                                                  \
	}
#include "preload/hooks.def"
#undef HOOK
#undef FIND_REAL

/* the table also contains functions that are deprecated */
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

/* A row that differs from the toolkit's own prototype does not compile. */
#define CHECK_CHECKED(symbol)                                                    \
	_Static_assert(__builtin_types_compatible_p(__typeof__(hooked_##symbol), \
						    __typeof__(symbol)),         \
		       "hooks.def: " #symbol " differs from the header");
#define CHECK_RAW(symbol)
typedef cudaError_t launch_of_dims(const void *kernel, dim3 grid, dim3 block, void **args,
				   size_t shared, cudaStream_t stream);
#define CHECK_DIMS(symbol)                                                                 \
	_Static_assert(__builtin_types_compatible_p(launch_of_dims, __typeof__(symbol)) && \
			       sizeof(dim3) == 12,                                         \
		       "hooks.def: " #symbol " takes other things than a kernel and two dim3");
#define HOOK(ret, symbol, name, version, twin, entry_point, check, ...) CHECK_##check(symbol)
#include "preload/hooks.def"
#undef HOOK

const struct hook_row hook_rows[HOOK_COUNT] = {
#define HOOK(ret, symbol, name, version, twin, entry_point, check, category, space, ...) \
	[HOOK_##symbol] = { #symbol,                                                     \
			    name,                                                        \
			    version / 10,                                                \
			    twin,                                                        \
			    ENTRY_POINT_##entry_point,                                   \
			    CAT_##category,                                              \
			    SPACE_##space,                                               \
			    (void *)hooked_##symbol,                                     \
			    (_Atomic(void *) *)&real.symbol },
#include "preload/hooks.def"
#undef HOOK
};

static pthread_key_t end_key;
static bool has_end_key; /* false if the application has used up all keys */
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *unused)
{
	(void)unused;
	hook_thread.depth = 1;
	lanes_leave();
	host_thread_ended();
	stack_thread_free(hook_thread.stacks);
	hook_thread.stacks = NULL;
	hook_thread.has_end = false;
	hook_thread.depth = 0;
}

static void make_end_key(void)
{
	has_end_key = !pthread_key_create(&end_key, thread_ended);
}

void hook_thread_keep(void)
{
	int saved = errno, cancel;
	/*
	 * The calls below may open files, which is a cancellation point. A thread that was
	 * cancelled here would leave CUDA's locks locked.
	 */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_once(&end_key_once, make_end_key);
	journal_introduce(&hook_thread.writer);
	host_thread_began();
	/* any value but NULL makes the destructor run */
	hook_thread.has_end = !has_end_key || !pthread_setspecific(end_key, &hook_thread);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

void hook_thread_begin(void)
{
	int saved = errno;
	lanes_continue();
	errno = saved;
	hook_thread_keep();
	births_write_own();
}
