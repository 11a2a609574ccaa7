/* See host.h. */
#include "preload/host.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "preload/cpu_wait.h"
#include "preload/hook.h"
#include "preload/host_memory.h"
#include "preload/host_native.h"
#include "preload/host_pace.h"
#include "preload/host_state.h"
#include "preload/python.h"
#include "preload/python_sample.h"
#include "preload/stack.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
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
	PACE_TICKS = 8,	   /* periods after which the cost of samples is measured */
	SKIPPED_MOST = 15, /* such a thread is looked at in every 16th period */
	SLICE_NS = 100000, /* the shortest slice that Linux grants */
	/* In a nested virtual machine, a loop took 1.8 % more CPU time at 250 Hz, and 3 to 4 % more
	 * at 1000 Hz. */
	PERF_HZ_MOST = 100,
	/* Reading HOST_PIECES_MOST pieces takes 28 us. */
	QUICK_READ_NS = 50000,
	READS_MOST = 3,
	EMPTY_TICKS = 20, /* the sampling thread ends after this many periods without threads */
};

/* A registered thread. `hook` NULL: the entry is free. `tid` 0: it is being filled or freed. */
struct entry {
	const struct hook_thread *_Atomic hook;
	const void *_Atomic python; /* python_state_place() */
	_Atomic uint32_t slot;	    /* of its DICT_THREAD */
	_Atomic uint32_t tid;
};

/* The part of struct hook_thread that a sample reads. */
struct outside {
	uint32_t depth, fills, tokens;
};

_Static_assert(offsetof(struct hook_thread, depth) == offsetof(struct outside, depth) &&
		       offsetof(struct hook_thread, fills) == offsetof(struct outside, fills) &&
		       offsetof(struct hook_thread, tokens) == offsetof(struct outside, tokens),
	       "read in one piece");

/* What the sampling thread remembers of a thread. */
struct sampled {
	uint32_t tid; /* 0: nothing */
	int file;     /* host_state_read() */
	int sched_file;
	bool has_files; /* the two are descriptors, or -1 */
	bool has_launched, launches;
	uint32_t n_skipped;
	uint32_t n_work;      /* launches when it was sampled last */
	uint64_t launched_ns; /* when n_work changed */
	struct cpu_wait cpu_wait;
	struct sample_memory memory;
	struct host_perf perf;
	/* its last sample */
	uint64_t print;	   /* of host_state */
	uint64_t arrivals; /* if it was blocked: on a CPU, until then; 0: unknown */
	uint8_t state;
	uint32_t system_call;
	struct outside moment;
	uint64_t chain; /* hash of the first read's frames */
	uint32_t stack;
};

static struct {
	uint32_t hz; /* 0: off */
	_Atomic bool recorded, runs, finished, has_slot;
	bool has_memory; /* host_memory_start() */
	struct entry threads[THREADS_MOST];
	_Atomic uint32_t last_freed; /* index in `threads` */
	/* only the sampling thread uses these */
	struct sampled *sampled; /* parallel to `threads` */
	struct journal_writer writer;
	uint64_t random;
	struct cpu_wait_children children; /* when it was first sampled */
	bool has_own_files;
	bool has_launches; /* any thread has launched work */
	struct sampled_chain chain;
	struct sample_memory holder; /* of the thread that had the GIL last */
	struct python_frame frames[SAMPLE_FRAMES_MOST];
	_Atomic uint64_t n_samples, n_unreadable;
} g;

/* ---- Registered threads ---- */

/* Takes a free entry, or one that an ended thread with the same hook_thread has left. */
static bool take_entry(struct entry *e)
{
	const struct hook_thread *owner = atomic_load_explicit(&e->hook, memory_order_relaxed);
	return owner == &hook_thread ||
	       (!owner && atomic_compare_exchange_strong(&e->hook, &owner, &hook_thread));
}

void host_thread_began(void)
{
	if (!g.hz || hook_thread.host_entry)
		return;
	uint32_t start = atomic_load_explicit(&g.last_freed, memory_order_relaxed);
	for (uint32_t n = 0; n < THREADS_MOST; n++) {
		uint32_t i = (start + n) % THREADS_MOST;
		struct entry *e = &g.threads[i];
		if (!take_entry(e))
			continue;
		hook_thread.host_entry = (uint16_t)(i + 1);
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
	uint32_t i = hook_thread.host_entry;
	if (!i)
		return;
	hook_thread.host_entry = 0;
	atomic_store(&g.threads[i - 1].tid, 0);
	atomic_store(&g.threads[i - 1].hook, NULL);
	atomic_store_explicit(&g.last_freed, i - 1, memory_order_relaxed);
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
	struct rec_sample *r = journal_reserve(&hook_thread.writer, REC_SAMPLE, sizeof(*r));
	if (!r)
		return;
	*r = *from;
	journal_commit(&hook_thread.writer, sizeof(*r));
	atomic_fetch_add_explicit(&g.n_samples, 1, memory_order_relaxed);
}

static bool is_same_moment(const struct outside *a, const struct outside *b)
{
	return a->depth == b->depth && a->tokens == b->tokens && a->fills == b->fills;
}

/* Returns whether the thread launches work lately. Until any thread has launched work, each thread
 * that makes CUDA calls may be the one that will: a program may compute for long before that. */
static bool is_launching(struct sampled *s, uint32_t n_work, uint64_t at_ns)
{
	if (n_work != s->n_work || !s->launched_ns) {
		s->has_launched |= n_work != 0;
		g.has_launches |= s->has_launched;
		s->n_work = n_work;
		s->launched_ns = at_ns;
	}
	return (s->has_launched || !g.has_launches) &&
	       at_ns - s->launched_ns < IDLE_S * 1000000000ull;
}

/* Returns the number of the thread's stack; 0: there are no frames, or none is known yet. */
static uint32_t stack_of(const struct sampled_chain *chain, bool with_native)
{
	uint32_t n = chain->n ? python_sample_resolve(chain, g.frames) : 0, first = 0;
	/* an innermost frame whose code object is not known may follow with the next sample */
	while (first < n && !g.frames[first].code)
		first++;
	if (n && first == n)
		return 0;
	return stack_of_sample(&(struct stack_python){ .frames = &g.frames[first],
						       .n = n - first,
						       .evaluator = chain->evaluator,
						       .is_by_name = chain->is_by_name },
			       with_native);
}

/* Returns whether the thread is blocked as it was before. So it has not moved, or has come back to
 * the same place. */
static bool is_still_blocked(struct sampled *s, const struct host_state *before)
{
	s->arrivals = host_state_sched(s->tid, &s->sched_file).arrivals;
	if (host_state_read(s->tid, &s->file).print == before->print)
		return true;
	s->arrivals = 0;
	return false;
}

/* Returns whether the thread, which is ready to run, has not run since its last sample. It was
 * blocked then, and waits for a CPU now: on a busy machine for as long as it slept. */
static bool has_not_run(struct sampled *s, const struct outside *now)
{
	return s->arrivals && is_same_moment(now, &s->moment) &&
	       host_state_sched(s->tid, &s->sched_file).arrivals == s->arrivals;
}

/* The word that says whether the thread's collector runs, to be read into `to`; reads nothing if it
 * is not known. Returns the number of pieces. */
static size_t collector_piece(const struct sampled *s, struct host_piece *piece, uint32_t *to)
{
	uint64_t at = python_sample_is_ready() ? python_sample_collecting(s->memory.state) : 0;
	*piece = (struct host_piece){ to, at, sizeof(*to) };
	return at != 0;
}

/* Reads the thread's frames into g.chain. Returns whether the collector of its interpreter runs. */
static bool read_frames(const struct entry *e, struct sampled *s)
{
	uint64_t state = s->memory.state, state_now = 0;
	uint32_t collecting = 0;
	struct host_piece first[2] = {
		{ &state_now, (uintptr_t)atomic_load(&e->python), sizeof(state_now) },
	};
	size_t n = 1 + collector_piece(s, &first[1], &collecting);
	if (!python_sample_read(&s->memory, state, first, n, &g.chain))
		g.chain.n = 0;
	if (state_now != state) /* the thread's first sample, or a new state */
		python_sample_read(&s->memory, state_now, NULL, 0, &g.chain);
	return collecting;
}

/* Reads the frames once more (python_sample_confirm()), and what `after` and the collector's state
 * are then. */
static bool confirm_frames(const struct entry *e, struct sampled *s, struct outside *after)
{
	uint32_t collecting = 0;
	struct host_piece last[2] = {
		{ after, (uintptr_t)atomic_load(&e->hook), sizeof(*after) },
	};
	size_t n = 1 + collector_piece(s, &last[1], &collecting);
	python_sample_confirm(&s->memory, s->memory.state, last, n, &g.chain);
	return collecting;
}

static uint64_t hash_chain(const struct sampled_chain *chain)
{
	uint64_t hash = chain->n;
	for (uint32_t i = 0; i < chain->n; i++) {
		const struct sampled_frame *f = &chain->frames[i];
		hash = token_fold(hash ^ f->frame ^ f->position, TOKEN_K1) + f->code;
	}
	return hash;
}

/* Returns the stack of the thread that has the GIL for which this thread waits; 0: not known. */
static uint32_t holder_stack(const struct sampled *s, uint64_t futex)
{
	uint64_t state = python_sample_gil_holder(s->memory.state, futex);
	if (!state)
		return 0;
	python_sample_read(&g.holder, state, NULL, 0, &g.chain);
	python_sample_confirm(&g.holder, state, NULL, 0, &g.chain);
	return stack_of(&g.chain, false);
}

/* Takes a sample of a thread that was outside all calls at `at_ticks`. */
static void take_sample(const struct entry *e, struct sampled *s, const struct outside *before,
			uint64_t at_ticks)
{
	struct outside after = *before;
	struct rec_sample r = {
		.kind = REC_SAMPLE,
		.words = sizeof(r) / 8,
		.ticks = at_ticks,
		.thread = atomic_load(&e->slot),
	};
	struct host_state now = host_state_read(s->tid, &s->file);
	if (now.state == SAMPLE_UNKNOWN && s->file < 0) {
		s->tid = 0; /* the thread has ended */
		return;
	}
	if (now.state == SAMPLE_RUNNING && has_not_run(s, before)) {
		r.state = s->state;
		r.system_call = s->system_call;
		r.stack = s->stack;
		write_sample(&r);
		return;
	}
	bool collects = read_frames(e, s);
	uint64_t chain = hash_chain(&g.chain);
	/* A blocked thread that was blocked in the same way at its last sample, with the same
	 * frames, has not moved: its frames need no second read. */
	bool has_moved = now.state <= SAMPLE_RUNNING || now.print != s->print ||
			 chain != s->chain || !is_same_moment(before, &s->moment);
	if (has_moved) {
		bool has_native = host_native_walk(&now);
		s->arrivals = 0;
		/* On a busy machine this thread may lose its CPU between any two reads. So the
		 * collector may have been found idle before, and the frames within it. */
		collects |= confirm_frames(e, s, &after);
		bool is_blocked = now.state > SAMPLE_RUNNING && is_still_blocked(s, &now);
		s->stack = stack_of(&g.chain, has_native && is_blocked);
	}
	s->print = now.print;
	s->chain = chain;
	s->moment = *before;
	/* the thread has begun a call: the state is that of the call */
	if (!is_same_moment(before, &after))
		now = (struct host_state){ .state = SAMPLE_RUNNING };
	if (now.state == SAMPLE_LOCK && python_sample_is_gil(s->memory.state, now.futex))
		now.state = SAMPLE_GIL;
	r.state = s->state = now.state;
	r.system_call = s->system_call = now.state == SAMPLE_GIL ? holder_stack(s, now.futex)
								 : now.system_call;
	r.flags = collects && now.state == SAMPLE_RUNNING ? SAMPLE_COLLECTING : 0;
	r.stack = s->stack;
	write_sample(&r);
}

/* Writes the samples of a running thread that the kernel has taken since the last period. */
static void take_running(const struct entry *e, struct sampled *s)
{
	struct rec_sample r = {
		.kind = REC_SAMPLE,
		.words = sizeof(r) / 8,
		.thread = atomic_load(&e->slot),
		.state = SAMPLE_RUNNING,
	};
	if (python_sample_is_ready()) {
		host_perf_close(&s->perf);
		return;
	}
	/* without descriptors of its own, this thread cannot keep it open */
	if (g.has_own_files && s->launches)
		host_native_open(&s->perf, s->tid, g.hz < PERF_HZ_MOST ? g.hz : PERF_HZ_MOST);
	while (host_native_take(&s->perf, &r.ticks, &r.stack))
		write_sample(&r);
}

/* Writes for how long the thread has waited for a CPU since the last period, in calls too. */
static void take_cpu_wait(const struct entry *e, struct sampled *s)
{
	struct rec_cpu_wait from = {
		.kind = REC_CPU_WAIT,
		.words = sizeof(from) / 8,
		.thread = atomic_load(&e->slot),
	};
	if (!s->launches) {
		s->cpu_wait = (struct cpu_wait){ 0 };
		return;
	}
	struct cpu_wait_reading now = { .before_ticks = hook_ticks() };
	now.before_ns = now_ns(CLOCK_MONOTONIC);
	now.cpu_ns = cpu_wait_cpu_ns(s->tid);
	now.wait_ns = host_state_sched(s->tid, &s->sched_file).wait_ns;
	now.after_ns = now_ns(CLOCK_MONOTONIC);
	now.after_ticks = hook_ticks();
	from.end_ticks = now.after_ticks;
	from.wait_ns = cpu_wait_take(&s->cpu_wait, &now, &from.begin_ticks);
	if (!from.wait_ns)
		return;
	struct rec_cpu_wait *r = journal_reserve(&hook_thread.writer, REC_CPU_WAIT, sizeof(*r));
	if (!r)
		return;
	*r = from;
	journal_commit(&hook_thread.writer, sizeof(*r));
}

static void close_files_of(struct sampled *s)
{
	/* all zeros: an entry that was never used */
	if (s->has_files && s->file >= 0)
		close(s->file);
	if (s->has_files && s->sched_file >= 0)
		close(s->sched_file);
	host_perf_close(&s->perf);
	s->file = s->sched_file = -1;
	s->has_files = true;
}

/* Forgets the entry's thread if it is another one than at its last sample. */
static void follow_entry(struct sampled *s, uint32_t tid)
{
	if (s->tid == tid)
		return;
	close_files_of(s);
	*s = (struct sampled){ .tid = tid,
			       .has_files = true,
			       .file = -1,
			       .sched_file = -1,
			       .n_skipped = SKIPPED_MOST };
}

/*
 * Reads what the threads do at `at_ticks`, and returns the number of threads read, as
 * host_memory_read() does. If this thread loses its CPU meanwhile, the two may be far apart, so it
 * reads once more.
 */
static size_t read_moments(struct host_piece *pieces, size_t n, uint64_t *at_ticks)
{
	size_t done = 0;
	uint64_t took_ns = QUICK_READ_NS;
	for (int i = 0; i < READS_MOST && took_ns >= QUICK_READ_NS; i++) {
		uint64_t begin_ns = now_ns(CLOCK_MONOTONIC);
		*at_ticks = hook_ticks();
		done = host_memory_read(pieces, n);
		took_ns = now_ns(CLOCK_MONOTONIC) - begin_ns;
	}
	return done;
}

/* Samples up to HOST_PIECES_MOST threads. */
static void sample_batch(const uint16_t *entries, size_t n, uint64_t at_ns)
{
	struct outside before[HOST_PIECES_MOST] = { 0 };
	struct host_piece pieces[HOST_PIECES_MOST] = { 0 };
	uint64_t at_ticks;
	for (size_t i = 0; i < n; i++)
		pieces[i] =
			(struct host_piece){ &before[i],
					     (uintptr_t)atomic_load(&g.threads[entries[i]].hook),
					     sizeof(before[i]) };
	size_t done = read_moments(pieces, n, &at_ticks);
	if (done < n) /* a thread has ended; the others follow with the next sample */
		atomic_fetch_add_explicit(&g.n_unreadable, n - done, memory_order_relaxed);
	for (size_t i = 0; i < done; i++) {
		struct sampled *s = &g.sampled[entries[i]];
		s->n_skipped = 0;
		s->launches = is_launching(s, before[i].fills + before[i].tokens, at_ns);
		take_cpu_wait(&g.threads[entries[i]], s);
		take_running(&g.threads[entries[i]], s);
		if (!before[i].depth && s->launches)
			take_sample(&g.threads[entries[i]], s, &before[i], at_ticks);
	}
}

/* Samples all threads. Returns how many threads are registered. */
static unsigned sample_threads(void)
{
	uint16_t entries[HOST_PIECES_MOST];
	unsigned n_threads = 0;
	size_t n = 0;
	uint64_t at_ns = now_ns(CLOCK_MONOTONIC);
	host_native_tick();
	for (unsigned i = 0; i < THREADS_MOST; i++) {
		uint32_t tid = atomic_load_explicit(&g.threads[i].tid, memory_order_acquire);
		if (!tid)
			continue;
		n_threads++;
		follow_entry(&g.sampled[i], tid);
		if (!g.sampled[i].launches && g.sampled[i].n_skipped++ < SKIPPED_MOST)
			continue;
		entries[n++] = (uint16_t)i;
		if (n == HOST_PIECES_MOST) {
			sample_batch(entries, n, at_ns);
			n = 0;
		}
	}
	if (n)
		sample_batch(entries, n, at_ns);
	return n_threads;
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

/*
 * Asks the scheduler for short slices, so that the thread gets a CPU soon after it wakes up on a
 * busy machine: with eleven busy processes on two cores, half of the samples were 3 ms apart
 * instead of 1 ms. Has an effect from Linux 6.12 on, and needs no permission.
 */
static void ask_for_short_slices(void)
{
	struct {
		uint32_t size, policy;
		uint64_t flags;
		int32_t nice;
		uint32_t priority;
		uint64_t runtime_ns, deadline_ns, period_ns;
	} attributes = { 0 };
	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) ||
	    attributes.policy != SCHED_OTHER)
		return;
	attributes.size = sizeof(attributes);
	attributes.runtime_ns = SLICE_NS;
	syscall(SYS_sched_setattr, 0, &attributes, 0);
}

static void close_files(void)
{
	for (size_t i = 0; i < THREADS_MOST; i++)
		if (g.sampled[i].has_files)
			close_files_of(&g.sampled[i]);
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

static bool is_wanted(void)
{
	return atomic_load(&g.recorded) && !atomic_load(&g.finished);
}

static void sample_while_recording(void)
{
	struct host_pace pace;
	unsigned n_empty = 0;
	host_pace_begin(&pace, now_ns(CLOCK_MONOTONIC), now_ns(CLOCK_THREAD_CPUTIME_ID));
	for (unsigned tick = 1; n_empty < EMPTY_TICKS; tick++) {
		pause_ns(next_pause_ns(host_pace_period_ns(&pace, 1000000000ull / g.hz)));
		if (!is_wanted())
			return;
		n_empty = sample_threads() ? 0 : n_empty + 1;
		if (!g.has_own_files)
			close_files();
		if (tick % PACE_TICKS == 0)
			host_pace_count(&pace, now_ns(CLOCK_MONOTONIC),
					now_ns(CLOCK_THREAD_CPUTIME_ID), PACE_TICKS);
	}
}

/* Notes which native stacks were available. */
static void note_native(void)
{
	char text[160];
	if (!atomic_load(&g.n_samples))
		return;
	host_native_describe(text, sizeof(text));
	journal_put_info("native host stacks", text);
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
	ask_for_short_slices();
	g.has_own_files = take_own_files();
	host_memory_forget();
	do {
		sample_while_recording();
		note_native();
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
	g.children = cpu_wait_read_children();
	g.random = (uint64_t)getpid() * 0x9E3779B97F4A7C15ull | 1;
	return true;
}

static void start_thread(void)
{
	sigset_t all, before;
	pthread_t thread;
	pthread_attr_t attributes;
	sigfillset(&all);
	sigdelset(&all, SIGBUS); /* journal_guard.h */
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
	if (cpu_wait_describe_children(&g.children, text, sizeof(text)))
		journal_put_info("CPUs of child processes", text);
	note_native();
}

void host_forget(void)
{
	struct sampled *sampled = g.sampled;
	memset(&g, 0, sizeof(g));
	if (sampled)
		munmap(sampled, THREADS_MOST * sizeof(*sampled));
	python_sample_forget();
	host_memory_forget();
	host_native_forget();
}
