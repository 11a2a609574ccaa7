/* What run.json says about a process. Names are the interface's; scripts read them. */
#include "export/process.h"

#include "core/source/journal/damage.h"
#include "export/report_json.h"
#include "export/report_self.h"

static const char *state_name(enum process_state state)
{
	static const char *const names[] = { "running", "ended", "killed" };
	return names[state];
}

static json_t *integer(uint64_t value)
{
	return json_integer((json_int_t)value);
}

/* Whole microseconds are all that a step's length is worth. */
static json_t *milliseconds(double ms)
{
	return json_real((double)(int64_t)(ms * 1000 + 0.5) / 1000);
}

static json_t *describe_lengths(const struct sample *s)
{
	if (!s->n)
		return json_null();
	double deviation = sample_deviation(s);
	return json_pack("{s:o, s:o, s:o, s:f, s:o, s:o, s:o, s:o, s:o}", "n", integer(s->n),
			 "mean", milliseconds(s->mean), "std", milliseconds(deviation), "cv",
			 s->mean > 0 ? deviation / s->mean : 0.0, "min", milliseconds(s->min),
			 "p50", milliseconds(sample_percentile(s, 0.5)), "p95",
			 milliseconds(sample_percentile(s, 0.95)), "p99",
			 milliseconds(sample_percentile(s, 0.99)), "max", milliseconds(s->max));
}

/* Steps by which the schedule's first window came late; what moved the schedule behind it does not count. */
static uint64_t steps_late(const struct ingest *f)
{
	uint64_t shift = atomic_load(&f->reader.header->steps.schedule_shift);
	if (!f->recorded.n || f->schedule.off)
		return 0;
	uint64_t first = schedule_first_recorded(&f->schedule) + f->schedule.warmup,
		 late = f->recorded.at[0] > first ? f->recorded.at[0] - first : 0;
	return late < shift ? late : shift;
}

static json_t *describe_steps(const struct process *p)
{
	const struct ingest *f = &p->ingest;
	const struct journal_steps *shared = &f->reader.header->steps;
	bool has_steps = f->last_number != UINT64_MAX;
	json_t *recorded = json_array();
	for (size_t i = 0; i < f->recorded.n; i++)
		json_array_append_new(recorded, integer(f->recorded.at[i]));
	json_t *o = json_pack("{s:o, s:s, s:f, s:o, s:o, s:o, s:o, s:o}", "count",
			      integer(ingest_count_steps(f)), "detector",
			      !has_steps	      ? "none"
			      : process_has_slices(p) ? STEP_SLICES_NAME
						      : step_detector_name(shared),
			      "confidence", has_steps ? p->confidence : 0.0, "recorded", recorded,
			      "schedule_shift", integer(atomic_load(&shared->schedule_shift)),
			      "schedule_late", integer(steps_late(f)), "step_ms",
			      describe_lengths(&f->run.step_ms), "recorded_step_ms",
			      describe_lengths(&f->run.recorded_step_ms));
	if (atomic_load(&shared->slices))
		json_object_set_new(o, "slices", integer(atomic_load(&shared->slices)));
	if (atomic_load(&shared->n_corrected))
		json_object_set_new(o, "corrected",
				    json_pack("{s:o, s:o}", "times",
					      integer(atomic_load(&shared->n_corrected)),
					      "period_before",
					      integer(atomic_load(&shared->void_calls_per_step))));
	if (has_steps)
		json_object_set_new(o, "last", integer(f->last_number));
	if (f->run.trains_from)
		json_object_set_new(o, "trains_from", integer(f->run.trains_from));
	if (has_steps && p->period) {
		json_object_set_new(o, "period", integer(p->period));
		json_object_set_new(o, "boundary", json_string(level_boundary_name(p->boundary)));
	}
	return o;
}

static json_t *describe_triggers(const struct process *p)
{
	static const char *const causes[TRIGGER_CAUSES] = { "none", "trigger", "signal",
							    "slow step" };
	json_t *list = json_array();
	for (size_t i = 0; i < p->triggers.n; i++) {
		const struct process_trigger *t = &p->triggers.at[i];
		json_array_append_new(
			list, json_pack("{s:s, s:o, s:o}", "by",
					t->cause < TRIGGER_CAUSES ? causes[t->cause] : "unknown",
					"n", integer(t->n), "first", integer(t->first)));
	}
	return list;
}

/* What the flight recorder has handed on, and why. */
static json_t *describe_kept(const struct process *p)
{
	json_t *list = json_array();
	for (size_t i = 0; i < p->flight.kept.n; i++) {
		const struct flight_kept *k = &p->flight.kept.at[i];
		json_array_append_new(list, json_pack("{s:s, s:o, s:o, s:o}", "why",
						      flight_why_name(k->why), "n", integer(k->n),
						      "first", integer(k->first), "last",
						      integer(k->last)));
	}
	return list;
}

static json_t *describe_records(const struct ingest *f)
{
	const struct ingest_counts *c = &f->counts;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "records", integer(c->records),
			 "calls", integer(c->calls), "launches", integer(c->launches), "kernels",
			 integer(c->works_by_kind[REC_KERNEL]), "memcpys",
			 integer(c->works_by_kind[REC_MEMCPY]), "memsets",
			 integer(c->works_by_kind[REC_MEMSET]), "gpu_syncs",
			 integer(c->works_by_kind[REC_GPU_SYNC]), "paired", integer(c->paired));
}

static json_t *describe_losses(const struct ingest *f)
{
	const struct ingest_counts *c = &f->counts;
	const struct journal_header *h = f->reader.header;
	return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "dropped",
			 integer(atomic_load(&h->dropped_records)), "dropped_names",
			 integer(atomic_load(&h->dropped_dictionary)), "dropped_by_cupti",
			 integer(c->gpu_lost), "calls_without_gpu_work",
			 integer(c->calls_without_work), "gpu_work_without_call",
			 integer(c->works_without_call), "late", integer(c->late),
			 "too_many_in_a_step", integer(c->cut), "damaged_places",
			 integer(f->reader.n_damaged + f->dict.n_damaged), "impossible_records",
			 integer(f->reader.n_impossible));
}

static json_t *describe_self(const struct ingest *f)
{
	json_t *self = json_object();
	const struct cost_found cost = cost_find(&f->run.cost);
	report_self_cost(self, &cost);
	return self;
}

static json_t *describe_cupti(const struct ingest *f)
{
	static const char *const states[] = { "off", "on",	"on", "unavailable",
					      "on",  "yielded", "on" };
	const char *why = tables_fact(&f->dict.t, "cupti");
	const char *state = f->gpu_state < sizeof(states) / sizeof(*states) ? states[f->gpu_state]
									    : "unknown";
	if (f->gpu_state == GPU_OFF)
		state = f->saw_gpu_on ? "used" : "not used";
	return json_pack("{s:s, s:s*, s:s*}", "state", state, "reason", why, "copies",
			 tables_fact(&f->dict.t, "copies"));
}

static json_t *describe_devices(const struct dict *d)
{
	json_t *list = json_array();
	for (size_t i = 0; i < d->t.devices.n; i++)
		json_array_append_new(
			list, json_pack("{s:o, s:s%}", "id", integer(d->t.devices.at[i].id), "name",
					d->t.devices.at[i].name, strlen(d->t.devices.at[i].name)));
	return list;
}

static json_t *describe_files(const struct process *p)
{
	json_t *list = json_array();
	for (int i = 0; i < p->output->n_formats; i++)
		json_array_append_new(list, json_pack("{s:s, s:o, s:o}", "format",
						      p->output->formats[i]->name, "n",
						      integer(p->files[i].n), "n_empty",
						      integer(p->files[i].n_empty)));
	return list;
}

json_t *process_describe(const struct process *p)
{
	const struct ingest *f = &p->ingest;
	const struct journal_header *h = f->reader.header;
	const char *rank = tables_fact(&f->dict.t, "rank");
	const char *command = tables_fact(&f->dict.t, "command");
	json_t *o = json_pack("{s:o, s:o, s:s, s:o*, s:o*, s:s*, s:s}", "pid", integer(h->pid),
			      "ppid", integer(h->ppid), "state", state_name(p->state), "rank",
			      rank ? report_json_text(rank) : NULL, "command",
			      command ? report_json_text(command) : NULL, "version",
			      tables_fact(&f->dict.t, "version"), "clock",
			      h->clock.kind == CLOCK_KIND_TSC ? "tsc" : "monotonic");
	json_t *versions = versions_describe(&p->versions, tables_fact(&f->dict.t, "python"));
	if (versions)
		json_object_set_new(o, "versions", versions);
	json_object_set_new(o, "journal", json_sprintf("journal/%s.journal", p->stem));
	json_object_set_new(o, "journal_is_whole", json_boolean(!p->was_recycled));
	json_object_set_new(o, "threads", integer(f->dict.t.threads.n));
	json_object_set_new(o, "devices", describe_devices(&f->dict));
	json_t *steps = describe_steps(p);
	if (p->n_triggers)
		json_object_set_new(steps, "triggers", describe_triggers(p));
	if (f->schedule.flight)
		json_object_set_new(steps, "kept", describe_kept(p));
	json_object_set_new(o, "steps", steps);
	json_object_set_new(o, "records", describe_records(f));
	json_object_set_new(o, "losses", describe_losses(f));
	json_object_set_new(o, "self", describe_self(f));
	json_object_set_new(o, "cupti", describe_cupti(f));
	json_object_set_new(o, "traces", trace_keep_list(&p->traces));
	json_object_set_new(o, "files", describe_files(p));
	json_object_set_new(o, "n_traces", integer(p->n_traces));
	json_object_set_new(o, "n_traces_removed", integer(p->traces.n_removed));
	json_object_set_new(o, "n_traces_failed", integer(p->n_failed));
	char damage[DAMAGE_BYTES];
	if (*process_damage(p, damage, sizeof(damage)))
		json_object_set_new(o, "damage", json_string(damage));
	if (p->diagnostic.text[0])
		json_object_set_new(o, "diagnostic", json_string(p->diagnostic.text));
	if (p->trouble.text[0])
		json_object_set_new(o, "trouble", json_string(p->trouble.text));
	return o;
}
