/*
 * Starts, stops and flushes CUPTI. gpu_cupti.c finds the library, gpu_records.c converts its
 * records. Never subscribes: there is only one subscriber per process (up to CUPTI 13.2), and the
 * application's own profiler needs it. A helper thread lives from gpu_start() to the end of the
 * window. It does the flushing, so that no application thread ever waits for that.
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
	FLUSH_EVERY_MS = 50, /* a step's trace is then written well within a second of its end */
	DRAIN_EVERY_MS = 5,
	/* limited: calls without GPU work (host-to-host copies, failed launches) deliver nothing */
	DRAIN_AT_MOST_MS = 2000,
	/*
	 * With pairing by order, no record says which calls belong to the window, so GPU work is
	 * counted instead. Work that a long kernel on another stream delays is given this much more
	 * time.
	 */
	LINGER_MS = 50,
	SETTLE_MS = 20,
	YIELD_DRAIN_AT_MOST_MS = 100, /* the application's profiler waits for this */
	YIELD_AT_MOST_MS = 500,
	START_AT_MOST_MS = 50,	       /* for a window that begins while CUPTI is taken down */
	FINISH_DRAIN_AT_MOST_MS = 100, /* must not be noticeable at the end of the process */
};

static struct gpu_cupti cupti;

static const CUpti_ActivityKind kinds[] = {
	CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
	CUPTI_ACTIVITY_KIND_MEMSET,
	CUPTI_ACTIVITY_KIND_OVERHEAD,
};
static const CUpti_ActivityKind kinds_of_copies[] = {
	CUPTI_ACTIVITY_KIND_MEMCPY,
	CUPTI_ACTIVITY_KIND_MEMCPY2,
};

/*
 * Kinds that make every API call slower, as call records do: cudaGetDevice takes 480 ns instead of
 * 75 on an H100. Enabled only if calls are recorded anyway.
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
	bool wanted;	   /* the current steps are recorded */
	bool took_over;	   /* our callbacks are registered: CUPTI may hold buffers of ours */
	bool took_clock;   /* our clock is registered */
	bool no_copies;	   /* enabling copies again would break CUPTI (gpu_teardown.h) */
	bool yielded;	   /* the application's own profiler has CUPTI */
	_Atomic bool left; /* it has disabled its last kind, and may still flush */
	uint32_t version;
	/* orders start, stop and finish, and guards what the helper thread waits for */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	bool agent_runs;
	/* one stream for all helper threads: there may be one per hour, for days */
	struct journal_writer agent;
	enum agent_order order;
	bool going_down; /* cuptiFinalize() is under way, and the lock is not held */
	uint64_t window_end_ticks;
	bool gave_way; /* the window ended because the application's own profiler started */
	bool forced;   /* work launched after the window was flushed by force, so it has no times */
	_Atomic int64_t pushed;	     /* calls announced by gpu_push in this window */
	_Atomic uint32_t n_sessions; /* how often CUPTI was started, or came back to us */
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
	/* the launcher prints this itself at the end */
	log_once(start_env_get("PROF_LAUNCHED") ? LOG_INFO : LOG_WARN,
		 "%s; calls are still timed on the host", text);
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
	const char *wrong = gpu_cupti_open(g.library, &cupti);
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
	for (EACH(kinds))
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
		return "CUPTI cannot be started (another profiler may use it)";
	case CUPTI_ERROR_NOT_INITIALIZED:
		return "CUPTI cannot be started (parts of it are missing, or it does not match "
		       "the driver)";
	default:
		return "CUPTI cannot be started";
	}
}

/* Registers our clock if CUPTI supports it: its own is CLOCK_REALTIME, which can jump. */
static bool take_over(void)
{
	bool own_clock = cupti.cuptiActivityRegisterTimestampCallback &&
			 !cupti.cuptiActivityRegisterTimestampCallback(timestamp);
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
	/* CUPTI calls our buffer callbacks and may take locks of its own */
	pthread_mutex_unlock(&g.lock);
	cupti.cuptiActivityFlushAll(flag);
	pthread_mutex_lock(&g.lock);
}

/*
 * Returns whether records of announced calls, or of their GPU work, are missing. CUPTI keeps a
 * buffer back while the work of any record in it is under way.
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
 * Waits until the work launched in the window has been delivered. CUPTI stays on meanwhile, but new
 * calls are not announced. Other windows may begin and end in the meantime; then it waits for the
 * latest one.
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
	 * CUPTI keeps a thread's buffer back while any record in it is under way, and records of
	 * the window may be in it. What is under way was launched after the window, unless records
	 * are still missing.
	 */
	g.forced = true;
	if (order == AGENT_DRAIN && !is_waiting())
		gpu_records_want(GPU_WANTS_TIMED);
	flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	gpu_records_want(GPU_WANTS_ALL);
}

/* CUPTI was taken down, by profrun or the application. Caller holds the lock. */
static void note_down(void)
{
	gpu_records_are_down();
	gpu_teardown_is_up(false);
	g.took_over = g.took_clock = false;
}

/*
 * Takes CUPTI down if that is safe. The window's records have been delivered; the rest was launched
 * after it. Caller holds the lock, which is released while CUPTI goes down: that took 0.9 s with
 * eight threads that only launch, and can take longer.
 */
static bool take_down(void)
{
	if (!cupti.cuptiFinalize || !gpu_teardown_begin(g.version))
		return false;
	gpu_records_want(GPU_WANTS_NONE); /* records of work still under way have no times */
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
	switch_kinds(false); /* first: records made while CUPTI goes down would count as dropped */
	if (take_down())
		return;
	/* a partly filled buffer of ours would collect the other profiler's records */
	if (g.order == AGENT_YIELD)
		flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
	if (gpu_records_saw_copy_on_device() && !g.no_copies) {
		g.no_copies = true;
		journal_put_info("copies", "no GPU times of copies in later windows: CUPTI cannot "
					   "be taken down in between, because the process uses "
					   "CUDA graphs, creates or destroys contexts, has its own "
					   "profiler, or has a CUPTI older than 12.6");
	}
}

static void close_window(void)
{
	g.on = false; /* a new window may begin from here on */
	if (g.order != AGENT_FINISH)
		leave_cupti();
	/* records missing by now never come: the next window must not wait for them */
	atomic_store_explicit(&g.pushed, gpu_records_pushed(), memory_order_relaxed);
	gpu_write_state(GPU_FLUSHED, g.window_end_ticks, 0);
}

/*
 * Runs until a window is over and drained. If a new window begins while this one drains, CUPTI
 * stays on.
 */
static void serve(void)
{
	do {
		while (g.order == AGENT_FLUSH) {
			wait_ms(FLUSH_EVERY_MS);
			flush(0);
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
 * Delivers work that was under way when the kinds were disabled while CUPTI stayed up; otherwise
 * its records would come late, at the end of the next window. A new window may begin meanwhile.
 * Caller holds the lock.
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
 * From here on calls are announced, and their GPU records are expected. Calls are also journaled
 * while they are not announced, when steps are learned. Missing GPU records of those are no loss,
 * although CUPTI may still be on for the previous window. So the journal says when announcing, not
 * CUPTI, begins and ends.
 *
 * If CUPTI stayed on since the previous window, the work launched in between has records and is
 * paired like all other work, unless each call's id has to be pushed.
 *
 * The clock is read on the window's side of the flag, so that a call which finds the window over
 * began after its end. Caller holds the lock.
 */
static void begin_announcing(bool was_on)
{
	bool joins = was_on && !g.gave_way && !g.forced && g.pairing != GPU_BY_ID;
	/* work launched while another profiler had CUPTI has no records here: do not await it */
	if (was_on && g.gave_way)
		atomic_fetch_add_explicit(&g.n_sessions, 1, memory_order_relaxed);
	g.forced = false;
	if (!atomic_exchange_explicit(&hook_switch.push, true, memory_order_relaxed))
		gpu_write_state(g.no_copies ? GPU_ON_BUT_COPIES : GPU_ON,
				joins ? g.window_end_ticks + 1 : hook_ticks(), g.version);
}

static void start_agent(void);

/* A window begins or continues: starts CUPTI if possible. Caller holds the lock. */
static void switch_on(void)
{
	bool was_on = g.on;
	gpu_records_want(GPU_WANTS_ALL); /* draining the previous window may have reduced it */
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
			switch_on(); /* gpu_start() did not wait for take_down() */
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
	/* the application's signal handlers must not run on our thread */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	g.agent_runs = !pthread_create(&thread, &attributes, agent, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (!g.agent_runs)
		log_once(LOG_WARN, "cannot start the helper thread: GPU times are delivered only "
				   "at the end of each window");
}

/* ---- Start, stop, finish ---- */

/*
 * State of an application thread to restore when it leaves this file. It must not be cancelled in
 * here: CUPTI's locks and ours would stay held.
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

/* The window ends; records of its work are still to be delivered. */
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

void gpu_stop(void)
{
	struct visit v = visit();
	g.wanted = false;
	if (g.on) {
		end_announcing(GPU_OFF);
		g.order = AGENT_DRAIN;
		pthread_cond_broadcast(&g.changed);
		if (!g.agent_runs) {
			flush(0);
			close_window();
		}
	}
	leave(v);
}

/* Waits until `until` for the helper thread to carry out the order. Caller holds the lock. */
static void wait_for_agent(enum agent_order order, const struct timespec *until)
{
	g.order = order;
	pthread_cond_broadcast(&g.changed);
	while (g.agent_runs && !pthread_cond_timedwait(&g.changed, &g.lock, until))
		;
}

/*
 * Flushes a buffer that was begun while the last window drained: it would collect the other
 * profiler's records. Caller holds the lock.
 */
static void flush_left_open(void)
{
	if (!g.took_over)
		return;
	g.took_over = false;
	flush(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
}

/*
 * Registers the clock that the application would have without us: CUPTI cannot unregister one.
 * Caller holds the lock.
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
	g.yielded = true; /* first, so that no window begins any more */
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
	/* timed: the lock holder may be stuck in CUPTI, and the application must still end */
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
 * Returns by how many calls `number` advances g.pushed. With pairing by order, delivered GPU work
 * is counted. If CUPTI was on since the previous window, the work of the thread's calls in between
 * is delivered as well, so they are included. Otherwise their work would make the window's look
 * delivered too early.
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
	g = (__typeof__(g)){ .lock = PTHREAD_MUTEX_INITIALIZER,
			     .changed = PTHREAD_COND_INITIALIZER };
	memset(&cupti, 0, sizeof(cupti));
	gpu_calls_forget();
	gpu_records_forget();
	gpu_yield_forget();
	gpu_teardown_forget();
}
