/* See diagnostic.h. */
#include "core/source/process/diagnostic.h"

#include "core/util/text.h"

void explain_slices(struct driver *d)
{
	const char *patience_s = tables_fact(&d->ingest->dict.t, "PROF_LEARN_S");
	if (driver_has_slices(d))
		err_set(&d->diagnostic, 0,
			"no repeating step found within %.20s s of the first launch: each slice of "
			"one second counts as a step; set PROF_STEP, or raise PROF_LEARN_S to "
			"search longer",
			patience_s ? patience_s : "60");
}

void explain_uncounted(struct driver *d)
{
	err_set(&d->diagnostic, 0,
		"only the steps of the opening are counted: after it, nothing shows the iterations "
		"of this loop; raise PROF_OPENING, or set PROF_STEP");
}

void explain_late_steps(struct driver *d)
{
	const struct ingest *f = d->ingest;
	const char *cupti = tables_fact(&f->dict.t, "PROF_CUPTI");
	char to[32] = "";
	bool is_off = cupti && !strcmp(cupti, "off");
	if (f->saw_gpu_on || tables_fact(&f->dict.t, "cupti") || is_off || !f->recorded.n)
		return;
	if (f->recorded.n > 1)
		snprintf(to, sizeof(to), " to %llu",
			 (unsigned long long)f->recorded.at[f->recorded.n - 1]);
	err_set(&d->diagnostic, 0,
		"no GPU times for step%s %llu%s: the run ended before steps were detected; set "
		"PROF_STEP or PROF_SCHEDULE=always",
		f->recorded.n > 1 ? "s" : "", (unsigned long long)f->recorded.at[0], to);
}

/* ---- Why no step was detected: one function per mode of PROF_STEP ---- */

static void explain_auto(struct driver *d, const char *value)
{
	(void)value;
	err_set(&d->diagnostic, 0,
		d->ingest->opening.is_any
			? "no repeating step found: the run is reported as a whole; PROF_STEP can "
			  "say what a step is"
			: "no repeating step found: set PROF_STEP or PROF_SCHEDULE=always");
}

static void explain_optimizer(struct driver *d, const char *value)
{
	(void)value;
	err_set(&d->diagnostic, 0,
		"PROF_STEP=optimizer: no loop with an optimizer step found; optimizers are "
		"recognized by Python frames (PROF_PYTHON, PROF_STACKS) or kernel names; if "
		"neither is "
		"available, use PROF_STEP=auto");
}

static void explain_function(struct driver *d, const char *value)
{
	if (d->n_function_calls)
		err_set(&d->diagnostic, 0,
			"PROF_STEP=%.80s: the launches do not show where a call of this function "
			"ends; name a function that is called once per step and launches from "
			"several of its lines, not only in an inner loop",
			value);
	else
		err_set(&d->diagnostic, 0,
			"PROF_STEP=%.80s: no launch came from a function of that name in that "
			"file; check both names, and that PROF_PYTHON=off and PROF_STACKS=none are "
			"not set",
			value);
}

enum { NAMES_SAID = 3, NAME_COLUMNS = 24 };

static bool is_said(const struct dict *d, size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (d->t.launches.at[k].name == d->t.launches.at[i].name)
			return true;
	return false;
}

/*
 * Writes the names of the first kernels launched, as "; launched: spin_5us, first_10us, ...".
 * Writes "" if no name is known.
 */
static void list_launched(const struct dict *d, char *to, size_t bytes)
{
	size_t used = 0, n = 0;
	to[0] = 0;
	for (size_t i = 0; i < d->t.launches.n && n <= NAMES_SAID; i++) {
		char name[4 * NAME_COLUMNS];
		if (!d->t.launches.at[i].is_named || is_said(d, i))
			continue;
		text_fit(name, sizeof(name), strtab_text(&d->t.names, d->t.launches.at[i].name),
			 NAME_COLUMNS, CUT_TAIL);
		used += (size_t)snprintf(to + used, bytes - used, "%s%s",
					 n ? ", " : "; launched: ", n < NAMES_SAID ? name : "...");
		n++;
	}
}

/* The second launch of the kernel ends the first step, so one launch makes no step. */
static void explain_kernel(struct driver *d, const char *value)
{
	char launched[(NAMES_SAID + 1) * (4 * NAME_COLUMNS + 2)];
	list_launched(&d->ingest->dict, launched, sizeof(launched));
	err_set(&d->diagnostic, 0,
		"PROF_STEP=%.40s: no kernel whose (mangled) name matches was launched more than "
		"once%s",
		value, launched);
}

static void explain_graph(struct driver *d, const char *value)
{
	err_set(&d->diagnostic, 0, "PROF_STEP=%.40s: no CUDA graph was launched more than once",
		value);
}

static void explain_sync(struct driver *d, const char *value)
{
	err_set(&d->diagnostic, 0,
		"PROF_STEP=%.40s: no launch followed a synchronization (such as "
		"cudaDeviceSynchronize; a blocking cudaMemcpy does not count), so no step ended",
		value);
}

static void explain_time(struct driver *d, const char *value)
{
	err_set(&d->diagnostic, 0,
		"PROF_STEP=%.40s: the program launched nothing after the first time slice", value);
}

static void explain_api(struct driver *d, const char *value)
{
	err_set(&d->diagnostic, 0,
		"PROF_STEP=%.40s: neither cudaProfilerStart() nor profrun_step() was called",
		value);
}

static void explain_nvtx(struct driver *d, const char *value)
{
	if (tables_fact(&d->ingest->dict.t, JOURNAL_INFO_STEP_RANGE))
		err_set(&d->diagnostic, 0,
			"PROF_STEP=%.60s: only one NVTX range of that name began; a step lasts "
			"from the start of one range to the start of the next",
			value);
	else
		err_set(&d->diagnostic, 0,
			"PROF_STEP=%.60s: no NVTX range of that name began; check the name, and "
			"that neither PROF_NVTX=off nor another tool's NVTX_INJECTION64_PATH hides "
			"the ranges",
			value);
}

static void explain_no_steps(struct driver *d)
{
	static void (*const by_mode[])(struct driver * d, const char *value) = {
		[STEP_MODE_AUTO] = explain_auto,   [STEP_MODE_KERNEL] = explain_kernel,
		[STEP_MODE_GRAPH] = explain_graph, [STEP_MODE_SYNC] = explain_sync,
		[STEP_MODE_TIME] = explain_time,   [STEP_MODE_API] = explain_api,
		[STEP_MODE_NVTX] = explain_nvtx,
	};
	const struct journal_steps *s = driver_steps(d);
	const char *value = tables_fact(&d->ingest->dict.t, "PROF_STEP");
	value = value ? value : step_detector_name(s);
	if (s->wants_function)
		explain_function(d, value);
	else if (s->wants_optimizer)
		explain_optimizer(d, value);
	else if (s->mode < sizeof(by_mode) / sizeof(*by_mode))
		by_mode[s->mode](d, value);
}

/* 2 warm-up steps, 3 recorded ones, and the last step, which has no end */
enum { FITTING_STEPS = 6 };

/*
 * Returns the default schedule (warmup=2, active=3) with its window in the middle of a run of
 * `n_steps` steps, or "" if the run is too short for it.
 */
static const char *fitting_schedule(char *to, size_t bytes, uint64_t n_steps)
{
	if (n_steps < FITTING_STEPS)
		return "";
	snprintf(to, bytes, "PROF_SCHEDULE=skip_first=%llu,warmup=2,active=3,repeat=1 or ",
		 (unsigned long long)(n_steps - FITTING_STEPS) / 2);
	return to;
}

/*
 * Explains that the run ended before the first recorded step, `first`. If the schedule would have
 * fitted the run but the steps were detected too late, another schedule would not help. So no
 * window is suggested then.
 */
static void explain_too_short(struct driver *d, uint64_t first)
{
	const struct journal_steps *s = driver_steps(d);
	uint64_t n_steps = ingest_count_steps(d->ingest), shift = atomic_load(&s->schedule_shift);
	char fitting[96];
	if (first - shift < n_steps)
		err_set(&d->diagnostic, 0,
			"the run had %llu steps, and the first step to record was %llu (counted "
			"from 0), but steps were detected too late to record it%s; make the run "
			"longer, or set PROF_SCHEDULE=always",
			(unsigned long long)n_steps, (unsigned long long)(first - shift),
			tables_fact(&d->ingest->dict.t, "rank")
				? " (ranks start together, once each has detected its steps)"
				: "");
	else
		err_set(&d->diagnostic, 0,
			"only %llu steps ran, but recording starts at step %llu (counted from 0); "
			"set %sPROF_SCHEDULE=always",
			(unsigned long long)n_steps, (unsigned long long)first,
			fitting_schedule(fitting, sizeof(fitting), n_steps));
}

void explain_nothing_recorded(struct driver *d)
{
	const struct ingest *f = d->ingest;
	uint64_t first = schedule_first_active(&f->schedule) +
			 atomic_load(&f->reader.header->steps.schedule_shift);
	char damage[DRIVER_DAMAGE_BYTES];
	if (*driver_damage(d, damage, sizeof(damage)))
		err_set(&d->diagnostic, 0, "the intact part of the journal has no recorded step");
	else if (f->schedule.off)
		err_set(&d->diagnostic, 0, "PROF_SCHEDULE=off: no step was recorded");
	else if (!d->has_steps)
		explain_no_steps(d);
	else
		explain_too_short(d, first);
}
