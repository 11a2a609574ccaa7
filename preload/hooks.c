/*
 * The wrappers: every row of hooks.def becomes an exported function here. A wrapper has no policy: one test of the
 * switch, the row's facts, the real call between two clock readings, one record. The application's errno, result and
 * arguments pass through untouched.
 */
#define __CUDA_API_VERSION_INTERNAL /* the headers then declare every symbol by its real name, twins included */
#include <cuda.h>
#include <cudaProfiler.h>
#include <cuda_profiler_api.h>
#include <cuda_runtime_api.h>

#include "core/runtime/log.h"
#include "preload/capture.h"
#include "preload/gpu.h"
#include "preload/gpu_teardown.h"
#include "preload/hook.h"
#include "preload/life.h"
#include "preload/lookup.h"
#include "preload/ranges.h"
#include "preload/stack.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>

THREAD_LOCAL struct hook_thread hook_thread;

__attribute__((aligned(64))) struct hook_switch hook_switch = { .watch = UINT32_MAX, .record = 0 };

/* Typed pointers to the real functions, filled on demand: the compiler checks the arguments of each call through them. */
static HOT_DATA struct {
#define HOOK(ret, symbol, name, version, twin, entry_point, check, category, space, params, ...) \
	ret(*symbol) params;
#include "preload/hooks.def"
#undef HOOK
} real;

/* What a caller gets whose CUDA library is not there: the entry point's own words for "not initialised" and "unknown". */
enum { MISSING_RUNTIME = cudaErrorUnknown, MISSING_DRIVER = CUDA_ERROR_NOT_INITIALIZED };

/* Numbers the thread's calls with GPU work, of which most are tokens, counted by now. Those that are counted and not recorded take numbers,
 * too: the next recorded one says how many they were. */
HOT static inline void take_number(struct rec_call *c, unsigned category)
{
	bool has_work = record_gpu_work >> category & 1;
	if (has_work && !(RECORD_TOKENS >> category & 1))
		hook_thread.fills++;
	if (has_work)
		c->seq = hook_thread.tokens + hook_thread.fills;
}

HOT static inline void call_begin(struct rec_call *c, bool pushed)
{
	if (pushed) {
		if (UNLIKELY(!hook_thread.writer.slot))
			hook_thread_keep();
		gpu_push((uint64_t)hook_thread.writer.slot << 32 | c->seq);
	}
	/* ones that nobody has touched since the last call */
	__builtin_prefetch(hook_thread.writer.chunk, 1);
	__builtin_prefetch(hook_thread.stacks);
	c->begin_ticks = hook_ticks();
}

/* Polling loops would fill the journal: of the queries of one thing with no other record between them that said "not ready" only the number is
 * kept, and how long ago the first was, with the one that ends them. */
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

/* What changes last is put together in registers, and the rest moved word by word: a vector load of what was just stored in
 * parts would wait for the stores, 12 ns. The stack is taken after the call, which leaves its callers as they are. */
static inline void fill_call(uint64_t *to, const struct rec_call *c, uint32_t stack,
			     uint64_t outcome)
{
	_Static_assert(sizeof(*c) == 6 * 8, "every word");
	const uint64_t *from = (const uint64_t *)(const void *)c;
	const uint64_t head = REC_CALL | sizeof(*c) / 8 << 8 | (uint64_t)c->hook << 16;
	put_word(to, head | (uint64_t)stack << 32);
	put_word(to + 1, c->begin_ticks);
	put_word(to + 2, outcome);
	for (int i = 3; i < 6; i++)
		put_word(to + i, from[i]);
}

HOT static void write_call(const struct rec_call *c, uint32_t stack, uint32_t status,
			   uint64_t end_ticks)
{
	uint64_t outcome = record_pack_duration(end_ticks - c->begin_ticks) |
			   (uint64_t)(status & 0xffff) << 40 | (uint64_t)hook_thread.device << 56;
	ranges_before_record();
	struct journal_writer *w = &hook_thread.writer;
	uint64_t *to = journal_reserve(w, sizeof(*c));
	if (UNLIKELY(!hook_thread.has_end))
		hook_thread_keep();
	if (UNLIKELY(!to))
		return;
	fill_call(to, c, stack, outcome);
	journal_commit(w, sizeof(*c));
}

enum { CALLERS_MOST_BYTES = 256 << 10 };

/*
 * A caller's frame lies above its callee's, so a call from above the one that is under way, or from as high, is no part of it. On a signal
 * handler's own stack, or a coroutine's, nothing can be told; those lie further off than callers do.
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
	log_once(LOG_WARN,
		 "a CUDA call was left by longjmp or an exception: what this thread called "
		 "meanwhile may not have been seen");
	return true;
}

/* Makes `next`, the real function, or leaves the row's function. Where there are two runtimes, the caller says which; `real` stays empty then. */
#define FIND_REAL(symbol, ret, entry_point)                                                       \
	__typeof__(real.symbol) next = __atomic_load_n(&real.symbol, __ATOMIC_RELAXED);           \
	if (UNLIKELY(!next))                                                                      \
		next = (__typeof__(next))lookup_real(HOOK_##symbol, __builtin_return_address(0)); \
	if (UNLIKELY(!next))                                                                      \
	return (ret)MISSING_##entry_point

/*
 * Three functions for each row, so that the first, which most calls end in, has next to nothing to save and set up; it goes on to the others, and
 * to the real function, with its frame given up (GCC's sibling calls), so that the stack is as if its caller had called them.
 *
 * hooked_: the first test is all that a disarmed call pays (1.1 ns). The second lets by most launches of a program whose steps are only counted:
 *	capture_launch() says in `seq` whether this one is.
 * aside_: the real function is not known yet, or the caller says which; calls from within another one.
 * watched_: all else. While another thread sets up, a call goes by but for what its thread has to know of itself (device,
 *	kernels' names), which needs nothing of that.
 */
#define HOOK(ret, symbol, name, version, twin, entry_point_, check, category_, space, params,      \
	     args, before, after)                                                                  \
	static ret aside_##symbol params, watched_##symbol params;                                 \
	EXPORT ret hooked_##symbol params __asm__(#symbol);                                        \
	HOT_ENTRY_POINT(#category_) ret hooked_##symbol params                                     \
	{                                                                                          \
		__typeof__(real.symbol) next = __atomic_load_n(&real.symbol, __ATOMIC_RELAXED);    \
		if (UNLIKELY(!next))                                                               \
			return aside_##symbol args;                                                \
		if (LIKELY(!hook_watches(CAT_##category_)))                                        \
			return next args;                                                          \
		struct hook_thread *t = hook_thread_here();                                        \
		if (UNLIKELY(t->depth))                                                            \
			return aside_##symbol args;                                                \
		if (CAT_##category_ == CAT_LAUNCH && UNLIKELY(steps_let_by())) {                   \
			struct rec_call facts, *c = &facts;                                        \
			struct launch_shape *const shape = NULL;                                   \
			(void)shape;                                                               \
			c->seq = false;                                                            \
			before;                                                                    \
			if (LIKELY(c->seq)) {                                                      \
				t->depth = 1;                                                      \
				t->entered = __builtin_dwarf_cfa();                                \
				ret status = next args;                                            \
				t->entered = NULL;                                                 \
				t->depth = 0;                                                      \
				return status;                                                     \
			}                                                                          \
		}                                                                                  \
		return watched_##symbol args;                                                      \
	}                                                                                          \
	static __attribute__((noinline)) ret aside_##symbol params                                 \
	{                                                                                          \
		if (hook_watches(CAT_##category_) && !hook_is_nested(__builtin_dwarf_cfa()))       \
			return watched_##symbol args;                                              \
		FIND_REAL(symbol, ret, entry_point_);                                              \
		return next args;                                                                  \
	}                                                                                          \
	HOT static __attribute__((noinline)) ret watched_##symbol params                           \
	{                                                                                          \
		FIND_REAL(symbol, ret, entry_point_);                                              \
		struct rec_call call = { .hook = HOOK_##symbol }, *c = &call;                      \
		struct launch_shape shape_of_call, *shape = &shape_of_call;                        \
		shape->function = 0;                                                               \
		hook_thread.depth = 1;                                                             \
		if (CAT_##category_ == CAT_CAPTURE || CAT_##category_ == CAT_GRAPH)                \
			gpu_teardown_graph();                                                      \
		if (UNLIKELY(!atomic_load_explicit(&hook_switch.recorded, memory_order_acquire) && \
			     !life_arm())) {                                                       \
			hook_thread.entered = __builtin_dwarf_cfa();                               \
			ret status = next args;                                                    \
			hook_thread.entered = NULL;                                                \
			if (CAT_##category_ == CAT_CONTROL) {                                      \
				after;                                                             \
			}                                                                          \
			hook_thread.depth = 0;                                                     \
			return status;                                                             \
		}                                                                                  \
		before;                                                                            \
		bool recorded = hook_records(CAT_##category_);                                     \
		bool pushed = recorded && (record_gpu_work >> CAT_##category_ & 1) &&              \
			      atomic_load_explicit(&hook_switch.push, memory_order_relaxed);       \
		bool stacked = recorded && hook_asks_stack(CAT_##category_);                       \
		take_number(c, CAT_##category_);                                                   \
		if (recorded)                                                                      \
			call_begin(c, pushed);                                                     \
		hook_thread.entered = __builtin_dwarf_cfa();                                       \
		ret status = next args;                                                            \
		hook_thread.entered = NULL;                                                        \
		uint64_t end_ticks = recorded ? hook_ticks() : 0;                                  \
		if (pushed)                                                                        \
			gpu_pop();                                                                 \
		after;                                                                             \
		if (CAT_##category_ == CAT_LAUNCH && recorded)                                     \
			capture_shape(c->arg, shape);                                              \
		if (recorded && !(CAT_##category_ == CAT_QUERY &&                                  \
				  is_idle_poll(c, (uint32_t)status, end_ticks)))                   \
			write_call(c, stacked ? stack_take(CALLER_REGS) : 0, (uint32_t)status,     \
				   end_ticks);                                                     \
		if (CAT_##category_ == CAT_SYNC && UNLIKELY(steps_wants_syncs()))                  \
			steps_synced();                                                            \
		hook_thread.depth = 0;                                                             \
		return status;                                                                     \
	}
#include "preload/hooks.def"
#undef HOOK
#undef FIND_REAL

#pragma GCC diagnostic ignored \
	"-Wdeprecated-declarations" /* deprecated functions are called all the same */

/* A row that disagrees with the toolkit's own prototype does not compile. */
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
static bool has_end_key; /* the application may have taken all there are */
static pthread_once_t end_key_once = PTHREAD_ONCE_INIT;

static void thread_ended(void *unused)
{
	(void)unused;
	hook_thread.depth = 1;
	journal_release(&hook_thread.writer);
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
	/* what follows may open files: a thread that was cancelled in one of our calls would leave CUDA's own locks behind */
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	pthread_once(&end_key_once, make_end_key);
	journal_introduce(&hook_thread.writer);
	/* the value only has to differ from NULL for the destructor to run */
	hook_thread.has_end = !has_end_key || !pthread_setspecific(end_key, &hook_thread);
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}
