/* See process_flight.h. */
#include "export/process_flight.h"

#include "core/runtime/clock.h"

enum {
	HANGS_MS = 1500,  /* a step that takes so long: its end is not waited for */
	AT_MOST_MS = 5000 /* nor is GPU work of the ones before it any longer than that */
};

/* As much memory beside the application as its journal may take. */
void process_flight_start(struct process *p, void (*write)(void *process, struct model_step *m))
{
	flight_free(&p->flight);
	p->flight.most_bytes = p->ingest.reader.header->file_bytes;
	p->flight.write = write;
	p->flight.context = p;
	p->n_triggers = p->triggers.n = 0;
}

static bool was_served(const struct process *p, const struct rec_step *s)
{
	return (s->action == TRIGGER_FILE && s->generation == p->asked_served) ||
	       (s->action == TRIGGER_SIGNAL && s->generation == p->signals_served);
}

void process_triggered(void *process, struct ingest *f, const struct rec_step *s)
{
	struct process *p = process;
	const struct process_trigger t = { s->action, s->number, s->detail };
	p->n_triggers++;
	if (p->triggers.n < TRIGGERS_LISTED)
		vec_push(&p->triggers, t);
	if (f->schedule.flight && (s->detail || !was_served(p, s)))
		flight_ask(&p->flight, &(struct flight_request){
					       .why = (enum flight_why)s->action,
					       .from_ns = timebase_ns(&f->time, s->ticks),
					       .n_more = s->detail,
				       });
}

/* A process that hangs begins no step, and so never looks whether it is asked; what was kept of it is wanted all the more. */
static void serve_unanswered(struct process *p)
{
	const struct journal_trigger *t = &p->ingest.reader.header->trigger;
	uint32_t asked = atomic_load(&t->asked), signals = atomic_load(&t->signals);
	bool by_file = asked != atomic_load(&t->taken) && asked != p->asked_served;
	bool by_signal = signals != atomic_load(&t->signals_taken) && signals != p->signals_served;
	uint64_t now_ms = clock_read_ns(CLOCK_MONOTONIC) / 1000000;
	if (!by_file && !by_signal) {
		p->unanswered_ms = 0;
		return;
	}
	if (!p->unanswered_ms)
		p->unanswered_ms = now_ms;
	uint64_t waited_ms = now_ms - p->unanswered_ms;
	bool are_all = p->ingest.marks.n == 1;
	if (!p->flight.steps.n || waited_ms < (are_all ? HANGS_MS : AT_MOST_MS))
		return;
	p->unanswered_ms = 0;
	p->asked_served = asked;
	p->signals_served = signals;
	flight_flush(&p->flight, by_file ? FLIGHT_TRIGGER : FLIGHT_SIGNAL);
}

void process_flight_serve(struct process *p)
{
	struct ingest *f = &p->ingest;
	if (!f->schedule.flight)
		return;
	if (f->marks.at[0].ticks)
		flight_poll(&p->flight, timebase_ns(&f->time, f->marks.at[0].ticks));
	serve_unanswered(p);
}

void process_flight_end(struct process *p, enum flight_why why)
{
	flight_poll(&p->flight, UINT64_MAX);
	flight_flush(&p->flight, why);
	if (p->flight.is_short && !p->diagnostic.text[0])
		err_set(&p->diagnostic, 0,
			"flight=%llu: fewer steps than that found room (%llu MiB); a larger "
			"PROF_BUFFER_MB keeps more",
			(unsigned long long)p->ingest.schedule.flight,
			(unsigned long long)(p->flight.most_bytes >> 20));
}
