/* Shared by judge*.c and advice*.c, which implement judge.h. A play is one run of the replay with
 * some changes (core/whatif/whatif.h). */
#ifndef CORE_JUDGE_PARTS_H
#define CORE_JUDGE_PARTS_H

#include "core/analysis/findings.h"
#include "core/analysis/program_kind.h"
#include "core/analysis/timeline.h"
#include "core/verdict/resample.h"
#include "core/whatif/whatif.h"

enum judge_resource {
	RESOURCE_GPU,
	RESOURCE_LAUNCH,
	RESOURCE_HOST,
	RESOURCE_INPUT,
	RESOURCE_SYNC,
	RESOURCE_COPY,
	RESOURCE_MEMORY,
	RESOURCE_COLLECTIVE,
	RESOURCES
};

struct judge_resource_row {
	uint8_t verdict;
	struct whatif_change change; /* the resource's speed-up */
	const char *played;	     /* the change in words, for the evidence */
	const char *noun;
};
extern const struct judge_resource_row judge_resources[RESOURCES];

struct judge {
	struct findings *f;
	struct whatif w;
	double step_ms;	      /* a typical step without recording overhead */
	double all_causes_ms; /* savings if all resources that can be avoided cost nothing */
	/* savings if the CPU takes half as long for its own work and for its calls */
	double host_half_ms;
	struct program_kind program;
	/* By resource: what its speed-up saves, in typical steps or, if f->is_of_all, in all of
	 * them. The n_drawn values of `drawn` are judge_step_gains(): `steps_ms` of typical steps,
	 * `all_steps_ms` of all of them. */
	double *steps_ms[RESOURCES], *all_steps_ms[RESOURCES];
	struct resampled drawn[RESOURCES];
	struct finding_saving saving[RESOURCES];
	double mean_ms[RESOURCES]; /* by resource: what its speed-up saves in the mean step */
	uint32_t n_drawn, n_all_drawn;
	double run_error; /* of savings that depend on the CPU, see struct resampled */
	bool has_stalls;  /* whatif_has_stalls() of RESOURCE_HOST */
	VEC(struct whatif_change) advised; /* the changes of all advice, one after the other */
};

/* For steps shorter than 0.5 ms, savings are worth a person's time from this share of the step. */
static const double judge_binds = 0.10;

/* Returns whether the run has no steps, so that it counts as one unit. */
static inline bool judge_is_unit(const struct findings *f)
{
	return f->timeline->steps.n && f->timeline->steps.at[0].is_whole_run;
}

/* Returns "per step", or "in the whole run" if the run has no steps. */
static inline const char *judge_per_step(const struct findings *f)
{
	return judge_is_unit(f) ? "in the whole run" : "per step";
}

/* ---- judge_resources.c ---- */

/*
 * Returns the standard deviation of savings of CPU time from run to run, as a share. Other load on
 * the machine changes more slowly than from step to step, so that the steps of one run share it.
 * How much it matters is seen from step to step: the result is the relative deviation of the
 * typical steps' lengths, from their quartiles, but at most 0.5. If steps differ less without data
 * loading and without times in which the CPU does not work, that deviation counts.
 * docs/internals/savings.md has measurements.
 */
double judge_run_error(struct judge *j);

/* Returns the length, in ms, of the steps that the verdict refers to. */
double judge_base_ms(const struct judge *j);

/* Returns the resource's speed-up in words, for the evidence. Static. */
const char *judge_played(const struct judge *j, int resource);
/* Fills steps_ms, all_steps_ms, drawn, saving, has_stalls, all_causes_ms and f->savings. The caller
 * frees steps_ms and all_steps_ms. */
void judge_play_resources(struct judge *j);
/* Sets f->verdict, f->between and f->is_of_all, and says what would settle an unclear verdict.
 * Returns the share of draws in which the resource with the largest savings is the first one. */
double judge_decide(struct judge *j);
/* Returns what the last play saved, in ms, in each of the `n` typical steps or, if `is_of_mean`, in
 * each of all played steps. If there are very many steps, returns means of successive steps. The
 * caller frees the result. */
double *judge_step_gains(const struct judge *j, bool is_of_mean, uint32_t *n);

/* ---- judge_gains.c ---- */

/* Returns the least savings, in ms, that are worth a person's time: 2 % of the step, but at least
 * 50 us. For steps shorter than 0.5 ms, 10 % of the step takes the place of the 50 us. */
double judge_worth_ms(const struct judge *j);
double judge_worth_ms_of(double step_ms);

/* Returns the savings of the changes, in ms of a typical step. If only few steps save time, returns
 * the savings of the mean step. Returns 0 if the changes apply to nothing or cost time. */
double judge_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/*
 * Returns the savings of the changes, in ms of a typical step, even if only few steps save time.
 * The verdict uses these savings, because a cause that occurs only now and then is not the
 * bottleneck.
 */
double judge_typical_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/*
 * Returns the savings, in ms, if the whole line of `wait` is removed. `of_wait`: the result without
 * the wait alone. The savings refer to the same step (typical or mean) as `of_wait`, so that both
 * can be compared: a line that runs in every step may wait in few steps only.
 */
double judge_line_gain_ms(struct judge *j, struct whatif_change wait,
			  const struct whatif_result *of_wait);

/* Returns true if the line of this row of f->syncs also waits in another way (enum sync_kind). Each
 * kind of wait of a line has its own row. */
bool judge_has_other_kind(const struct findings *f, size_t row);

/* Adds a line to the evidence. */
__attribute__((format(printf, 2, 3))) void judge_say(struct findings *f, const char *format, ...);

/* advice.c: fills f->advice, sorted by savings, largest first. */
void advice_fill(struct judge *j);

/* ---- advice_parts.c ---- */

enum { TIMES_BYTES = 32, REASON_BYTES = 128 };
/* Writes how often something occurs per step: "once", "2.5 times". Returns `to`. */
char *advice_times(char *to, size_t bytes, double per_step);

/*
 * Plays the `n` changes and adds advice with their savings. `why` is a printf format. Adds no
 * advice if the changes apply to nothing, or if only few steps save time and the savings are too
 * small.
 */
__attribute__((format(printf, 6, 7))) void advise(struct judge *j, uint32_t site,
						  const struct whatif_change *changes, size_t n,
						  const char *what, const char *why, ...);

/*
 * Returns the time, in ms per step, that the changes of the last play removed from the op's call
 * and from the GPU work of that call. It is averaged over the steps to which the play's savings
 * refer.
 */
double advice_taken_ms(const struct judge *j, uint32_t op);

/* Returns the site from whose calls the last play removed the most time, and that time in
 * `per_step_ms`; 0: none. */
uint32_t advice_top_site(const struct judge *j, double *per_step_ms);

/*
 * Returns the site that causes allocations, and its time in `per_step_ms` as advice_top_site()
 * does. Memory is allocated again because it was freed. So if freeing takes a notable part of the
 * time (a quarter), the result is the site that frees, wherever the allocations happen: after an
 * empty_cache(), any operator may have to allocate.
 */
uint32_t advice_top_memory_site(const struct judge *j, double *per_step_ms);

enum { BEFORE_BYTES = 160 };
/* Writes where the CPU works before the calls of a line, such as "between train.py:30 and this
 * line", from the time that the last play removed. Returns `to`. */
char *advice_say_before(const struct judge *j, uint32_t site, char *to, size_t bytes);

/* sampled_lines.c: the lines of the CPU's work between calls, as samples of all recorded steps show
 * it. 0: no line has more than half of it. */
struct sampled_lines {
	/* In the innermost function that also makes calls, such as that of the loop: the line at
	 * which it calls what works. 0, too, if that line makes the call itself. */
	uint32_t outer;
	uint32_t inner; /* the line of user code that works */
};
/* Finds the lines of the samples whose kind (enum host_kind) counts. */
struct sampled_lines sampled_lines_find(const struct judge *j, bool (*counts)(uint8_t kind));

/* judge_critical.c: fills f->critical_kinds and f->critical. */
void judge_fill_critical(struct findings *f, const struct replay *r);

/* advice_input.c: advice on data loading. */
void advise_input(struct judge *j);
/* Returns how the program gets its batches, as most samples show: "loader", "queue" or "". The
 * string is static. */
const char *judge_input_source(const struct judge *j);

/* advice_pause.c: advice on CPU work, or on a stall of the CPU, during which the device waits for
 * launches. `is_limit`: the CPU limits typical steps. Otherwise there is advice only on work that
 * is done in few steps and was sampled. */
void advise_pause(struct judge *j, bool is_limit);

/* advice_launches.c: advice to make fewer launches. */
void advise_launches(struct judge *j);

/* advice_anomaly.c: advice to switch autograd's anomaly detection off. */
void advise_anomaly(struct judge *j);

/* advice_streams.c: advice on two streams that do not overlap because of an event. */
void advise_streams(struct judge *j);

/* advice_round_trip.c: advice on data that the CPU works on between two copies. */
void advise_round_trip(struct judge *j);

/* advice_legacy.c: advice on launches into the legacy default stream that keep other streams from
 * overlapping. */
void advise_legacy(struct judge *j);

#endif
