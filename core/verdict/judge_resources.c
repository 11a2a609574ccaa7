/*
 * Finds the resource that limits a step: the one whose speed-up saves most. The GPU, the calls and
 * the program's own code between calls are needed, so they are played twice as fast. Waits, data
 * loading, copies, memory calls and other ranks can be avoided, so they are played without cost. So
 * are times in which samples show that the CPU did not work: it slept, waited for a lock or a file,
 * or collected garbage.
 *
 * Other steps of the program would give other savings (resample.h). If some other resource may then
 * save most, the verdict is `unclear`.
 */
#include "core/analysis/host_kinds.h"
#include "core/analysis/host_sums.h"
#include "core/analysis/idle.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* If there are more steps, the means of successive steps are resampled. */
enum { BLOCKS_MOST = 500 };

/* A resource is named next to the first one if it saves more in at least this share of the draws:
 * then the 95 % interval of the difference contains 0. */
static const double second_least = 0.025;
/* A third one is named if it is the first one at least this many times as often as the second. */
static const double third_least = 0.5;
/* The confidence in an unclear verdict: the steps that were recorded may say which resource saves
 * most, but they do not say it of other steps of the program. */
static const double unclear_most = 0.5;
/* The most by which the savings of a run may differ from those of another one. Between sixteen runs
 * of a PyTorch loop, with and without other load, they differed by 11 to 49 %. Steps that differ by
 * more do so because of the program, and the draws show that. */
static const double run_error_most = 0.5;
/* The verdict refers to all steps where those that are not typical take more than this share of the
 * time and something else would save most in all steps. Up to the second share, it could be either:
 * the share of rare steps differs from run to run. */
static const double left_out_some = 0.5, left_out_most = 2.0 / 3;
/* The same where less than this share of what typical steps would save is saved in all of them. A
 * GPU whose queue is long works on during a pause of the CPU: if it were faster, it would be idle
 * then. */
static const double realized_least = 0.5;
/* Fewer steps that are not typical may be chance, as if the machine was busy for a moment. */
enum { LEFT_OUT_LEAST = 3 };
/* The savings of data loading by worker processes differ from run to run by this many times the
 * share of the time in which the launching threads waited for a CPU. In five runs each of three
 * PyTorch programs with two workers, with shares of 0.27 to 0.64, their logarithms had standard
 * deviations of 0.7 to 1.4. */
static const double workers_error = 2;
/* More recorded steps than STEPS_MOST are not asked for. The number is rounded to STEPS_MORE. */
enum { STEPS_MORE = 10, STEPS_MOST = 500 };

const struct judge_resource_row judge_resources[RESOURCES] = {
	[RESOURCE_GPU] = { VERDICT_GPU,
			   { .kind = WHATIF_TWICE, .what = WHATIF_TWICE_GPU },
			   "with a GPU twice as fast",
			   "the GPU's own work" },
	[RESOURCE_LAUNCH] = { VERDICT_LAUNCH,
			      { .kind = WHATIF_TWICE, .what = WHATIF_TWICE_LAUNCH },
			      "with launches twice as fast",
			      "launch overhead" },
	[RESOURCE_HOST] = { VERDICT_HOST,
			    { .kind = WHATIF_TWICE, .what = WHATIF_TWICE_HOST },
			    "with CPU code between calls twice as fast",
			    "CPU code between CUDA calls" },
	[RESOURCE_INPUT] = { VERDICT_INPUT,
			     { .kind = WHATIF_FREE, .what = WHATIF_FREE_INPUT },
			     "without data loading",
			     "data loading" },
	[RESOURCE_SYNC] = { VERDICT_SYNC,
			    { .kind = WHATIF_FREE, .what = WHATIF_FREE_SYNC },
			    "without synchronization",
			    "synchronization" },
	[RESOURCE_COPY] = { VERDICT_COPY,
			    { .kind = WHATIF_FREE, .what = WHATIF_FREE_COPY },
			    "without copies",
			    "copies" },
	[RESOURCE_MEMORY] = { VERDICT_MEMORY,
			      { .kind = WHATIF_FREE, .what = WHATIF_FREE_ALLOC },
			      "without allocation and freeing",
			      "allocation and freeing" },
	[RESOURCE_COLLECTIVE] = { VERDICT_COLLECTIVE,
				  { .kind = WHATIF_FREE, .what = WHATIF_FREE_COLLECTIVE },
				  "without communication",
				  "communication" },
};

const char *judge_played(const struct judge *j, int resource)
{
	if (resource == RESOURCE_HOST && j->has_stalls)
		return "without stalls between calls, and with CPU code twice as fast";
	return judge_resources[resource].played;
}

/* ---- Plays ---- */

double *judge_step_gains(const struct judge *j, bool is_of_mean, uint32_t *n)
{
	uint32_t n_steps = is_of_mean ? j->w.replay.n_steps : j->w.n_typical,
		 block = n_steps ? (n_steps + BLOCKS_MOST - 1) / BLOCKS_MOST : 1, k = 0;
	*n = n_steps / block;
	double *ms = mem_zero(*n * sizeof(*ms));
	for (uint32_t i = 0; i < j->w.replay.n_steps && k < *n * block; i++)
		if (is_of_mean || j->w.is_typical[i])
			ms[k++ / block] += j->w.gains_ns[i] * j->w.undisturbed_share / 1e6 / block;
	return ms;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;
	return (*x > *y) - (*x < *y);
}

/* Returns the relative deviation of the typical steps' values, from their quartiles. `by_step`: a
 * value for each played step. */
static double deviation_of(const struct judge *j, const double *by_step)
{
	const double quartiles_of_normal = 1.349;
	double *typical = mem_zero((j->w.n_typical + 1) * sizeof(*typical)), spread;
	uint32_t n = 0;
	for (uint32_t i = 0; i < j->w.replay.n_steps; i++)
		if (j->w.is_typical[i])
			typical[n++] = by_step[i];
	qsort(typical, n, sizeof(*typical), by_value);
	spread = n && typical[n / 2] > 0 ? (typical[n * 3 / 4] - typical[n / 4]) / typical[n / 2]
					 : INFINITY;
	free(typical);
	return spread / quartiles_of_normal;
}

static double steps_vary(const struct judge *j)
{
	return deviation_of(j, j->w.lengths_ns);
}

/*
 * The same of the steps without data loading and without times in which the CPU does not work. How
 * long a program waits for a lock or for a batch may differ from step to step whatever else runs on
 * the machine.
 */
static double work_varies(struct judge *j)
{
	const struct whatif_change changes[] = { judge_resources[RESOURCE_HOST].change,
						 judge_resources[RESOURCE_INPUT].change };
	struct whatif_result result;
	double *work_ns = mem_zero((j->w.replay.n_steps + 1) * sizeof(*work_ns)), deviation;
	whatif_play(&j->w, changes, 2, &result, NULL);
	for (uint32_t i = 0; i < j->w.replay.n_steps; i++)
		work_ns[i] = j->w.lengths_ns[i] - j->w.gains_ns[i];
	deviation = deviation_of(j, work_ns);
	free(work_ns);
	return deviation;
}

double judge_run_error(struct judge *j)
{
	return fmin(run_error_most, fmin(steps_vary(j), work_varies(j)));
}

double judge_base_ms(const struct judge *j)
{
	return j->f->is_of_all ? j->f->mean_ms : j->step_ms;
}

/* Returns the share of the loading time in which batches come from other processes. */
static double share_of_workers(const struct judge *j)
{
	const struct host_sums *s = &j->w.timeline->host;
	double ns = 0, all_ns = 0;
	for (size_t i = 0; i < s->at.n; i++) {
		const struct host_sum *x = &s->at.at[i];
		bool is_of_workers = false;
		if (x->kind != HOST_LOADER || !x->stack)
			continue;
		struct frame_list list = frames_of(j->w.timeline->frames, x->stack);
		for (size_t k = 0; k < list.n && !is_of_workers; k++)
			is_of_workers = strstr(list.at[k]->function, "_MultiProcessing") ||
					strstr(list.at[k]->file, "/multiprocessing/");
		all_ns += (double)x->ns;
		ns += is_of_workers ? (double)x->ns : 0;
	}
	return all_ns > 0 ? ns / all_ns : 0;
}

/*
 * Returns the same error of data loading. Other load has the CPUs of a loader's worker processes,
 * too, but for how long is not known: without it, the program would wait less for them.
 */
static double input_error(const struct judge *j)
{
	double contention = j->f->measured_ms > 0 ? j->f->contention_ms / j->f->measured_ms : 0,
	       error = workers_error * share_of_workers(j) * contention;
	return fmax(j->run_error, fmin(1, error));
}

static void fill_savings(struct judge *j)
{
	j->f->savings.n = 0;
	for (int i = 0; i < RESOURCES; i++) {
		struct finding_saving *s = &j->saving[i];
		s->resource = judge_resources[i].verdict;
		s->ms = j->drawn[i].value;
		resampled_interval(&j->drawn[i], &s->low_ms, &s->high_ms);
		vec_push(&j->f->savings, *s);
	}
}

void judge_play_resources(struct judge *j)
{
	struct whatif_change all[RESOURCES];
	size_t n = 0;
	j->run_error = judge_run_error(j);
	for (int i = 0; i < RESOURCES; i++) {
		struct whatif_result result = { 0 };
		whatif_play(&j->w, &judge_resources[i].change, 1, &result, NULL);
		bool is_played = result.calls > 0 || result.works > 0;
		j->steps_ms[i] = judge_step_gains(j, false, &j->n_drawn);
		j->all_steps_ms[i] = judge_step_gains(j, true, &j->n_all_drawn);
		if (!is_played) { /* the gains are those of the play before */
			memset(j->steps_ms[i], 0, j->n_drawn * sizeof(*j->steps_ms[i]));
			memset(j->all_steps_ms[i], 0, j->n_all_drawn * sizeof(*j->all_steps_ms[i]));
		}
		j->drawn[i].steps = j->steps_ms[i];
		j->drawn[i].value = fmax(0, result.typical_gain_ms);
		j->mean_ms[i] = fmax(0, result.mean_gain_ms);
		j->drawn[i].run_error = i == RESOURCE_GPU     ? 0
					: i == RESOURCE_INPUT ? input_error(j)
							      : j->run_error;
		j->drawn[i].limit = j->step_ms;
		if (i == RESOURCE_HOST)
			j->has_stalls = is_played && whatif_has_stalls(&j->w);
		if (judge_resources[i].change.kind == WHATIF_FREE)
			all[n++] = judge_resources[i].change;
	}
	j->all_causes_ms = judge_typical_gain_ms(j, all, n);
	resample(j->drawn, RESOURCES, j->n_drawn);
	fill_savings(j);
}

/* ---- The verdict ---- */

static bool is_of_typical(const struct findings *f)
{
	return f->n_typical < f->n_played && !f->is_of_all;
}

static double idle_ms_of(const struct findings *f, const struct finding_gpu *g)
{
	return is_of_typical(f) ? g->typical_idle_ms : g->idle_ms;
}

/* Returns the number of steps that the verdict refers to. */
static uint32_t n_judged(const struct judge *j)
{
	return j->f->is_of_all ? j->w.replay.n_steps : j->w.n_typical;
}

/* Returns true if a device is hardly idle in a step. */
static bool has_full_gpu(const struct judge *j)
{
	for (size_t i = 0; i < j->f->gpus.n; i++)
		if (idle_ms_of(j->f, &j->f->gpus.at[i]) < judge_worth_ms(j))
			return true;
	return false;
}

/* Returns true if the resource makes steps shorter by keeping a device busy that would be idle. */
static bool fills_gpu(int resource)
{
	return resource != RESOURCE_GPU && resource != RESOURCE_COPY &&
	       resource != RESOURCE_COLLECTIVE;
}

/* Returns the resource among `allowed` that saves most; RESOURCES: none saves anything. */
static int first_of(const struct judge *j, const bool *allowed)
{
	int first = RESOURCES;
	double most = 0;
	for (int i = 0; i < RESOURCES; i++) {
		if (!allowed[i] || j->drawn[i].value <= most)
			continue;
		most = j->drawn[i].value;
		first = i;
	}
	return first;
}

/* Returns the share of draws in which the resource saves more than every other one that is
 * allowed. */
static double share_first(const struct judge *j, int resource, const bool *allowed)
{
	int n = 0;
	for (int k = 0; k < RESAMPLED; k++) {
		bool is_first = true;
		for (int i = 0; i < RESOURCES; i++)
			is_first &= i == resource || !allowed[i] ||
				    j->drawn[resource].means[k] > j->drawn[i].means[k];
		n += is_first;
	}
	return (double)n / RESAMPLED;
}

/* Returns whether `n` steps without other load on the machine show that `first` saves more than
 * `second`. */
static bool would_settle(const struct judge *j, int first, int second, uint32_t n)
{
	const struct resampled *a = &j->drawn[first], *b = &j->drawn[second];
	uint32_t block = n_judged(j) / j->n_drawn, blocks = n / block ? n / block : 1;
	return a->value - resampled_half_width(a, j->n_drawn, blocks) >
	       b->value + resampled_half_width(b, j->n_drawn, blocks);
}

/* Returns how many steps must be recorded to show that `first` saves more than `second`; 0: more
 * steps do not help, or too many would be needed. */
static uint32_t steps_needed(const struct judge *j, int first, int second)
{
	for (uint32_t n = STEPS_MORE; n <= STEPS_MOST; n += STEPS_MORE)
		if (n > n_judged(j) && would_settle(j, first, second, n))
			return n;
	return 0;
}

/*
 * Returns whether more steps may show which of the two saves more. The means of many steps may
 * differ from those of the recorded ones, the more so the fewer were recorded.
 */
static bool more_may_settle(const struct judge *j, int a, int b)
{
	uint32_t block = n_judged(j) / j->n_drawn,
		 n = n_judged(j) > STEPS_MOST ? n_judged(j) : STEPS_MOST;
	return resampled_share_apart(&j->drawn[a], &j->drawn[b], j->n_drawn, n / block) >=
	       second_least;
}

static double both_gain_ms(struct judge *j, const struct whatif_change *both)
{
	struct whatif_result result;
	if (whatif_play(&j->w, both, 2, &result, NULL))
		return 0;
	return fmax(0, j->f->is_of_all ? result.mean_gain_ms : result.typical_gain_ms);
}

static void say_what_settles(struct judge *j, int a, int b)
{
	const struct whatif_change both[] = { judge_resources[a].change,
					      judge_resources[b].change };
	bool is_unit = j->f->timeline->steps.at[0].is_whole_run;
	uint32_t n = is_unit ? 0 : steps_needed(j, a, b);
	double both_ms = both_gain_ms(j, both);
	bool is_of_workers = (a == RESOURCE_INPUT || b == RESOURCE_INPUT) &&
			     j->drawn[RESOURCE_INPUT].run_error > j->run_error;
	if (!is_unit && is_of_workers)
		judge_say(j->f,
			  "other load takes CPUs from the loader's processes; to settle it, run "
			  "again while nothing else loads the machine");
	else if (!is_unit && would_settle(j, a, b, n_judged(j)))
		judge_say(j->f,
			  "steps vary by %.0f %%; to settle it, run again while nothing else loads "
			  "the machine",
			  100 * j->run_error);
	else if (n)
		judge_say(j->f,
			  "to settle it, record at least %u steps (active=%u in PROF_SCHEDULE)", n,
			  n);
	else if (!is_unit && more_may_settle(j, a, b))
		judge_say(j->f, "%u %sstep%s recorded: more may settle it; %s and %s: -%.*f ms",
			  n_judged(j), j->f->is_of_all ? "" : "typical ",
			  n_judged(j) == 1 ? " was" : "s were", judge_played(j, a),
			  judge_played(j, b), MS(both_ms));
	else
		judge_say(j->f, "%s %s and %s: -%.*f ms",
			  is_unit ? "both matter:" : "more steps would not settle it;",
			  judge_played(j, a), judge_played(j, b), MS(both_ms));
}

/* Returns the share of draws in which `other` saves more than `first`. */
static double share_above(const struct judge *j, int other, int first)
{
	int n = 0;
	for (int k = 0; k < RESAMPLED; k++)
		n += j->drawn[other].means[k] > j->drawn[first].means[k];
	return (double)n / RESAMPLED;
}

/*
 * Marks the resources that may save more than `first`: the one that does so most often, if that is
 * often enough, and any other that is the first one nearly as often. Resources that are seldom the
 * first one are left out, because which of them is named would change from run to run. So are those
 * whose savings are not worth naming at best. Returns the one that does so most often; RESOURCES:
 * none.
 */
static int find_rivals(const struct judge *j, int first, const bool *allowed, bool *is_rival)
{
	int second = RESOURCES;
	double above[RESOURCES] = { 0 };
	for (int i = 0; i < RESOURCES; i++) {
		is_rival[i] = false;
		if (i == first || !allowed[i] || !(j->drawn[i].value > 0) ||
		    j->saving[i].high_ms < judge_worth_ms(j))
			continue;
		above[i] = share_above(j, i, first);
		if (above[i] >= second_least && (second == RESOURCES || above[i] > above[second]))
			second = i;
	}
	for (int i = 0; second != RESOURCES && i < RESOURCES; i++)
		is_rival[i] = i == second ||
			      (above[i] >= second_least &&
			       share_first(j, i, allowed) >=
				       third_least * share_first(j, second, allowed));
	return second;
}

static double typical_ms(const struct findings *f, const struct finding_idle *x)
{
	return is_of_typical(f) ? x->typical_ms : x->ms;
}

/*
 * Some idle time is of no resource: code is loaded once, work that was launched long ago waits for
 * something else, and nothing shows what the CPU did in unknown time. Returns the cause on the
 * device that has most of it, if it is more than `least_ms`; else NULL. `of_any`: of all causes.
 */
static const struct finding_idle *find_unplayed(const struct findings *f, double least_ms,
						bool of_any)
{
	const struct finding_idle *most = NULL;
	for (size_t i = 0; i < f->idle.n; i++) {
		const struct finding_idle *x = &f->idle.at[i];
		bool is_unplayed = x->cause == IDLE_MODULE || x->cause == IDLE_DELAY ||
				   x->cause == IDLE_UNKNOWN || of_any;
		if (!is_unplayed || typical_ms(f, x) <= least_ms)
			continue;
		least_ms = typical_ms(f, x);
		most = x;
	}
	return most;
}

static void say_unplayed(struct judge *j, const struct finding_idle *x)
{
	struct findings *f = j->f;
	double ms = typical_ms(f, x);
	if (x->cause == IDLE_MODULE)
		judge_say(f,
			  "GPU %u is idle for %.*f of %.*f ms while code is loaded, which happens "
			  "once: record more steps",
			  x->device, MS(ms), MS(f->measured_ms));
	else if (x->cause == IDLE_DELAY)
		judge_say(f,
			  "GPU %u is idle for %.*f of %.*f ms while launched work waits to start: "
			  "another process may be using the GPU (see nvidia-smi)",
			  x->device, MS(ms), MS(f->measured_ms));
	else if (x->cause == IDLE_UNKNOWN)
		judge_say(f, "GPU %u is idle for %.*f of %.*f ms, and nothing recorded shows why",
			  x->device, MS(ms), MS(f->measured_ms));
	else
		judge_say(f,
			  "GPU %u is idle for %.*f of %.*f ms (%s), but neither faster parts of "
			  "the "
			  "machine nor fewer waits would save much",
			  x->device, MS(ms), MS(f->measured_ms), idle_causes[x->cause].noun);
}

/* Returns true, and says why, if no resource limits the step: none would save much, or more time is
 * lost otherwise than the `first` one would save. */
static bool is_unlimited(struct judge *j, int first)
{
	double worth = judge_worth_ms(j);
	bool saves_little = j->saving[first].high_ms < worth;
	const struct finding_idle *x =
		find_unplayed(j->f, fmax(worth, j->drawn[first].value), saves_little);
	if (x)
		say_unplayed(j, x);
	return x || saves_little;
}

/* Marks the resources whose speed-up may save time. Returns whether a device is hardly idle. */
static bool find_allowed(const struct judge *j, bool *allowed)
{
	bool is_full = has_full_gpu(j);
	for (int i = 0; i < RESOURCES; i++)
		allowed[i] = !is_full || !fills_gpu(i);
	return is_full;
}

static void judge_all_steps(struct judge *j)
{
	j->f->is_of_all = true;
	j->n_drawn = j->n_all_drawn;
	for (int i = 0; i < RESOURCES; i++) {
		j->drawn[i].steps = j->all_steps_ms[i];
		j->drawn[i].value = j->mean_ms[i];
		j->drawn[i].limit = j->f->mean_ms;
	}
	resample(j->drawn, RESOURCES, j->n_drawn);
	fill_savings(j);
}

/* Returns whether little of what the resource would save in typical steps is saved in all of them,
 * because other steps become longer. */
static bool is_lost(const struct judge *j, int resource)
{
	return j->mean_ms[resource] * j->w.replay.n_steps <
	       realized_least * j->drawn[resource].value * j->w.n_typical;
}

/* Returns the resource that saves most in all steps together; RESOURCES: none saves enough to be
 * named. */
static int first_in_mean(const struct judge *j)
{
	int first = RESOURCES;
	double most = judge_worth_ms(j);
	for (int i = 0; i < RESOURCES; i++) {
		first = j->mean_ms[i] > most ? i : first;
		most = fmax(most, j->mean_ms[i]);
	}
	return first;
}

/*
 * Lets the verdict refer to all steps if a verdict on typical steps would mislead. Returns the
 * resource that saves most in typical steps, if the verdict could be that one, too; else RESOURCES.
 */
static int choose_steps(struct judge *j)
{
	struct findings *f = j->f;
	bool allowed[RESOURCES];
	find_allowed(j, allowed);
	int typical = first_of(j, allowed), first = first_in_mean(j);
	if (f->n_played - f->n_typical < LEFT_OUT_LEAST || first == RESOURCES ||
	    typical == RESOURCES || first == typical)
		return RESOURCES;
	bool lost = is_lost(j, typical);
	if (!lost && f->left_out_share <= left_out_some)
		return RESOURCES;
	f->typical_verdict = judge_resources[typical].verdict;
	judge_all_steps(j);
	return lost || f->left_out_share > left_out_most ? RESOURCES : typical;
}

/*
 * Several resources may limit typical steps. If the steps that are not typical take most of the
 * time, they settle which one saves most: lets the verdict refer to all steps. Returns whether it
 * does.
 */
static bool settle_by_all_steps(struct judge *j)
{
	struct findings *f = j->f;
	if (f->is_of_all || f->n_played - f->n_typical < LEFT_OUT_LEAST ||
	    f->left_out_share <= left_out_most || first_in_mean(j) == RESOURCES)
		return false;
	f->typical_verdict = f->verdict;
	judge_all_steps(j);
	return true;
}

/* Typical steps have one limit, and all of them together another one. */
static void say_two_kinds(struct judge *j, int typical)
{
	judge_say(j->f,
		  "typical steps would save most %s; the other steps take %.0f %% of the time",
		  judge_played(j, typical), 100 * j->f->left_out_share);
}

double judge_decide(struct judge *j)
{
	struct findings *f = j->f;
	bool allowed[RESOURCES], is_rival[RESOURCES];
	int typical = choose_steps(j);
	bool is_full = find_allowed(j, allowed);
	int first = first_of(j, allowed);
	f->verdict = VERDICT_UNKNOWN;
	if (first == RESOURCES)
		return 0;
	if (!is_full && is_unlimited(j, first))
		return 0;
	f->verdict = judge_resources[first].verdict;
	if (typical != RESOURCES && typical != first) {
		vec_push(&f->between, judge_resources[first].verdict);
		vec_push(&f->between, judge_resources[typical].verdict);
		f->verdict = VERDICT_UNCLEAR;
		say_two_kinds(j, typical);
		return unclear_most;
	}
	int second = find_rivals(j, first, allowed, is_rival);
	if (second != RESOURCES && settle_by_all_steps(j)) {
		find_allowed(j, allowed);
		first = first_of(j, allowed);
		f->verdict = judge_resources[first].verdict;
		second = find_rivals(j, first, allowed, is_rival);
	}
	for (int i = 0; second != RESOURCES && i < RESOURCES; i++)
		if (i == first || is_rival[i])
			vec_push(&f->between, judge_resources[i].verdict);
	if (second != RESOURCES) {
		f->verdict = VERDICT_UNCLEAR;
		say_what_settles(j, first, second);
	}
	double share = share_first(j, first, allowed);
	return second == RESOURCES ? share : fmin(share, unclear_most);
}
