/*
 * Starts, stops and flushes CUPTI. gpu_cupti.c finds the library, gpu_records.c converts CUPTI's
 * records. This file never subscribes to CUPTI, because a process can have only one subscriber (up
 * to CUPTI 13.2), and the application's own profiler needs to be the one.
 *
 * In this file a window is the time from gpu_start() to gpu_stop(). A call with GPU work is
 * announced (gpu_push) if its GPU records are expected. A helper thread lives from gpu_start()
 * until the window's records have been delivered. It does the flushing, so that no application
 * thread has to wait for a flush in the middle of a step.
 */
#include "preload/gpu.h"

#include "core/runtime/log.h"
#include "preload/devices.h"
#include "preload/gpu_calls.h"
#include "preload/gpu_cupti.h"
#include "preload/gpu_records.h"
#include "preload/gpu_teardown.h"
#include "preload/gpu_yield.h"
#include "preload/life.h"
#include "preload/lookup.h"
#include "preload/start_env.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum {
	/* so that a step's trace is written well within a second of the step's end */
	FLUSH_EVERY_MS = 50,
	FLUSH_FIRST_MS = 5, /* sooner at first, for a program that soon dies; then doubled */
	DRAIN_EVERY_MS = 5,
	/*
	 * The wait has a limit, because some announced calls have no GPU work (host-to-host copies,
	 * failed launches), so that no record is delivered for them.
	 */
	DRAIN_AT_MOST_MS = 2000,
	/*
	 * With pairing by order, no record says which calls belong to the window, so the helper
	 * thread counts delivered GPU work instead. When the count is complete it waits this much
	 * longer, for work that a long kernel on another stream delays.
	 */
	LINGER_MS = 50,
	SETTLE_MS = 20,		      /* see settle() */
	YIELD_DRAIN_AT_MOST_MS = 100, /* the application's profiler waits for this drain */
	YIELD_AT_MOST_MS = 500,	      /* longest wait in gpu_yield() */
	/* longest wait of a window that begins while CUPTI is being taken down */
	START_AT_MOST_MS = 50,
	STOP_AT_MOST_MS = 2500, /* longest wait in gpu_stop_and_wait(): DRAIN_AT_MOST_MS and more */
	FINISH_DRAIN_AT_MOST_MS = 100, /* the end of the process must not be delayed noticeably */
};

static struct gpu_cupti cupti;

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, /* the first: see switch_kinds() */
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};
static const CUpti_ActivityKind kinds_of_copies[] = {
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
};

/*
 * Kinds of records that make every API call slower: cudaGetDevice takes 480 ns instead of 75 on an
 * H100. Records of calls make them slower, too, so these kinds are enabled only if calls are
 * recorded anyway.
 */
static const CUpti_ActivityKind kinds_of_calls[] = {
	CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
	CUPTI_ACTIVITY_KIND_MEMORY_POOL,
};

static const char *const pairings[] = {
	[GPU_BY_ORDER] = "order",
	[GPU_BY_INTERVAL] = "interval",
	[GPU_BY_ID] = "external",
};

enum agent_order { AGENT_FLUSH, AGENT_DRAIN, AGENT_YIELD, AGENT_FINISH };

static struct {
	char library[PATH_MAX];
	enum gpu_pairing pairing;
	bool unavailable, loaded, on;
	bool is_inherited; /* this process was forked from one that had called CUPTI */
	bool wanted;	   /* the current steps are recorded */
	bool took_over;	   /* our callbacks are registered: CUPTI may hold buffers of ours */
	bool took_clock;   /* our clock is registered */
	bool no_copies;	   /* enabling copies again would break CUPTI (gpu_teardown.h) */
	bool yielded;	   /* the application's own profiler has CUPTI */
	/* the application's profiler has disabled its last kind of record, and may still flush */
	_Atomic bool left;
	uint32_t version;
	/* serializes start, stop and finish, and guards what the helper thread waits for */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool agent_runs;
	/*
	 * The journal stream of all helper threads, which use it one after the other: a run of
	 * several days may start one every hour.
	 */
	struct journal_writer agent;
	enum agent_order order;
	bool going_down; /* cuptiFinalize() is running, and the lock is not held */
	uint64_t window_end_ticks;
	bool gave_way; /* the window ended because the application's own profiler started */
	/* work launched after the window was flushed by force, so its records have no times */
	bool forced;
	_Atomic int64_t pushed; /* calls of this window announced by gpu_push() */
	/* how often CUPTI was started, or came back from the application's profiler */
	_Atomic uint32_t n_sessions;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };

void gpu_configure(const char *library, enum gpu_pairing pairing)
{
	snprintf(g.library, sizeof(g.library), "%s", library);
	g.pairing = pairing;
}

/* ---- Loading CUPTI ---- */

static void give_up(const char *what, CUptiResult result)
{
	char text[300];
	const char *why = NULL;
	if (result && cupti.cuptiGetResultString)
		cupti.cuptiGetResultString(result, &why);
	snprintf(text, sizeof(text), "no GPU times: %s%s%s", what, why ? ": " : "", why ? why : "");
	/* the launcher prints this text itself at the end of the run */
	log_once(start_env_get("PROF_LAUNCHED") ? LOG_INFO : LOG_WARN,
		 "%s; CUDA calls are still timed on the CPU", text);
	journal_put_info("cupti", text);
	gpu_write_state(GPU_UNAVAILABLE, hook_ticks(), (uint64_t)result);
	g.unavailable = true;
}

static bool load_once(void)
{
	if (!strcmp(g.library, "off")) {
		journal_put_info("cupti", "no GPU times: PROF_CUPTI=off");
		gpu_write_state(GPU_UNAVAILABLE, hook_ticks(), 0);
		g.unavailable = true;
		return false;
	}
	/* CUPTI's locks may have been held by threads that do not exist in the child */
	const char *wrong = g.is_inherited ? "this process was forked after CUDA was used, and "
					     "CUPTI does not work in such a process"
					   : gpu_cupti_open(g.library, &cupti);
	if (wrong) {
		give_up(wrong, 0);
		return false;
	}
	if (cupti.cuptiGetVersion)
		cupti.cuptiGetVersion(&g.version);
	if (g.pairing == GPU_BY_ID && (!cupti.cuptiActivityPushExternalCorrelationId ||
				       !cupti.cuptiActivityPopExternalCorrelationId))
		g.pairing = GPU_BY_INTERVAL;
	journal_put_info("pairing", pairings[g.pairing]);
	return g.loaded = true;
}

static bool load(void)
{
	if (g.loaded)
		return true;
	bool loaded = load_once();
	lookup_forget_error();
	return loaded;
}

/* ---- Switching kinds ---- */

HOT static uint64_t CUPTIAPI timestamp(void)
{
	return hook_ticks();
}

#define EACH(list)                          \
	size_t i = 0;                       \
	i < sizeof(list) / sizeof(*(list)); \
	i++

static void switch_kinds(bool on)
{
	CUptiResult (*turn)(CUpti_ActivityKind) = on ? cupti.cuptiActivityEnable
						     : cupti.cuptiActivityDisable;
	/* see gpu_teardown_kernels_stay() */
	for (size_t i = !on && gpu_teardown_kernels_stay(g.version);
	     i < sizeof(kinds) / sizeof(*kinds); i++)
		turn(kinds[i]);
	if (!g.no_copies)
		for (EACH(kinds_of_copies))
			turn(kinds_of_copies[i]);
	if (g.pairing == GPU_BY_ORDER)
		return;
	for (EACH(kinds_of_calls))
		turn(kinds_of_calls[i]);
	if (g.pairing == GPU_BY_ID)
		turn(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION);
	gpu_calls_switch(
		&(struct gpu_calls_cupti){ .name = cupti.cuptiGetCallbackName,
					   .enable_kind = cupti.cuptiActivityEnable,
					   .disable_kind = cupti.cuptiActivityDisable,
					   .switch_runtime = cupti.cuptiActivityEnableRuntimeApi,
					   .switch_driver = cupti.cuptiActivityEnableDriverApi },
		on);
}

static const char *why_refused(CUptiResult result)
{
	switch (result) {
	case CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED:
	case CUPTI_ERROR_HARDWARE_BUSY:
		return "CUPTI cannot be started (another profiler may be using it)";
	case CUPTI_ERROR_NOT_INITIALIZED:
		return "CUPTI cannot be started (its installation is incomplete, or its version "
		       "does not match the driver)";
	default:
		return "CUPTI cannot be started";
	}
}

/*
 * Registers our callbacks and, if CUPTI supports it, our clock. CUPTI's own clock is
 * CLOCK_REALTIME, which can jump. Returns false if CUPTI cannot be used.
 */
static bool take_over(void)
{
	/*
	 * A registered clock stays until CUPTI is taken down. If it were registered again, work
	 * that ran before that would get no times.
	 */
	bool own_clock = g.took_clock || (!gpu_records_lost_times() &&
					  cupti.cuptiActivityRegisterTimestampCallback &&
					  !cupti.cuptiActivityRegisterTimestampCallback(timestamp));
	g.took_clock |= own_clock;
	gpu_records_setup(cupti.cuptiActivityGetNextRecord, cupti.cuptiActivityGetNumDroppedRecords,
			  g.version, own_clock, g.pairing == GPU_BY_ORDER);
	gpu_teardown_is_up(true);
	CUptiResult result =
		cupti.cuptiActivityRegisterCallbacks(gpu_buffer_requested, gpu_buffer_completed);
	if (!result)
		result = cupti.cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if (result)
		give_up(why_refused(result), result);
	g.took_over |= !result;
	return !result;
}

/* ---- The helper thread ---- */

static struct timespec deadline(unsigned ms)
{
	struct timespec t;
	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_sec += ms / 1000;
	t.tv_nsec += (long)(ms % 1000) * 1000000;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static void wait_ms(unsigned ms)
{
	struct timespec until = deadline(ms);
	pthread_cond_timedwait(&g.changed, &g.lock, &until);
}

static void flush(uint32_t flag)
{
	/*
	 * the lock is released, because CUPTI calls our buffer callbacks and may take its own locks
	 */
	pthread_mutex_unlock(&g.lock);
	gpu_records_force(flag == CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	cupti.cuptiActivityFlushAll(flag);
	gpu_records_force(false);
	pthread_mutex_lock(&g.lock);
}

void gpu_hurry(void)
{
	pthread_cond_broadcast(&g.changed);
}

/*
 * Returns whether records of announced calls, or of their GPU work, are missing. CUPTI keeps a
 * buffer while the GPU work of any record in the buffer is under way.
 */
static bool is_waiting(void)
{
	return atomic_load_explicit(&g.pushed, memory_order_relaxed) > gpu_records_pushed() ||
	       gpu_records_outstanding();
}

static uint64_t now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
}

/*
 * Waits until the work that was launched in the window has been delivered, but at most
 * `at_most_ms`. CUPTI stays on meanwhile, but new calls are not announced. Other windows may begin
 * and end during the wait; the function then waits for the latest one. It returns early if the
 * order changes.
 */
static void drain(enum agent_order order, unsigned at_most_ms)
{
	unsigned linger_ms = order == AGENT_DRAIN && g.pairing == GPU_BY_ORDER ? LINGER_MS : 0;
	uint64_t window = g.window_end_ticks, began_ms = now_ms(), delivered_ms = began_ms;
	while (g.order == order) {
		flush(0);
		uint64_t now = now_ms();
		if (window != g.window_end_ticks)
			began_ms = delivered_ms = now;
		window = g.window_end_ticks;
		if (is_waiting())
			delivered_ms = now;
		else if (now - delivered_ms >= linger_ms)
			break;
		if (now - began_ms >= at_most_ms)
			break;
		wait_ms(DRAIN_EVERY_MS);
	}
	if (g.order != order)
		return;
	/*
	 * CUPTI keeps a thread's buffer while the work of any record in the buffer is under way,
	 * and the buffer may contain records of the window. So all buffers are flushed by force. If
	 * no record of the window is missing, all work under way was launched after the window, and
	 * its records are dropped.
	 */
	g.forced = true;
	if (order == AGENT_DRAIN && !is_waiting())
		gpu_records_want(GPU_WANTS_TIMED);
	flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	gpu_records_want(GPU_WANTS_ALL);
}

/*
 * Updates the state after CUPTI was taken down, by profrun or the application. Caller holds the
 * lock.
 */
static void note_down(void)
{
	gpu_records_are_down();
	gpu_teardown_is_up(false);
	g.took_over = g.took_clock = false;
}

/*
 * Takes CUPTI down if that is safe, and returns whether it did. The window's records have been
 * delivered by now; all other records are of work launched after the window. Caller holds the lock,
 * which is released while CUPTI is taken down. That took 0.9 s in a program with eight threads that
 * only launch, and can take longer.
 */
static bool take_down(void)
{
	if (!cupti.cuptiFinalize || !gpu_teardown_begin(g.version))
		return false;
	/* the remaining records are of work still under way and have no times */
	gpu_records_want(GPU_WANTS_NONE);
	g.going_down = true;
	pthread_mutex_unlock(&g.lock);
	bool is_down = !cupti.cuptiFinalize();
	pthread_mutex_lock(&g.lock);
	g.going_down = false;
	pthread_cond_broadcast(&g.changed);
	gpu_records_want(GPU_WANTS_ALL);
	if (is_down)
		note_down();
	gpu_teardown_end();
	return is_down;
}

static void leave_cupti(void)
{
	/* done first, because records made while CUPTI is taken down would count as dropped */
	switch_kinds(false);
	if (take_down())
		return;
	/* kernels are still recorded then, but nobody waits for their records */
	if (gpu_teardown_kernels_stay(g.version))
		gpu_records_want(GPU_WANTS_NONE);
	/* otherwise a partly filled buffer of ours would collect the other profiler's records */
	if (g.order == AGENT_YIELD)
		flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (gpu_records_saw_copy_on_device() && !g.no_copies) {
		g.no_copies = true;
		journal_put_info("copies",
				 "no GPU times of copies after the first window of recorded steps: "
				 "CUPTI cannot be shut down between windows, because the process "
				 "uses CUDA graphs, creates or destroys contexts, uses another "
				 "profiler, or has a CUPTI older than 12.6");
	}
}

static void close_window(void)
{
	g.on = false; /* a new window may begin from here on */
	if (g.order != AGENT_FINISH)
		leave_cupti();
	/*
	 * Records that are still missing will never come; the next window must not wait for them.
	 */
	atomic_store_explicit(&g.pushed, gpu_records_pushed(), memory_order_relaxed);
	gpu_write_state(GPU_FLUSHED, g.window_end_ticks, 0);
}

/*
 * Flushes regularly until the window is over, then drains it. If a new window begins while this one
 * is drained, CUPTI stays on and the function continues with the new window.
 */
static void serve(void)
{
	unsigned every_ms = FLUSH_FIRST_MS;
	do {
		while (g.order == AGENT_FLUSH) {
			wait_ms(every_ms);
			flush(0);
			every_ms = every_ms * 2 < FLUSH_EVERY_MS ? every_ms * 2 : FLUSH_EVERY_MS;
		}
		if (g.order == AGENT_DRAIN)
			drain(AGENT_DRAIN, DRAIN_AT_MOST_MS);
		if (g.order == AGENT_YIELD)
			drain(AGENT_YIELD, YIELD_DRAIN_AT_MOST_MS);
		if (g.order == AGENT_FINISH)
			drain(AGENT_FINISH, FINISH_DRAIN_AT_MOST_MS);
	} while (g.order == AGENT_FLUSH);
}

/*
 * Delivers the records of work that was under way when record kinds were disabled. If CUPTI was not
 * taken down, these records would otherwise be delivered only at the end of the next window. A new
 * window may begin meanwhile. Caller holds the lock.
 */
static void settle(void)
{
	if (g.order != AGENT_DRAIN || !g.took_over)
		return;
	wait_ms(SETTLE_MS);
	if (g.order == AGENT_DRAIN)
		flush(0);
}

/*
 * Starts to announce calls: from here on their GPU records are expected. Caller holds the lock.
 *
 * While steps are learned, calls are journaled without being announced. CUPTI may still be on for
 * the previous window then, but GPU records of those calls may be missing without being reported as
 * lost. So the journal says when announcing begins and ends, not when CUPTI is switched on and off.
 *
 * If CUPTI stayed on since the previous window, the work launched in between has records and is
 * paired like all other work. With pairing by id this is not possible, because the id of each call
 * must be pushed.
 *
 * The clock is read after hook_switch.push is set here, and before it is cleared in
 * end_announcing(). So a call that finds the flag cleared at a window's end began after that end.
 */
static void begin_announcing(bool was_on)
{
	bool joins = was_on && !g.gave_way && !g.forced && g.pairing != GPU_BY_ID;
	/*
	 * work launched while the application's profiler had CUPTI has no records here: do not wait
	 * for it
	 */
	if (was_on && g.gave_way)
		atomic_fetch_add_explicit(&g.n_sessions, 1, memory_order_relaxed);
	g.forced = false;
	if (!atomic_exchange_explicit(&hook_switch.push, true, memory_order_relaxed))
		gpu_write_state(g.no_copies ? GPU_ON_BUT_COPIES : GPU_ON,
				joins ? g.window_end_ticks + 1 : hook_ticks(), g.version);
}

static void start_agent(void);

/*
 * Begins or continues a window; starts CUPTI if it is off and can be started. Caller holds the
 * lock.
 */
static void switch_on(void)
{
	bool was_on = g.on;
	/* drain() may have restricted the records for the previous window */
	gpu_records_want(GPU_WANTS_ALL);
	if (!g.on && take_over()) {
		switch_kinds(true);
		g.on = true;
		atomic_fetch_add_explicit(&g.n_sessions, 1, memory_order_relaxed);
		devices_describe();
		life_register_exit();
	}
	if (g.on && !g.agent_runs)
		start_agent();
	if (g.on)
		begin_announcing(was_on);
}

static void *agent(void *unused)
{
	(void)unused;
	hook_thread.depth = 1; /* calls made by this thread are profrun's own */
	hook_thread.calls_cupti = true;
	prctl(PR_SET_NAME, "profrun");
	pthread_mutex_lock(&g.lock);
	hook_thread.writer = g.agent;
	do {
		serve();
		close_window();
		if (g.order == AGENT_FLUSH && !g.on && g.wanted && !g.yielded)
			switch_on(); /* a window began while CUPTI was taken down */
		settle();
	} while (g.on);
	journal_release(&hook_thread.writer);
	g.agent = hook_thread.writer;
	g.agent_runs = false;
	pthread_cond_broadcast(&g.changed);
	pthread_mutex_unlock(&g.lock);
	return NULL;
}

static void start_agent(void)
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* journal_guard.h */
	/* the application's signal handlers must not run on our thread */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	g.agent_runs = !pthread_create(&thread, &attributes, agent, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!g.agent_runs)
		log_once(LOG_WARN, "cannot start profrun's helper thread: GPU times are collected "
				   "only at the end of each window of recorded steps");
}

/* ---- Start, stop, finish ---- */

/*
 * The state of an application thread, which leave() restores. The thread must not be cancelled in
 * between, because CUPTI's locks and ours would stay locked.
 */
struct visit {
	int error, cancel;
	bool calls_cupti;
};

static struct visit visit(void)
{
	struct visit v = { .error = errno, .calls_cupti = hook_thread.calls_cupti };
	hook_thread.calls_cupti = true;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &v.cancel);
	pthread_mutex_lock(&g.lock);
	return v;
}

static void leave(struct visit v)
{
	pthread_mutex_unlock(&g.lock);
	pthread_setcancelstate(v.cancel, NULL);
	hook_thread.calls_cupti = v.calls_cupti;
	errno = v.error;
}

/* Ends the window. Records of its work may still be missing. */
static void end_announcing(enum gpu_state state)
{
	g.window_end_ticks = hook_ticks();
	g.gave_way = state == GPU_YIELDED;
	atomic_store_explicit(&hook_switch.push, false, memory_order_relaxed);
	gpu_write_state(state, g.window_end_ticks, 0);
}

void gpu_start(void)
{
	struct visit v = visit();
	g.wanted = true;
	if (g.left) {
		g.yielded = false;
		g.left = false;
	}
	if (g.yielded)
		gpu_write_state(GPU_YIELDED, hook_ticks(), 0);
	if (!g.unavailable && !g.yielded && load()) {
		struct timespec until = deadline(START_AT_MOST_MS);
		g.order = AGENT_FLUSH;
		while (g.going_down && !pthread_cond_timedwait(&g.changed, &g.lock, &until))
			;
		if (!g.going_down && g.order == AGENT_FLUSH && g.wanted && !g.yielded)
			switch_on();
	}
	leave(v);
}

/* Ends the window. Caller holds the lock. */
static void stop(void)
{
	g.wanted = false;
	if (!g.on)
		return;
	end_announcing(GPU_OFF);
	g.order = AGENT_DRAIN;
	pthread_cond_broadcast(&g.changed);
	if (!g.agent_runs) {
		flush(0);
		close_window();
	}
}

void gpu_stop(void)
{
	struct visit v = visit();
	stop();
	leave(v);
}

void gpu_stop_and_wait(void)
{
	struct timespec until = deadline(STOP_AT_MOST_MS);
	struct visit v = visit();
	stop();
	while (g.agent_runs && (g.on || g.going_down || g.took_over) &&
	       !pthread_cond_timedwait(&g.changed, &g.lock, &until))
		;
	leave(v);
}

/*
 * Gives the helper thread an order and waits until it has ended, at the latest until `until`.
 * Caller holds the lock.
 */
static void wait_for_agent(enum agent_order order, const struct timespec *until)
{
	g.order = order;
	pthread_cond_broadcast(&g.changed);
	while (g.agent_runs && !pthread_cond_timedwait(&g.changed, &g.lock, until))
		;
}

/*
 * Flushes by force if CUPTI may still have a buffer of ours from the drain of the last window.
 * Otherwise the buffer would collect the other profiler's records. Caller holds the lock.
 */
static void flush_left_open(void)
{
	if (!g.took_over)
		return;
	g.took_over = false;
	flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

/*
 * Registers the clock that the application would have without profrun, because CUPTI cannot
 * unregister a clock. Caller holds the lock.
 */
static void give_clock_back(void)
{
	if (g.took_clock)
		cupti.cuptiActivityRegisterTimestampCallback(gpu_yield_clock());
	g.took_clock = false;
}

void gpu_yield(void)
{
	struct visit v = visit();
	g.yielded = true; /* set first, so that no further window begins */
	g.left = false;
	leave(v);
	gpu_teardown_application(); /* from now on the helper thread never takes CUPTI down */
	struct timespec until = deadline(YIELD_AT_MOST_MS);
	v = visit();
	if (g.on && g.wanted)
		end_announcing(GPU_YIELDED);
	if (g.agent_runs)
		wait_for_agent(AGENT_YIELD, &until);
	if (!g.agent_runs)
		flush_left_open();
	give_clock_back();
	leave(v);
}

void gpu_left(void)
{
	g.left = true;
}

void gpu_resume(void)
{
	if (!g.left)
		return;
	struct visit v = visit();
	bool again = g.yielded && g.left && g.wanted;
	if (g.left) {
		g.yielded = false;
		g.left = false;
	}
	leave(v);
	if (again)
		gpu_start();
}

void gpu_is_down(void)
{
	struct visit v = visit();
	note_down();
	leave(v);
}

void gpu_flush_now(void)
{
	struct visit v = visit();
	if (g.on)
		flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	leave(v);
}

void gpu_finish(unsigned timeout_ms)
{
	int saved = errno, cancel;
	struct timespec until = deadline(timeout_ms);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	/*
	 * Timed, because the lock's holder may be stuck in CUPTI and the application must still
	 * end.
	 */
	if (!pthread_mutex_timedlock(&g.lock, &until)) {
		if (g.on && g.wanted)
			end_announcing(GPU_OFF);
		if (g.agent_runs)
			wait_for_agent(AGENT_FINISH, &until);
		pthread_mutex_unlock(&g.lock);
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

/*
 * Returns how many calls the announced call `number` adds to g.pushed: usually 1. With pairing by
 * order, g.pushed is compared with the number of delivered pieces of GPU work. If CUPTI stayed on
 * since the thread's last announced call, the work of the calls in between is delivered as well, so
 * these calls are included. If they were not, their work would count for the window, which would
 * then look delivered too early.
 */
static uint32_t calls_since(uint32_t number)
{
	struct hook_thread *t = &hook_thread;
	uint32_t session = atomic_load_explicit(&g.n_sessions, memory_order_relaxed), n = 1;
	if (t->announced_in == session && g.pairing == GPU_BY_ORDER)
		n = number - t->announced;
	t->announced = number;
	t->announced_in = session;
	return n;
}

HOT void gpu_push(uint64_t id)
{
	atomic_fetch_add_explicit(&g.pushed, calls_since((uint32_t)id), memory_order_relaxed);
	if (g.pairing == GPU_BY_ID)
		cupti.cuptiActivityPushExternalCorrelationId(
			CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, id);
}

HOT void gpu_pop(void)
{
	uint64_t id;
	if (g.pairing == GPU_BY_ID)
		cupti.cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2,
							    &id);
}

void gpu_forget(void)
{
	g = (__typeof__(g)){ .is_inherited = g.loaded || g.is_inherited,
			     .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	memset(&cupti, 0, sizeof(cupti));
	gpu_calls_forget();
	gpu_records_forget();
	gpu_yield_forget();
	gpu_teardown_forget();
}
