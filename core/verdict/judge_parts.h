/* Shared by judge.c and the files with advice: the replay's answers to the fixed questions. */
#ifndef CORE_JUDGE_PARTS_H
#define CORE_JUDGE_PARTS_H

#include "core/analysis/findings.h"
#include "core/whatif/whatif.h"

enum judge_cause { CAUSE_SYNC, CAUSE_MEMORY, CAUSE_COPY, CAUSE_INPUT, CAUSE_COLLECTIVE, CAUSES };

struct judge {
	struct findings *f;
	struct whatif w;
	double step_ms;		 /* a typical one, replayed */
	double cause_ms[CAUSES]; /* savings per step without the cause */
	double all_causes_ms;	 /* savings without all of them */
	/* savings if all work of the device takes half as long */
	double gpu_half_ms;
	double host_half_ms;		   /* savings if the host's own work takes half as long */
	VEC(struct whatif_change) advised; /* the changes that the advice suggests */
};

static const double judge_binds = 0.10; /* of the step: waste that makes the verdict */

/* ---- judge_gains.c ---- */

/* What is worth a person's time: 2 % of the step, and 50 us. */
double judge_worth_ms(const struct judge *j);
double judge_worth_ms_of(double step_ms);

/* Returns the gain of the changes, 0 if they change nothing or cost time: in a typical step, or in
 * the mean step if only few steps gain. */
double judge_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/* The same, but always in a typical step: the bottleneck is not what happens now and then. */
double judge_typical_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/* Returns the gain without the whole line of a wait, in the same step (typical or mean) as the
 * wait's own gain: a line that runs in every step may wait in few. */
double judge_line_gain_ms(struct judge *j, struct whatif_change wait,
			  const struct whatif_result *of_wait);

/* Returns true if the line waits in other ways, too; each has its own row in the sync summary. */
bool judge_has_other_kind(const struct findings *f, size_t row);

void advice_fill(struct judge *j);

/* ---- advice_parts.c ---- */

enum { TIMES_BYTES = 32, REASON_BYTES = 128 };
/* Writes how often something occurs per step: "once", "2.5 times". Returns `to`. */
char *advice_times(char *to, size_t bytes, double per_step);

/* Plays the `n` changes again and adds advice with their savings. */
__attribute__((format(printf, 6, 7))) void advise(struct judge *j, uint32_t site,
						  const struct whatif_change *changes, size_t n,
						  const char *what, const char *why, ...);

/* Returns the time that the last play took from a call and its work, per step to which its gain
 * refers. */
double advice_taken_ms(const struct judge *j, uint32_t op);

/* Returns the line from whose calls the last play took most time, and how much; 0: none. */
uint32_t advice_top_site(const struct judge *j, double *per_step_ms);

/*
 * Returns the line that causes allocations, and its time per step as advice_top_site() does. Memory
 * is allocated anew because it was freed: if freeing takes a notable part of the time, the line
 * that frees is the cause, wherever the allocations happen (after an empty_cache(), any operator
 * may have to allocate).
 */
uint32_t advice_top_memory_site(const struct judge *j, double *per_step_ms);

enum { BEFORE_BYTES = 160 };
/* Describes where the host works before the line's calls, by the time that the last play took.
 * Returns `to`. */
char *advice_say_before(const struct judge *j, uint32_t site, char *to, size_t bytes);

/* advice_pause.c: the host does other work while the device waits. */
void advise_pause(struct judge *j);

/* advice_launches.c: the device waits for launches. */
void advise_launches(struct judge *j);

/* advice_streams.c: two streams do not overlap because of an event. */
void advise_streams(struct judge *j);

#endif
