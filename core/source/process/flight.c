/* See flight.h. */
#include "core/source/process/flight.h"

const char *flight_why_name(enum flight_why why)
{
	static const char *const names[FLIGHT_WHYS] = {
		[FLIGHT_TRIGGER] = "trigger", [FLIGHT_SIGNAL] = "signal",
		[FLIGHT_SLOW] = "slow step",  [FLIGHT_CRASH] = "crash",
		[FLIGHT_EXIT] = "exit",	      [FLIGHT_EXPORT] = "export",
	};
	return why < FLIGHT_WHYS && names[why] ? names[why] : "unknown";
}

static void drop_first(struct flight *f, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		f->bytes -= f->steps.at[i].bytes;
		model_free(&f->steps.at[i].model);
	}
	vec_shift(&f->steps, n);
}

void flight_free(struct flight *f)
{
	drop_first(f, f->steps.n);
	vec_free(&f->steps);
	vec_free(&f->requests);
	vec_free(&f->kept);
	*f = (struct flight){ 0 };
}

static void write_step(struct flight *f, struct model_step *m, enum flight_why why)
{
	struct model_note note = { .ns = m->begin_ns };
	snprintf(note.text, sizeof(note.text), "kept by the flight recorder: %s",
		 flight_why_name(why));
	vec_push(&m->notes, note);
	f->write(f->context, m);
}

static void note_kept(struct flight *f, enum flight_why why, uint64_t number)
{
	struct flight_kept *last = f->kept.n ? &f->kept.at[f->kept.n - 1] : NULL;
	if (last && last->why == why && last->last + 1 == number) {
		last->n++;
		last->last = number;
		return;
	}
	f->n_kept++;
	if (f->kept.n < FLIGHT_KEPT_LISTED)
		vec_push(&f->kept, (struct flight_kept){ why, 1, number, number });
}

void flight_flush(struct flight *f, enum flight_why why)
{
	for (size_t i = 0; i < f->steps.n; i++) {
		write_step(f, &f->steps.at[i].model, why);
		note_kept(f, why, f->steps.at[i].model.number);
	}
	drop_first(f, f->steps.n);
	vec_free(&f->steps);
}

static void answer_first(struct flight *f)
{
	struct flight_request r = f->requests.at[0];
	vec_shift(&f->requests, 1);
	flight_flush(f, r.why);
	if (r.n_more > f->n_more) {
		f->n_more = r.n_more;
		f->why_more = r.why;
	}
}

void flight_ask(struct flight *f, const struct flight_request *request)
{
	vec_push(&f->requests, *request);
}

/*
 * Compares with a tolerance of 1 us: both times may stem from the same ticks, but have been
 * converted at slightly different rates.
 */
void flight_poll(struct flight *f, uint64_t until_ns)
{
	enum { SAME_NS = 1000 };
	while (f->requests.n && (until_ns >= f->requests.at[0].from_ns ||
				 f->requests.at[0].from_ns - until_ns < SAME_NS))
		answer_first(f);
}

static void make_room(struct flight *f, uint64_t most_steps)
{
	if (f->steps.n > most_steps)
		drop_first(f, f->steps.n - most_steps);
	while (f->bytes > f->most_bytes && f->steps.n > 1) {
		drop_first(f, 1);
		f->is_short = true;
	}
}

void flight_take(struct flight *f, struct model_step *m, uint64_t most_steps)
{
	flight_poll(f, m->begin_ns);
	if (f->n_more) {
		f->n_more--;
		write_step(f, m, f->why_more);
		note_kept(f, f->why_more, m->number);
		return;
	}
	struct flight_step s = { .model = *m, .bytes = model_bytes(m) };
	memset(m, 0, sizeof(*m));
	f->bytes += s.bytes;
	vec_push(&f->steps, s);
	make_room(f, most_steps);
}
