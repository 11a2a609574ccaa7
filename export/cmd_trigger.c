/*
 * `profrun trigger PID|DIR [--steps N]`: requests steps from a running job. Writes the request into
 * the headers of its journals (struct journal_trigger in core/runtime/record.h) and waits briefly
 * for the answer, which names the steps.
 */
#include "core/runtime/clock.h"
#include "core/runtime/ranks.h"
#include "core/runtime/schedule.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"
#include "export/command.h"
#include "export/journals.h"
#include "export/procfs.h"
#include "export/ranks_meet.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#define FOUND_WITHIN_NS 3000000000ull

enum {
	STEPS_MOST = 1000000,
	ANSWER_WITHIN_MS = 2000,
	LOOK_EVERY_MS = 5,
	WATCH_MS = 50, /* to measure the speed of ranks: 50 ms hold a hundred steps of 0.4 ms */
};

/* A journal of a running process. */
struct target {
	struct reader reader;
	struct dict dict;
	char folder[PATH_MAX];
	bool can_be_asked;
	uint32_t request; /* 0: not requested */
};

struct asking {
	unsigned n_steps; /* 0: as many as in the schedule */
	const char *what; /* PID or DIR */
	VEC(struct target *) targets;
	VEC(struct rank_look) looks; /* of each target */
	size_t n_over;		     /* journals of ended processes */
	int status;
};

/* ---- Whom to ask ---- */

static bool is_alive(const struct journal_header *h)
{
	uint32_t pid = procfs_number_here(h->pid, h->process_start, h->pid_namespace);
	return !atomic_load(&h->ended_ticks) && pid && procfs_is_alive(pid, h->process_start);
}

/* Waits for the collector to find a process whose profiling has just begun. */
static bool has_collector(const struct journal_header *h)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	for (;;) {
		uint32_t collector = atomic_load(&h->collector);
		if (collector)
			return procfs_start(collector);
		if (clock_read_ns(CLOCK_MONOTONIC) - h->clock.first.monotonic_ns > FOUND_WITHIN_NS)
			return false;
		nanosleep(&pause, NULL);
	}
}

static void free_target(struct target *t)
{
	dict_free(&t->dict);
	reader_close(&t->reader);
	free(t);
}

/* `pid`: only that process's journal; 0: any. */
static void add_journal(struct asking *a, const char *folder, const char *path, uint32_t pid)
{
	struct target *t = mem_zero(sizeof(*t));
	struct err e;
	if (reader_open(&t->reader, path, true, &e)) {
		a->status = data_error("%s", e.text);
		free(t);
		return;
	}
	bool is_wanted = !pid || t->reader.header->pid == pid;
	if (is_wanted && is_alive(t->reader.header)) {
		const struct dict_head *entry;
		while ((entry = reader_next_dictionary(&t->reader, false)))
			dict_add(&t->dict, entry);
		snprintf(t->folder, sizeof(t->folder), "%s", folder);
		vec_push(&a->targets, t);
		return;
	}
	a->n_over += is_wanted;
	free_target(t);
}

static int add_folder(struct asking *a, const char *folder, uint32_t pid)
{
	struct journals j;
	struct err e;
	if (journals_list(&j, folder, &e))
		return data_error("%s", e.text);
	for (size_t i = 0; i < j.paths.n; i++)
		add_journal(a, folder, j.paths.at[i], pid);
	journals_free(&j);
	return 0;
}

/* Adds the process and its descendants: a shell, a launcher or profrun.sh may have started the
 * job. */
static int add_process(struct asking *a, uint32_t pid)
{
	struct procfs_family family = { 0 };
	char folder[PATH_MAX];
	if (!procfs_start(pid))
		return data_error("there is no process %u", pid);
	procfs_family(pid, &family);
	for (size_t i = 0; i < family.pids.n; i++)
		if (procfs_journal_folder(family.pids.at[i], folder, sizeof(folder)))
			add_folder(a, folder, family.pids.at[i]);
	vec_free(&family.pids);
	if (!a->targets.n && !a->n_over)
		return data_error(
			"process %u is not profiled, nor is any that it started: none has a "
			"journal (it is made with the first CUDA call; PROF_RANKS may leave "
			"the process out)",
			pid);
	return 0;
}

static int find_targets(struct asking *a, const char *what)
{
	struct stat status;
	bool is_number = what[strspn(what, "0123456789")] == 0;
	int error;
	if (!stat(what, &status) && S_ISDIR(status.st_mode))
		error = add_folder(a, what, 0);
	else if (is_number && strlen(what) < 10)
		error = add_process(a, (uint32_t)atol(what));
	else
		return data_error("%s: no such run: neither a run's folder nor a process's number",
				  what);
	if (!error && !a->targets.n && !a->status)
		return data_error("%s: the run has ended: there is no process left to record",
				  what);
	return error ? error : a->status;
}

/* ---- Asking ---- */

static const char *who(const struct target *t)
{
	static char text[32];
	snprintf(text, sizeof(text), "process %u", t->reader.header->pid);
	return text;
}

/* Without a collector, steps cannot be learned. Known steps can be recorded, and exported later. */
static bool can_be_asked(struct asking *a, const struct target *t)
{
	const struct journal_header *h = t->reader.header;
	uint32_t accepts = atomic_load(&h->trigger.accepts), state = atomic_load(&h->steps.state);
	bool is_learning = step_state_is_learning(state);
	if (!(accepts & 1u << TRIGGER_FILE)) {
		a->status = data_error("%s: its PROF_TRIGGER does not have file, so it does not "
				       "listen%s",
				       who(t),
				       accepts & 1u << TRIGGER_SIGNAL
					       ? "; it has signal: kill -USR2 arms it"
					       : "");
		return false;
	}
	if (has_collector(h))
		return true;
	a->status = data_error("%s: its collector is gone, so nothing writes traces: `profrun.sh "
			       "collect %s &` starts one%s",
			       who(t), t->folder, is_learning ? ", then ask again" : "");
	return !is_learning;
}

/* ---- Several ranks ---- */

static const char *in_journal(void *context, const char *name)
{
	const struct dict *d = context;
	return tables_fact(&d->t, name);
}

/* Returns whether it is one of several ranks with common step numbers. A rank that evaluated before
 * it trained may count differently; numbers of time slices depend on when the rank started. */
static bool is_rank(struct target *t)
{
	const struct journal_steps *s = &t->reader.header->steps;
	uint32_t state = atomic_load(&s->state);
	return t->can_be_asked && ranks_number(tables_fact(&t->dict.t, "rank")) >= 0 &&
	       ranks_local_size(in_journal, &t->dict) > 1 &&
	       (state == STEP_STATE_OWN || state == STEP_STATE_LOCKED) &&
	       s->mode != STEP_MODE_TIME && atomic_load(&s->start_of) != START_BEHIND_OTHERS;
}

/* Returns the number of ranks. */
static size_t look_at_ranks(struct asking *a)
{
	size_t n = 0;
	for (size_t i = 0; i < a->targets.n; i++) {
		struct target *t = a->targets.at[i];
		struct rank_look *look = &a->looks.at[i];
		look->was_one = look->is_one;
		look->then = look->now;
		look->is_one = is_rank(t);
		look->now = atomic_load(&t->reader.header->steps.current);
		n += look->is_one;
	}
	return n;
}

/* Returns the step with which all ranks can begin; 0: each begins when it sees the request. */
static uint64_t common_step(struct asking *a)
{
	const struct timespec pause = { .tv_nsec = WATCH_MS * 1000000L };
	if (look_at_ranks(a) < 2)
		return 0;
	nanosleep(&pause, NULL);
	look_at_ranks(a);
	return ranks_meet(a->looks.at, a->looks.n);
}

static void ask(struct asking *a)
{
	/* before the ranks' steps are read: waiting for one would let the others advance */
	for (size_t i = 0; i < a->targets.n; i++) {
		a->targets.at[i]->can_be_asked = can_be_asked(a, a->targets.at[i]);
		vec_push(&a->looks, (struct rank_look){ 0 });
	}
	uint64_t from = common_step(a);
	for (size_t i = 0; i < a->targets.n; i++) {
		struct target *t = a->targets.at[i];
		struct journal_trigger *to = &t->reader.header->trigger;
		if (!t->can_be_asked)
			continue;
		atomic_store(&to->asked_steps, a->n_steps);
		atomic_store(&to->asked_from, a->looks.at[i].is_one ? from : 0);
		/* release: whoever sees the request also sees which steps it asks for */
		t->request = atomic_fetch_add_explicit(&to->asked, 1, memory_order_release) + 1;
	}
}

static bool is_answered(const struct target *t)
{
	uint32_t taken =
		atomic_load_explicit(&t->reader.header->trigger.taken, memory_order_acquire);
	return (int32_t)(taken - t->request) >= 0;
}

static void wait_for_answers(const struct asking *a)
{
	const struct timespec pause = { .tv_nsec = LOOK_EVERY_MS * 1000000L };
	for (int waited = 0; waited < ANSWER_WITHIN_MS; waited += LOOK_EVERY_MS) {
		bool are_all = true;
		for (size_t i = 0; i < a->targets.n; i++)
			are_all &= !a->targets.at[i]->request || is_answered(a->targets.at[i]);
		if (are_all)
			return;
		nanosleep(&pause, NULL);
	}
}

/* ---- The answer ---- */

static void say_window(const struct target *t, const char *what)
{
	const struct journal_trigger *from = &t->reader.header->trigger;
	unsigned long long first = atomic_load(&from->first), n = atomic_load(&from->n);
	unsigned warmup = atomic_load(&from->n_warmup);
	printf("%s: %s", who(t), what);
	if (n == 1)
		printf(" %llu is recorded", first);
	else
		printf("s %llu to %llu are recorded", first, first + n - 1);
	if (warmup)
		printf(", after %u to warm up", warmup);
	printf("; traces come to %s/traces\n", t->folder);
}

static void say_kept(const struct target *t)
{
	unsigned long long n = atomic_load(&t->reader.header->trigger.n);
	printf("%s: the steps that the flight recorder keeps are written", who(t));
	if (n)
		printf(", and the next %llu", n);
	printf("; traces come to %s/traces\n", t->folder);
}

static bool is_flying(const struct target *t)
{
	const char *text = tables_fact(&t->dict.t, "PROF_SCHEDULE");
	struct schedule schedule;
	return text && !schedule_parse(text, &schedule, NULL) && schedule.flight;
}

static void say_unanswered(const struct target *t)
{
	const struct journal_steps *s = &t->reader.header->steps;
	bool is_learning = step_state_is_learning(atomic_load(&s->state));
	printf("%s: asked, but in %d s %s; %s, traces come to %s/traces\n", who(t),
	       ANSWER_WITHIN_MS / 1000,
	       is_learning ? "it made no step that could be told" : "it began no step",
	       is_flying(t) ? "the steps that the flight recorder keeps are written as they are"
			    : "steps are recorded from its next one on",
	       t->folder);
}

static void say(const struct target *t)
{
	uint32_t answer = atomic_load(&t->reader.header->trigger.answer);
	if (!is_answered(t))
		say_unanswered(t);
	else if (answer == TRIGGER_FROM_KEPT)
		say_kept(t);
	else
		say_window(t, answer == TRIGGER_BY_TIME ? "its steps are not known yet: time slice"
							: "step");
}

/* ---- The command ---- */

static int take_what(void *request, const char *word)
{
	struct asking *a = request;
	if (a->what)
		return usage_error("trigger: one process or folder, got '%s' too; %s", word,
				   command_usage(&command_trigger));
	a->what = word;
	return 0;
}

static const struct command_option options[] = {
	{ .name = "--steps",
	  .argument = "N",
	  .help = "record N steps, not the number that the schedule says",
	  .most = STEPS_MOST,
	  .offset = offsetof(struct asking, n_steps) },
	{ 0 },
};

static int run(int argc, char **argv)
{
	struct asking a = { 0 };
	int error;
	if (!command_parse(&command_trigger, &a, argc, argv, NULL, &error))
		return error;
	error = find_targets(&a, a.what);
	if (!error) {
		ask(&a);
		wait_for_answers(&a);
	}
	for (size_t i = 0; i < a.targets.n; i++) {
		struct target *t = a.targets.at[i];
		if (t->request)
			say(t);
		free_target(t);
	}
	vec_free(&a.targets);
	vec_free(&a.looks);
	return error ? error : a.status;
}

const struct command command_trigger = {
	.name = "trigger",
	.operands = "PID|DIR",
	.summary = "record steps of a running job now",
	.options = options,
	.wanted = "which process or run's folder?",
	.operand = take_what,
	.run = run,
};
