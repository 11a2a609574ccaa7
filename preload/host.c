/* See host.h. */
#include "preload/host.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "preload/hook.h"
#include "preload/host_memory.h"
#include "preload/host_state.h"
#include "preload/python.h"
#include "preload/python_sample.h"
#include "preload/stack.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	THREADS_MOST = 256, /* further threads are not sampled */
	/* A thread without launches for this long is not sampled: a server's idle threads. */
	IDLE_S = 10,
	/* If samples take a larger part of a core than 1 / COST_PART, fewer are taken. */
	COST_PART = 40,
	COST_TICKS = 32,    /* periods over which the cost is measured */
	SKIPPED_MOST = 15,  /* such a thread is looked at in every 16th period */
	EMPTY_TICKS = 1000, /* the sampling thread ends after this many periods without threads */
};

/* A registered thread. `hook` NULL: the entry is free. `tid` 0: it is being filled or freed. */
struct entry {
	const struct hook_thread *_Atomic hook;
	const void *_Atomic python; /* python_state_place() */
	_Atomic uint32_t slot;	    /* of its DICT_THREAD */
	_Atomic uint32_t tid;
};

/* What the sampling thread remembers of a thread. */
struct sampled {
	uint32_t tid; /* 0: nothing */
	int file;     /* host_state_read() */
	bool has_launched, launches;
	uint32_t n_skipped;
	uint32_t n_work;      /* launches when it was sampled last */
	uint64_t launched_ns; /* when n_work changed */
	struct sample_memory memory;
};

static struct {
	uint32_t hz; /* 0: off */
	_Atomic bool recorded, runs, finished, has_slot;
	bool has_memory; /* host_memory_start() */
	struct entry threads[THREADS_MOST];
	/* only the sampling thread uses these */
	struct sampled *sampled; /* parallel to `threads` */
	struct journal_writer writer;
	uint64_t random;
	bool has_own_files;
	struct sampled_chain chain;
	struct python_frame frames[SAMPLE_FRAMES_MOST];
	_Atomic uint64_t n_samples, n_unreadable;
} g;

/* ---- Registered threads ---- */

static bool is_registered(void)
{
	for (size_t i = 0; i < THREADS_MOST; i++)
		if (atomic_load_explicit(&g.threads[i].hook, memory_order_relaxed) == &hook_thread)
			return true;
	return false;
}

void host_thread_began(void)
{
	if (!g.hz || is_registered())
		return;
	for (size_t i = 0; i < THREADS_MOST; i++) {
		struct entry *e = &g.threads[i];
		const struct hook_thread *none = NULL;
		if (!atomic_compare_exchange_strong(&e->hook, &none, &hook_thread))
			continue;
		atomic_store(&e->python, python_state_place());
		atomic_store(&e->slot, hook_thread.writer.slot);
		atomic_store_explicit(&e->tid, (uint32_t)gettid(), memory_order_release);
		break;
	}
	if (atomic_load_explicit(&g.recorded, memory_order_relaxed))
		host_record(true); /* the sampling thread may have ended for lack of threads */
}

void host_thread_ended(void)
{
	for (size_t i = 0; i < THREADS_MOST; i++) {
		struct entry *e = &g.threads[i];
		if (atomic_load_explicit(&e->hook, memory_order_relaxed) != &hook_thread)
			continue;
		atomic_store(&e->tid, 0);
		atomic_store(&e->hook, NULL);
	}
}

uint32_t host_threads(void)
{
	return atomic_load_explicit(&g.has_slot, memory_order_relaxed);
}

/* ---- One sample ---- */

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000ull + (uint64_t)t.tv_nsec;
}

static void write_sample(const struct rec_sample *from)
{
	struct rec_sample *r = journal_reserve(&hook_thread.writer, sizeof(*r));
	if (!r)
		return;
	*r = *from;
	journal_commit(&hook_thread.writer, sizeof(*r));
	atomic_fetch_add_explicit(&g.n_samples, 1, memory_order_relaxed);
}

/* The part of struct hook_thread that a sample reads. */
struct outside {
	uint32_t depth, fills, tokens;
};

_Static_assert(offsetof(struct hook_thread, depth) == offsetof(struct outside, depth) &&
		       offsetof(struct hook_thread, fills) == offsetof(struct outside, fills) &&
		       offsetof(struct hook_thread, tokens) == offsetof(struct outside, tokens),
	       "read in one piece");

/* Returns whether the thread launches work lately. */
static bool is_launching(struct sampled *s, uint32_t n_work, uint64_t at_ns)
{
	if (n_work != s->n_work || !s->launched_ns) {
		s->has_launched |= n_work != 0;
		s->n_work = n_work;
		s->launched_ns = at_ns;
	}
	return s->has_launched && at_ns - s->launched_ns < IDLE_S * 1000000000ull;
}

/* Returns the number of the chain's stack; 0: there are no frames, or none is known yet. */
static uint32_t stack_of(const struct sampled_chain *chain)
{
	uint32_t n = python_sample_resolve(chain, g.frames), first = 0;
	/* an innermost frame whose code object is not known may follow with the next sample */
	while (first < n && !g.frames[first].code)
		first++;
	return first < n ? stack_of_python(&g.frames[first], n - first) : 0;
}

static void sample_thread(const struct entry *e, struct sampled *s, uint64_t at_ns)
{
	const struct hook_thread *hook = atomic_load(&e->hook);
	uint32_t tid = atomic_load_explicit(&e->tid, memory_order_acquire);
	const void *place = atomic_load(&e->python);
	if (!tid || !hook)
		return;
	if (s->tid != tid) {
		if (s->tid && s->file >= 0)
			close(s->file);
		*s = (struct sampled){ .tid = tid, .file = -1, .n_skipped = SKIPPED_MOST };
	}
	if (!s->launches && s->n_skipped++ < SKIPPED_MOST)
		return;
	struct outside before = { 0 }, after = { 0 };
	uint64_t state = s->memory.state, state_now = 0, collecting = 0;
	uint64_t collector = python_sample_is_ready() ? python_sample_collecting(state) : 0;
	struct rec_sample r = {
		.kind = REC_SAMPLE,
		.words = sizeof(r) / 8,
		.ticks = hook_ticks(),
		.thread = atomic_load(&e->slot),
	};
	const struct host_piece first[] = {
		{ &before, (uintptr_t)hook, sizeof(before) },
		{ &state_now, (uintptr_t)place, sizeof(state_now) },
		{ &collecting, collector, sizeof(uint32_t) },
	};
	if (!python_sample_read(&s->memory, state, first, collector ? 3 : 2, &g.chain)) {
		atomic_fetch_add_explicit(&g.n_unreadable, 1, memory_order_relaxed);
		return;
	}
	s->n_skipped = 0;
	s->launches = is_launching(s, before.fills + before.tokens, at_ns);
	if (before.depth || !s->launches || !r.thread)
		return;
	if (state_now != state) { /* the thread's first sample, or a new state */
		python_sample_read(&s->memory, state_now, first, 1, &g.chain);
		if (before.depth)
			return;
	}
	struct host_state now = host_state_read(tid, &s->file);
	const struct host_piece again = { &after, (uintptr_t)hook, sizeof(after) };
	python_sample_confirm(&s->memory, state_now, &again, 1, &g.chain);
	/* the thread has begun a call: the state is that of the call */
	if (after.depth || after.tokens != before.tokens || after.fills != before.fills)
		now = (struct host_state){ .state = SAMPLE_RUNNING };
	if (now.state == SAMPLE_LOCK && python_sample_is_gil(state_now, now.futex))
		now.state = SAMPLE_GIL;
	if (now.state == SAMPLE_UNKNOWN && s->file < 0)
		s->tid = 0; /* the thread has ended */
	r.state = now.state;
	r.system_call = now.system_call;
	r.flags = collecting && now.state == SAMPLE_RUNNING ? SAMPLE_COLLECTING : 0;
	r.stack = g.chain.n ? stack_of(&g.chain) : 0;
	write_sample(&r);
}

/* Samples all threads. Returns how many threads are registered. */
static unsigned sample_threads(void)
{
	unsigned n = 0;
	uint64_t at_ns = now_ns(CLOCK_MONOTONIC);
	for (size_t i = 0; i < THREADS_MOST; i++) {
		const struct entry *e = &g.threads[i];
		if (!atomic_load_explicit(&e->tid, memory_order_relaxed))
			continue;
		n++;
		sample_thread(e, &g.sampled[i], at_ns);
	}
	return n;
}

/* ---- The thread ---- */

/* Gives this thread descriptors of its own, so that it can keep files open: an application may
 * close descriptors that it did not open, and a child that it forks must not inherit them. Fails
 * before Linux 5.9. */
static bool take_own_files(void)
{
	enum { UNSHARE = 1 << 1 }; /* CLOSE_RANGE_UNSHARE */
#ifdef SYS_close_range
	return !syscall(SYS_close_range, 0, ~0u, UNSHARE);
#else
	return false;
#endif
}

static void close_files(void)
{
	for (size_t i = 0; i < THREADS_MOST; i++) {
		if (g.sampled[i].tid && g.sampled[i].file >= 0)
			close(g.sampled[i].file);
		g.sampled[i].file = -1;
	}
}

/* Returns the next pause, between half a period and one and a half: a program that repeats itself
 * once per period must not be sampled at the same place each time. */
static uint64_t next_pause_ns(uint64_t period_ns)
{
	g.random ^= g.random << 13;
	g.random ^= g.random >> 7;
	g.random ^= g.random << 17;
	return period_ns / 2 + g.random % period_ns;
}

static void pause_ns(uint64_t ns)
{
	const struct timespec span = { (time_t)(ns / 1000000000u), (long)(ns % 1000000000u) };
	nanosleep(&span, NULL);
}

/* Returns the period for the cost of a sample: the setting's, or longer. */
static uint64_t period_for(uint64_t cost_ns)
{
	uint64_t period_ns = 1000000000ull / g.hz;
	return cost_ns * COST_PART > period_ns ? cost_ns * COST_PART : period_ns;
}

static bool is_wanted(void)
{
	return atomic_load(&g.recorded) && !atomic_load(&g.finished);
}

static void sample_while_recording(void)
{
	uint64_t cost_ns = 0, at_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
	unsigned n_empty = 0;
	for (unsigned tick = 1; n_empty < EMPTY_TICKS; tick++) {
		pause_ns(next_pause_ns(period_for(cost_ns)));
		if (!is_wanted())
			return;
		n_empty = sample_threads() ? 0 : n_empty + 1;
		if (!g.has_own_files)
			close_files();
		if (tick % COST_TICKS)
			continue;
		/* waking up is part of the cost */
		uint64_t since_ns = at_ns;
		at_ns = now_ns(CLOCK_THREAD_CPUTIME_ID);
		cost_ns = (at_ns - since_ns) / COST_TICKS;
	}
}

static bool has_threads(void)
{
	for (size_t i = 0; i < THREADS_MOST; i++)
		if (atomic_load(&g.threads[i].tid))
			return true;
	return false;
}

static void *sampler(void *unused)
{
	bool goes_on;
	(void)unused;
	hook_thread.depth = 1;	    /* calls made by this thread are profrun's own */
	hook_thread.has_end = true; /* this thread itself is not sampled */
	prctl(PR_SET_NAME, "profrun-host");
	hook_thread.writer = g.writer;
	journal_introduce(&hook_thread.writer);
	atomic_store(&g.has_slot, true);
	g.has_own_files = take_own_files();
	host_memory_forget();
	do {
		sample_while_recording();
		close_files();
		journal_release(&hook_thread.writer);
		g.writer = hook_thread.writer;
		atomic_store(&g.runs, false);
		/* recording may have begun again meanwhile, without a new thread */
		goes_on = is_wanted() && has_threads() && !atomic_exchange(&g.runs, true);
	} while (goes_on);
	return NULL;
}

/* Allocates what the sampling thread needs, once per process. */
static bool prepare(void)
{
	if (g.sampled)
		return true;
	if (!host_memory_start()) {
		log_once(LOG_INFO, "no host samples: this system does not let a process read its "
				   "own memory through the kernel");
		g.hz = 0;
		return false;
	}
	void *p = mmap(NULL, THREADS_MOST * sizeof(*g.sampled), PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return false;
	g.sampled = p;
	g.random = (uint64_t)getpid() * 0x9E3779B97F4A7C15ull | 1;
	return true;
}

static void start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	sigfillset(&all);
	/* the application's signal handlers must not run on this thread */
	pthread_sigmask(SIG_BLOCK, &all, &before);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	bool started = !pthread_create(&thread, &attributes, sampler, NULL);
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (started)
		return;
	atomic_store(&g.runs, false);
	log_once(LOG_INFO, "no host samples: the sampling thread cannot be started");
}

void host_record(bool recorded)
{
	int saved = errno;
	atomic_store(&g.recorded, recorded);
	if (recorded && g.hz && !atomic_load(&g.finished) && has_threads() &&
	    !atomic_exchange(&g.runs, true)) {
		if (prepare())
			start_thread();
		else
			atomic_store(&g.runs, false);
	}
	errno = saved;
}

void host_configure(const struct config *config)
{
	int hz = config_parse_host(config->host.text, NULL);
	g.hz = hz > 0 ? (uint32_t)hz : 0;
}

void host_finish(void)
{
	char text[96];
	uint64_t n = atomic_load(&g.n_samples);
	atomic_store(&g.finished, true);
	if (!g.hz)
		return;
	snprintf(text, sizeof(text), "%llu at %u Hz, %llu unreadable", (unsigned long long)n, g.hz,
		 (unsigned long long)atomic_load(&g.n_unreadable));
	journal_put_info("host samples", text);
}

void host_forget(void)
{
	struct sampled *sampled = g.sampled;
	memset(&g, 0, sizeof(g));
	if (sampled)
		munmap(sampled, THREADS_MOST * sizeof(*sampled));
	python_sample_forget();
	host_memory_forget();
}
