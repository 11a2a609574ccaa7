/* Advice to switch anomaly detection off. It is a tool for finding a bug, and is easily left on. */
#include "core/symbols/stack_about.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

/* Returns the line of backward() in which most checks are made; 0: no checks are made. `n` and
 * `blocked_ms`: how many reads of results, and how long the CPU waits in them, both per step. */
static uint32_t find_checks(const struct judge *j, double *n, double *blocked_ms)
{
	const struct timeline *t = j->w.timeline;
	double steps = findings_count_steps(t).all;
	uint32_t site = 0;
	*n = *blocked_ms = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (!(c->about & ABOUT_ANOMALY))
			continue;
		site = c->site;
		if (c->category != CAT_SYNC)
			continue;
		*n += 1 / steps;
		*blocked_ms += (double)(c->end_ns - c->begin_ns) / 1e6 / steps;
	}
	return site;
}

void advise_anomaly(struct judge *j)
{
	const struct whatif_change change = { .kind = WHATIF_ABOUT, .about = ABOUT_ANOMALY };
	double n, blocked_ms;
	uint32_t site = find_checks(j, &n, &blocked_ms);
	if (!site || judge_gain_ms(j, &change, 1) < judge_worth_ms(j))
		return;
	advise(j, site, &change, 1,
	       "switch anomaly detection off (torch.autograd.set_detect_anomaly, detect_anomaly)",
	       "anomaly detection looks for NaN in every gradient: %.0f results are read per step, "
	       "which blocks the CPU for %.*f ms; it also stores a traceback for each operator of "
	       "the forward pass, which is not in these savings",
	       n, MS(blocked_ms));
}
