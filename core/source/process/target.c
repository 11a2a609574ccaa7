/* See target.h. */
#include "core/source/process/target.h"

#include "core/runtime/clock.h"
#include "core/runtime/ranks.h"
#include "core/runtime/schedule.h"
#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"
#include "core/util/procfs.h"

#include <time.h>

#define FOUND_WITHIN_NS 3000000000ull

enum { LOOK_EVERY_MS = 5 };

struct target {
	struct reader reader;
	struct dict dict;
	uint32_t request; /* number of the request that this tool made; 0: none yet */
};

int target_open(struct target **to, const char *path, struct err *e)
{
	struct target *t = mem_zero(sizeof(*t));
	int error = reader_open(&t->reader, path, true, e);
	if (error) {
		free(t);
		return error;
	}
	*to = t;
	return 0;
}

void target_close(struct target *t)
{
	dict_free(&t->dict);
	reader_close(&t->reader);
	free(t);
}

uint32_t target_pid(const struct target *t)
{
	return t->reader.header->pid;
}

bool target_is_alive(const struct target *t)
{
	const struct journal_header *h = t->reader.header;
	uint32_t pid = procfs_number_here(h->pid, h->process_start, h->pid_namespace);
	return !atomic_load(&h->ended_ticks) && pid && procfs_is_alive(pid, h->process_start);
}

void target_read_facts(struct target *t)
{
	const struct dict_head *entry;
	while ((entry = reader_next_dictionary(&t->reader, false)))
		dict_add(&t->dict, entry);
}

const char *target_fact(const struct target *t, const char *name)
{
	const char *text = tables_fact(&t->dict.t, name);
	return text ? text : "";
}

static bool accepts(const struct target *t, enum trigger_cause cause)
{
	return atomic_load(&t->reader.header->trigger.accepts) & 1u << cause;
}

bool target_accepts_file(const struct target *t)
{
	return accepts(t, TRIGGER_FILE);
}

bool target_accepts_signal(const struct target *t)
{
	return accepts(t, TRIGGER_SIGNAL);
}

bool target_is_learning(const struct target *t)
{
	return step_state_is_learning(atomic_load(&t->reader.header->steps.state));
}

bool target_has_flight(const struct target *t)
{
	const char *text = tables_fact(&t->dict.t, "PROF_SCHEDULE");
	struct schedule schedule;
	return text && !schedule_parse(text, &schedule, NULL) && schedule.flight;
}

bool target_has_collector(const struct target *t)
{
	const struct journal_header *h = t->reader.header;
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

/* ---- Several ranks ---- */

static const char *in_journal(void *context, const char *name)
{
	const struct dict *d = context;
	return tables_fact(&d->t, name);
}

bool target_is_rank(const struct target *t)
{
	const struct journal_steps *s = &t->reader.header->steps;
	uint32_t state = atomic_load(&s->state);
	return ranks_number(tables_fact(&t->dict.t, "rank")) >= 0 &&
	       ranks_local_size(in_journal, (void *)(uintptr_t)&t->dict) > 1 &&
	       (state == STEP_STATE_OWN || step_state_is_counting(state)) &&
	       s->mode != STEP_MODE_TIME && atomic_load(&s->start_of) != START_AFTER_OTHERS;
}

uint64_t target_step(const struct target *t)
{
	return atomic_load(&t->reader.header->steps.current);
}

/* ---- Request and answer ---- */

void target_request(struct target *t, unsigned n, uint64_t from)
{
	struct journal_trigger *to = &t->reader.header->trigger;
	atomic_store(&to->asked_steps, n);
	atomic_store(&to->asked_from, from);
	/* release: whoever sees the request also sees which steps it asks for */
	t->request = atomic_fetch_add_explicit(&to->asked, 1, memory_order_release) + 1;
}

bool target_was_requested(const struct target *t)
{
	return t->request;
}

bool target_has_answered(const struct target *t)
{
	uint32_t taken =
		atomic_load_explicit(&t->reader.header->trigger.taken, memory_order_acquire);
	return (int32_t)(taken - t->request) >= 0;
}

struct target_window target_window(const struct target *t)
{
	const struct journal_trigger *from = &t->reader.header->trigger;
	uint32_t answer = atomic_load(&from->answer);
	return (struct target_window){
		.answer = answer == TRIGGER_FROM_KEPT ? TARGET_KEPT
			  : answer == TRIGGER_BY_TIME ? TARGET_SLICES
						      : TARGET_STEPS,
		.first = atomic_load(&from->first),
		.n = atomic_load(&from->n),
		.n_warmup = atomic_load(&from->n_warmup),
	};
}
