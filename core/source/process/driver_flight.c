/* See driver_flight.h. */
#include "core/source/process/driver_flight.h"

#include "core/runtime/clock.h"

enum {
	/*
	 * A request that the process has not taken for this long is answered here: the process
	 * seems to hang in a step.
	 */
	HANGS_MS = 1500,
	/* like HANGS_MS, while an earlier step still waits for its GPU work */
	AT_MOST_MS = 5000,
};

/* The kept steps may take as much memory as the journal's file. */
void driver_flight_start(struct driver *d, void (*write)(void *driver, struct model_step *m))
{
	flight_free(&d->flight);
	d->flight.most_bytes = driver_header(d)->file_bytes;
	d->flight.write = write;
	d->flight.context = d;
	d->n_triggers = d->triggers.n = 0;
}

static bool was_served(const struct driver *d, const struct rec_step *s)
{
	return (s->action == TRIGGER_FILE && s->generation == d->asked_served) ||
	       (s->action == TRIGGER_SIGNAL && s->generation == d->signals_served);
}

void driver_triggered(void *driver, struct ingest *f, const struct rec_step *s)
{
	struct driver *d = driver;
	const struct driver_trigger t = { s->action, s->number, s->detail };
	d->n_triggers++;
	if (d->triggers.n < TRIGGERS_LISTED)
		vec_push(&d->triggers, t);
	if (f->schedule.flight && (s->detail || !was_served(d, s)))
		flight_ask(&d->flight, &(struct flight_request){
					       .why = (enum flight_why)s->action,
					       .from_ns = timebase_ns(&f->time, s->ticks),
					       .n_more = s->detail,
				       });
}

/*
 * Answers requests in place of a process that hangs. A hanging process begins no step, so it never
 * checks for requests. The user needs the steps before the hang most.
 */
static void serve_unanswered(struct driver *d)
{
	const struct journal_trigger *t = &driver_header(d)->trigger;
	uint32_t asked = atomic_load(&t->asked), signals = atomic_load(&t->signals);
	bool by_file = asked != atomic_load(&t->taken) && asked != d->asked_served;
	bool by_signal = signals != atomic_load(&t->signals_taken) && signals != d->signals_served;
	uint64_t now_ms = clock_read_ns(CLOCK_MONOTONIC) / 1000000;
	if (!by_file && !by_signal) {
		d->unanswered_ms = 0;
		return;
	}
	if (!d->unanswered_ms)
		d->unanswered_ms = now_ms;
	uint64_t waited_ms = now_ms - d->unanswered_ms;
	bool are_all = d->ingest->marks.n == 1;
	if (!d->flight.steps.n || waited_ms < (are_all ? HANGS_MS : AT_MOST_MS))
		return;
	d->unanswered_ms = 0;
	d->asked_served = asked;
	d->signals_served = signals;
	flight_flush(&d->flight, by_file ? FLIGHT_TRIGGER : FLIGHT_SIGNAL);
}

void driver_flight_serve(struct driver *d)
{
	struct ingest *f = d->ingest;
	if (!f->schedule.flight)
		return;
	if (f->marks.at[0].ticks)
		flight_poll(&d->flight, timebase_ns(&f->time, f->marks.at[0].ticks));
	serve_unanswered(d);
}

void driver_flight_end(struct driver *d, enum flight_why why)
{
	flight_poll(&d->flight, UINT64_MAX);
	flight_flush(&d->flight, why);
	if (d->flight.is_short && !d->diagnostic.text[0])
		err_set(&d->diagnostic, 0,
			"PROF_SCHEDULE=flight=%llu: the journal (%llu MiB) has room for fewer "
			"steps; raise PROF_BUFFER_MB to keep more",
			(unsigned long long)d->ingest->schedule.flight,
			(unsigned long long)(d->flight.most_bytes >> 20));
}
