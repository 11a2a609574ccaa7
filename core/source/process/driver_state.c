/* Returns the state of a driver and what its journal says about the process. */
#include "core/source/journal/damage.h"
#include "core/source/process/driver_parts.h"
#include "core/util/text.h"

_Static_assert((int)DRIVER_DAMAGE_BYTES >= (int)DAMAGE_BYTES, "room for damage_say()");

char *driver_damage(const struct driver *d, char *to, size_t bytes)
{
	const struct reader *r = &d->ingest->reader;
	to[0] = 0;
	if (d->is_live && !r->is_truncated)
		return to;
	damage_say(to, bytes, r, &d->ingest->dict);
	if (!*to && d->ingest->time.is_estimate)
		text_append(to, bytes,
			    "the process was killed within a second of its first CUDA call, and "
			    "the "
			    "journal was copied or the machine restarted: the rate of its clock is "
			    "unknown, and all times may be wrong by a common factor");
	return to;
}

bool driver_has_slices(const struct driver *d)
{
	const struct journal_steps *s = driver_steps(d);
	return atomic_load(&s->slices) && !atomic_load(&s->base_generation);
}

bool driver_has_ended(const struct driver *d)
{
	return atomic_load(&driver_header(d)->ended_ticks);
}

bool driver_has_steps(const struct driver *d)
{
	return d->ingest->last_number != UINT64_MAX;
}

bool driver_is_finished(const struct driver *d)
{
	return d->is_finished;
}

enum process_state driver_state(const struct driver *d)
{
	return d->state;
}

const struct run *driver_run(const struct driver *d)
{
	return &d->ingest->run;
}

void driver_forget_stacks(struct driver *d)
{
	ingest_forget_stacks(d->ingest);
}

const char *driver_path(const struct driver *d)
{
	return d->path;
}

const char *driver_stem(const struct driver *d)
{
	return d->stem;
}

uint32_t driver_pid_here(const struct driver *d)
{
	return d->pid_here;
}

uint64_t driver_began_ns(const struct driver *d)
{
	return driver_header(d)->clock.first.realtime_ns;
}

const char *driver_detector(const struct driver *d)
{
	return step_detector_name(driver_steps(d));
}

bool driver_has_more(const struct driver *d)
{
	return d->ingest->is_in_pass;
}

bool driver_is_late(const struct driver *d)
{
	enum { SHARE = 4 }; /* leaves most of the journal for the time until all is read */
	const struct reader *r = &d->ingest->reader;
	return driver_has_more(d) && reader_count_unread(r) > r->n_chunks / SHARE;
}

bool driver_has_records(const struct driver *d)
{
	return d->ingest->counts.records > 0;
}

bool driver_saw_cupti(const struct driver *d)
{
	return d->ingest->saw_gpu_on;
}

bool driver_was_asked_for(const struct driver *d, uint64_t number)
{
	if (d->ingest->schedule.flight)
		return true;
	for (size_t i = d->triggers.n; i > 0; i--) {
		const struct driver_trigger *t = &d->triggers.at[i - 1];
		if (number >= t->first && number - t->first < t->n)
			return true;
	}
	return false;
}

uint64_t driver_boundaries(const struct driver *d)
{
	return d->ingest->counts.steps;
}

enum sched_action driver_action(const struct driver *d)
{
	const struct ingest *f = d->ingest;
	const struct step_mark *newest = f->marks.n ? &f->marks.at[f->marks.n - 1] : NULL;
	return newest && driver_has_steps(d) && !newest->is_outside ? newest->action : SCHED_NONE;
}

int64_t driver_first_scheduled(const struct driver *d)
{
	const struct ingest *f = d->ingest;
	uint64_t first = schedule_first_recorded(&f->schedule);
	if (!f->knows_schedule || f->schedule.off || first == SCHEDULE_NEVER)
		return -1;
	return (int64_t)(first + f->schedule.warmup +
			 atomic_load(&driver_steps(d)->schedule_shift));
}

void driver_note_trouble(struct driver *d, const struct err *e)
{
	if (!d->trouble.text[0])
		d->trouble = *e;
}

const char *driver_trouble(const struct driver *d)
{
	return d->trouble.text;
}

const char *driver_diagnostic(const struct driver *d)
{
	return d->diagnostic.text;
}

void driver_details(const struct driver *d, struct driver_details *to)
{
	const struct ingest *f = d->ingest;
	*to = (struct driver_details){
		.is_learned = driver_is_auto(d),
		.n_works = f->counts.works,
		.n_stacks = f->dict.stacks.n,
		.n_modules = f->dict.modules.n,
		.n_codes = f->dict.codes.n,
		.is_truncated = f->reader.is_truncated,
		.has_tsc = driver_header(d)->clock.kind == CLOCK_KIND_TSC,
		.guesses_clock = f->time.is_estimate,
	};
	memcpy(to->calls_by_category, f->counts.calls_by_category, sizeof(to->calls_by_category));
}
