/*
 * Finds the resource that limits a step: the one whose speed-up saves most. The GPU, the calls and
 * the program's own code between calls are needed, so they are played twice as fast. Waits, data
 * loading, copies, memory calls and other ranks can be avoided, so they are played without cost.
 *
 * Other steps of the program would give other savings (resample.h). If some other resource may then
 * save most, the verdict is `unclear`.
 */
#include "core/verdict/judge_parts.h"

#include <math.h>

/* If there are more steps, the means of successive steps are resampled. */
enum { BLOCKS_MOST = 500 };

/* A resource is second in at least this share of the draws, or it is not named. The steps that are
 * drawn are the same for all, so one that is smaller in every step is never second. */
static const double second_least = 0.01;
/* The confidence in an unclear verdict: the steps that were recorded may say which resource saves
 * most, but they do not say it of other steps of the program. */
static const double unclear_most = 0.5;
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

/* ---- Plays ---- */

double *judge_step_gains(const struct judge *j, bool is_of_mean, uint32_t *n)
{
	uint32_t n_steps = is_of_mean ? j->w.replay.n_steps : j->w.n_typical,
		 block = (n_steps + BLOCKS_MOST - 1) / BLOCKS_MOST, k = 0;
	*n = n_steps / block;
	double *ms = mem_zero(*n * sizeof(*ms));
	for (uint32_t i = 0; i < j->w.replay.n_steps && k < *n * block; i++)
		if (is_of_mean || j->w.is_typical[i])
			ms[k++ / block] += j->w.gains_ns[i] * j->w.undisturbed_share / 1e6 / block;
	return ms;
}

static void fill_savings(struct judge *j)
{
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
	for (int i = 0; i < RESOURCES; i++) {
		struct whatif_result result = { 0 };
		whatif_play(&j->w, &judge_resources[i].change, 1, &result, NULL);
		bool is_played = result.calls > 0 || result.works > 0;
		j->steps_ms[i] = judge_step_gains(j, false, &j->n_drawn);
		if (!is_played) /* the gains are those of the play before */
			memset(j->steps_ms[i], 0, j->n_drawn * sizeof(*j->steps_ms[i]));
		j->drawn[i].steps = j->steps_ms[i];
		j->drawn[i].value = fmax(0, result.typical_gain_ms);
		if (i == RESOURCE_INPUT)
			j->input_seen = is_played ? whatif_input_seen(&j->w) : 0;
		if (judge_resources[i].change.kind == WHATIF_FREE)
			all[n++] = judge_resources[i].change;
	}
	j->all_causes_ms = judge_typical_gain_ms(j, all, n);
	resample(j->drawn, RESOURCES, j->n_drawn);
	fill_savings(j);
}

/* ---- The verdict ---- */

static double idle_ms_of(const struct findings *f, const struct finding_gpu *g)
{
	return f->n_typical < f->n_played ? g->typical_idle_ms : g->idle_ms;
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

/* Returns the share of draws in which the resource saves more than every other one that is allowed.
 * `without`: one more resource that does not count; RESOURCES: none. */
static double share_first(const struct judge *j, int resource, const bool *allowed, int without)
{
	int n = 0;
	for (int k = 0; k < RESAMPLED; k++) {
		bool is_first = true;
		for (int i = 0; i < RESOURCES; i++)
			is_first &= i == resource || i == without || !allowed[i] ||
				    j->drawn[resource].means[k] > j->drawn[i].means[k];
		n += is_first;
	}
	return (double)n / RESAMPLED;
}

/* Returns how many steps must be recorded to show that `first` saves more than `second`; 0: more
 * steps do not help, or too many would be needed. */
static uint32_t steps_needed(const struct judge *j, int first, int second)
{
	const struct resampled *a = &j->drawn[first], *b = &j->drawn[second];
	uint32_t block = j->w.n_typical / j->n_drawn;
	for (uint32_t n = STEPS_MORE; n <= STEPS_MOST; n += STEPS_MORE) {
		uint32_t blocks = n / block ? n / block : 1;
		if (n > j->w.n_typical &&
		    a->value - resampled_half_width(a, j->n_drawn, blocks) >
			    b->value + resampled_half_width(b, j->n_drawn, blocks))
			return n;
	}
	return 0;
}

static void say_what_settles(struct judge *j, int a, int b)
{
	const struct whatif_change both[] = { judge_resources[a].change,
					      judge_resources[b].change };
	uint32_t n = j->f->timeline->steps.at[0].is_whole_run ? 0 : steps_needed(j, a, b);
	if (n)
		judge_say(j->f,
			  "to settle it, record at least %u steps (active=%u in PROF_SCHEDULE)", n,
			  n);
	else
		judge_say(j->f, "%s %s and %s: -%.2f ms",
			  j->f->timeline->steps.at[0].is_whole_run
				  ? "both matter:"
				  : "more steps would not settle it;",
			  judge_resources[a].played, judge_resources[b].played,
			  judge_typical_gain_ms(j, both, 2));
}

/* Returns true if `other` may save more than `first`: their intervals overlap, and no third
 * resource always saves more than `other`. */
static bool may_be_first(const struct judge *j, int first, int other, const bool *allowed)
{
	const struct finding_saving *a = &j->saving[first], *b = &j->saving[other];
	return b->high_ms > 0 && b->high_ms >= a->low_ms &&
	       share_first(j, other, allowed, first) >= second_least;
}

double judge_decide(struct judge *j)
{
	struct findings *f = j->f;
	bool allowed[RESOURCES], is_full = has_full_gpu(j);
	for (int i = 0; i < RESOURCES; i++)
		allowed[i] = !is_full || !fills_gpu(i);
	int first = first_of(j, allowed), second = RESOURCES;
	f->verdict = VERDICT_UNKNOWN;
	if (first == RESOURCES)
		return 0;
	f->verdict = judge_resources[first].verdict;
	for (int i = 0; i < RESOURCES; i++) {
		if (i == first || !allowed[i] || !may_be_first(j, first, i, allowed))
			continue;
		if (second == RESOURCES || j->drawn[i].value > j->drawn[second].value)
			second = i;
	}
	for (int i = 0; second != RESOURCES && i < RESOURCES; i++)
		if (allowed[i] && (i == first || may_be_first(j, first, i, allowed)))
			vec_push(&f->between, judge_resources[i].verdict);
	if (second != RESOURCES) {
		f->verdict = VERDICT_UNCLEAR;
		say_what_settles(j, first, second);
	}
	double share = share_first(j, first, allowed, RESOURCES);
	return second == RESOURCES ? share : fmin(share, unclear_most);
}
