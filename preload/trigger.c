/* See trigger.h. */
#include "preload/trigger.h"

#include "core/runtime/log.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <unistd.h>

enum {
	LENGTHS = 63,	     /* number of step times of which the median is taken */
	LENGTHS_TO_JUDGE = 8 /* with fewer step times, no step is judged as slow */
};

static struct {
	struct trigger_config config;
	_Atomic(struct journal_trigger *) shared;
	pid_t pid;
	bool has_handler;
	_Atomic bool is_slow;
	uint64_t lengths[LENGTHS], sorted[LENGTHS];
	unsigned n_lengths, oldest;
} g;

static struct journal_trigger *shared(void)
{
	return atomic_load_explicit(&g.shared, memory_order_relaxed);
}

/* ---- The signal ---- */

/* Counts the signal. A forked child inherits its parent's handler but must not write to the
 * parent's journal, so the handler compares the pid. */
static void on_signal(int number)
{
	int saved = errno;
	struct journal_trigger *s = shared();
	(void)number;
	if (s && getpid() == g.pid)
		atomic_fetch_add_explicit(&s->signals, 1, memory_order_relaxed);
	errno = saved;
}

static bool is_ours(const struct sigaction *a)
{
	return !(a->sa_flags & SA_SIGINFO) && a->sa_handler == on_signal;
}

static void stop_accepting(enum trigger_cause cause)
{
	atomic_fetch_and_explicit(&shared()->accepts, ~(1u << cause), memory_order_relaxed);
}

static void install_handler(void)
{
	struct sigaction now,
		ours = { .sa_handler = on_signal, .sa_flags = SA_RESTART | SA_ONSTACK };
	sigemptyset(&ours.sa_mask);
	if (sigaction(SIGUSR2, NULL, &now))
		return;
	bool is_free = !(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_DFL;
	g.has_handler = is_ours(&now) || (is_free && !sigaction(SIGUSR2, &ours, NULL));
	if (g.has_handler)
		return;
	stop_accepting(TRIGGER_SIGNAL);
	log_line(LOG_WARN,
		 "PROF_TRIGGER=signal is ignored because the application handles SIGUSR2 itself; "
		 "use `profrun trigger %d`",
		 (int)getpid());
}

void trigger_check_signal(void)
{
	struct sigaction now;
	if (!g.has_handler || sigaction(SIGUSR2, NULL, &now) || is_ours(&now))
		return;
	g.has_handler = false;
	stop_accepting(TRIGGER_SIGNAL);
	log_line(LOG_WARN,
		 "PROF_TRIGGER=signal no longer works because the application has replaced the "
		 "SIGUSR2 handler; use `profrun trigger %d`",
		 (int)getpid());
}

/* ---- Slow steps ---- */

static void remove_sorted(uint64_t value)
{
	unsigned i = 0;
	while (g.sorted[i] != value)
		i++;
	memmove(g.sorted + i, g.sorted + i + 1, (g.n_lengths - i - 1) * sizeof(*g.sorted));
	g.n_lengths--;
}

static void insert_sorted(uint64_t value)
{
	unsigned i = g.n_lengths++;
	for (; i && g.sorted[i - 1] > value; i--)
		g.sorted[i] = g.sorted[i - 1];
	g.sorted[i] = value;
}

void trigger_step_took(uint64_t ticks, bool may_ask)
{
	if (!(g.config.slow > 0))
		return;
	uint64_t median = g.sorted[g.n_lengths / 2];
	if (may_ask && g.n_lengths >= LENGTHS_TO_JUDGE &&
	    (double)ticks > g.config.slow * (double)median)
		g.is_slow = true;
	if (g.n_lengths == LENGTHS)
		remove_sorted(g.lengths[g.oldest]);
	insert_sorted(ticks);
	g.lengths[g.oldest] = ticks;
	g.oldest = (g.oldest + 1) % LENGTHS;
}

/* ---- Requests ---- */

static bool is_asked_by_file(const struct journal_trigger *s)
{
	/* Pairs with the requester's release store of `asked`: asked_steps and asked_from are
	 * valid. */
	return g.config.file && atomic_load_explicit(&s->asked, memory_order_acquire) !=
					atomic_load_explicit(&s->taken, memory_order_relaxed);
}

static bool is_asked_by_signal(const struct journal_trigger *s)
{
	return atomic_load_explicit(&s->signals, memory_order_relaxed) !=
	       atomic_load_explicit(&s->signals_taken, memory_order_relaxed);
}

bool trigger_is_asked(void)
{
	const struct journal_trigger *s = shared();
	return s && (is_asked_by_file(s) || is_asked_by_signal(s) || g.is_slow);
}

bool trigger_take(struct trigger_ask *ask)
{
	const struct journal_trigger *s = shared();
	*ask = (struct trigger_ask){ .cause = TRIGGER_NONE };
	if (!s)
		return false;
	if (is_asked_by_file(s)) {
		ask->cause = TRIGGER_FILE;
		ask->request = atomic_load_explicit(&s->asked, memory_order_acquire);
		ask->n = atomic_load_explicit(&s->asked_steps, memory_order_relaxed);
		ask->from = atomic_load_explicit(&s->asked_from, memory_order_relaxed);
	} else if (is_asked_by_signal(s)) {
		ask->cause = TRIGGER_SIGNAL;
		ask->request = atomic_load_explicit(&s->signals, memory_order_relaxed);
	} else if (g.is_slow) {
		ask->cause = TRIGGER_SLOW;
	}
	return ask->cause != TRIGGER_NONE;
}

void trigger_give(const struct trigger_ask *ask, enum trigger_answer how,
		  const struct arm_window *window)
{
	struct journal_trigger *s = shared();
	if (ask->cause == TRIGGER_SLOW)
		g.is_slow = false;
	if (ask->cause == TRIGGER_SIGNAL)
		atomic_store_explicit(&s->signals_taken, ask->request, memory_order_relaxed);
	if (ask->cause != TRIGGER_FILE)
		return;
	atomic_store_explicit(&s->answer, how, memory_order_relaxed);
	atomic_store_explicit(&s->first, window->first, memory_order_relaxed);
	atomic_store_explicit(&s->n, window->n, memory_order_relaxed);
	atomic_store_explicit(&s->n_warmup, (uint32_t)window->n_warmup, memory_order_relaxed);
	/* Release: a reader that sees the request's number also sees its answer. */
	atomic_store_explicit(&s->taken, ask->request, memory_order_release);
}

/* ---- Start ---- */

void trigger_start(const struct trigger_config *config, struct journal_trigger *s)
{
	g.config = *config;
	g.pid = getpid();
	uint32_t accepts = (config->file ? 1u << TRIGGER_FILE : 0) |
			   (config->signal ? 1u << TRIGGER_SIGNAL : 0) |
			   (config->slow > 0 ? 1u << TRIGGER_SLOW : 0);
	atomic_store_explicit(&s->accepts, accepts, memory_order_relaxed);
	atomic_store(&g.shared, s);
	if (config->signal)
		install_handler();
}

void trigger_forget(void)
{
	memset(&g, 0, sizeof(g));
}
