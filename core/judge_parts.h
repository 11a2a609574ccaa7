/* What judge.c and advice.c share: the answers of the replay to the standing questions. */
#ifndef CORE_JUDGE_PARTS_H
#define CORE_JUDGE_PARTS_H

#include "core/findings.h"
#include "core/whatif.h"

enum judge_cause { CAUSE_SYNC, CAUSE_MEMORY, CAUSE_COPY, CAUSE_INPUT, CAUSE_COLLECTIVE, CAUSES };

struct judge {
	struct findings *f;
	struct whatif w;
	double step_ms;		 /* replayed */
	double *lengths_ns;	 /* each step's */
	double cause_ms[CAUSES]; /* what a step loses if the cause goes */
	double all_causes_ms;	 /* if all go */
	double gpu_half_ms;	 /* if all work of the device takes half as long */
	double host_half_ms;	 /* if all that the host does itself takes half as long */
};

/* What is worth a person's time: 2 % of the step, and 50 us. */
double judge_worth_ms(const struct judge *j);

/* The gain of one change, 0 if it changes nothing or loses. */
double judge_gain_ms(struct judge *j, const struct whatif_change *changes, size_t n);

/* What of that single steps gain: most, leaving out one in ten at either end. False: there is only one step. */
bool judge_gain_range(struct judge *j, const struct whatif_change *changes, size_t n,
		      double *low_ms, double *high_ms);

void advice_fill(struct judge *j);

enum { TIMES_BYTES = 32 };
/* "once", "2.5 times": of what comes so often in a step. Returns `to`. */
char *advice_times(char *to, size_t bytes, double per_step);

/* The `n` changes are what wins `ms`; they are played again. */
__attribute__((format(printf, 7, 8))) void advise(struct judge *j, uint32_t site, double ms,
						  const struct whatif_change *changes, size_t n,
						  const char *what, const char *why, ...);

/* advice_streams.c: two streams that take turns because of an event. */
void advise_streams(struct judge *j);

#endif
