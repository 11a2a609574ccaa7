/* What judge.c and advice.c share: the answers of the replay to the standing questions. */
#ifndef CORE_JUDGE_PARTS_H
#define CORE_JUDGE_PARTS_H

#include "core/analysis/findings.h"
#include "core/whatif/whatif.h"

enum judge_cause { CAUSE_SYNC, CAUSE_MEMORY, CAUSE_COPY, CAUSE_INPUT, CAUSE_COLLECTIVE, CAUSES };

struct judge {
	struct findings *f;
	struct whatif w;
	double step_ms;			   /* a usual one, replayed */
	double cause_ms[CAUSES];	   /* what a step loses if the cause goes */
	double all_causes_ms;		   /* if all go */
	double gpu_half_ms;		   /* if all work of the device takes half as long */
	double host_half_ms;		   /* if all that the host does itself takes half as long */
	VEC(struct whatif_change) advised; /* what the advice is of */
};

static const double judge_binds = 0.10; /* of the step: waste that makes the verdict */

/* ---- judge_gains.c ---- */

/* What is worth a person's time: 2 % of the step, and 50 us. */
double judge_worth_ms(const struct judge *j);
double judge_worth_ms_of(double step_ms);

/* The gain of one change, 0 if it changes nothing or loses; of usual steps, or where it is in few only, of the mean one. */
double judge_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/* Of a usual step in any case: what binds is not what comes now and then. */
double judge_usual_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/* What the whole line of a wait wins, of the step that the wait's own gain is of: a line of every step may wait in few. */
double judge_line_gain_ms(struct judge *j, struct whatif_change wait,
			  const struct whatif_result *of_wait);

/* A line may wait in more than one way, each with a row of the sync summary of its own. */
bool judge_has_other_kind(const struct findings *f, size_t row);

void advice_fill(struct judge *j);

/* ---- advice_parts.c ---- */

enum { TIMES_BYTES = 32, REASON_BYTES = 128 };
/* "once", "2.5 times": of what comes so often in a step. Returns `to`. */
char *advice_times(char *to, size_t bytes, double per_step);

/* The `n` changes are what wins; they are played again. */
__attribute__((format(printf, 6, 7))) void advise(struct judge *j, uint32_t site,
						  const struct whatif_change *changes, size_t n,
						  const char *what, const char *why, ...);

/* What the last play took of a call and its work, a step: of the steps that its gain is of. */
double advice_taken_ms(const struct judge *j, uint32_t op);

/* The line from whose calls the last play took most time, and how much. 0: none. */
uint32_t advice_top_site(const struct judge *j, double *per_step_ms);

/* Memory is asked for anew because it was given back: where freeing is a notable part, its line is the cause, wherever the allocating
 * happens to be (an empty_cache() after which any operator may have to allocate). */
uint32_t advice_top_memory_site(const struct judge *j, double *per_step_ms);

enum { BEFORE_BYTES = 160 };
/* Where the time lies that the last play took from before the line's calls. Returns `to`. */
char *advice_say_before(const struct judge *j, uint32_t site, char *to, size_t bytes);

/* advice_pause.c: the host works for itself while the device waits. */
void advise_pause(struct judge *j);

/* advice_launches.c: the device waits for launches. */
void advise_launches(struct judge *j);

/* advice_streams.c: two streams that take turns because of an event. */
void advise_streams(struct judge *j);

#endif
