/*
 * Advice to make fewer launches. The launches of the backward pass all come from the one line that
 * calls backward(), but the forward pass decides what is launched there. So a call of the backward
 * pass counts for its forward line, if that line is known. The time of a line then includes both
 * passes.
 */
#include "core/symbols/site_name.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

enum { NAMED_MOST = 3 };

static const double least_share = 0.10; /* share of the step that must be saved */
/* Further lines are named if they save at least this share of what the first line saves. */
static const double notable = 0.25;

/* The time, in ms per step, that the last play removed from a line's launches. */
struct launch_line {
	double ms, backward_ms; /* in both passes; in the backward pass */
};

static uint32_t line_of(const struct timeline_call *c)
{
	return c->forward_site ? c->forward_site : c->site;
}

static struct launch_line *sum_lines(const struct judge *j, uint32_t n_sites)
{
	struct launch_line *lines = mem_zero((n_sites + 1) * sizeof(*lines));
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		if (call == REPLAY_NONE)
			continue;
		const struct timeline_call *c = &j->w.timeline->calls.at[call];
		double ms = advice_taken_ms(j, i);
		if (line_of(c) > n_sites)
			continue;
		lines[line_of(c)].ms += ms;
		lines[line_of(c)].backward_ms += c->forward_site ? ms : 0;
	}
	return lines;
}

/* Fills `top` with the sites that save most, largest first. Returns their number. */
static unsigned find_top(const struct launch_line *lines, uint32_t n_sites, uint32_t *top)
{
	unsigned n = 0;
	while (n < NAMED_MOST) {
		uint32_t most = 0;
		for (uint32_t site = 1; site <= n_sites; site++) {
			bool is_named = false;
			for (unsigned k = 0; k < n; k++)
				is_named |= top[k] == site;
			if (!is_named && lines[site].ms > 0 &&
			    (!most || lines[site].ms > lines[most].ms))
				most = site;
		}
		if (!most || (n && lines[most].ms < notable * lines[top[0]].ms))
			break;
		top[n++] = most;
	}
	return n;
}

/* Writes "1.20 ms per step here, 0.70 ms of that in its backward pass; train.py:30 0.80 ms". */
static void describe(const struct judge *j, const struct launch_line *lines, const uint32_t *top,
		     unsigned n, char *to, size_t room)
{
	size_t used = (size_t)snprintf(to, room, "%.*f ms of CPU time %s at this line",
				       MS(lines[top[0]].ms), judge_per_step(j->f));
	if (lines[top[0]].backward_ms > 0 && used < room)
		used += (size_t)snprintf(to + used, room - used,
					 ", including %.*f ms in its backward pass",
					 MS(lines[top[0]].backward_ms));
	for (unsigned i = 1; i < n && used < room; i++) {
		const struct site *s = frames_site_at(j->w.timeline->frames, top[i]);
		char name[SITE_NAME_BYTES];
		used += (size_t)snprintf(to + used, room - used, "%s%s %.*f ms",
					 i > 1 ? ", " : "; ", site_name(s, name),
					 MS(lines[top[i]].ms));
	}
}

void advise_launches(struct judge *j)
{
	const struct whatif_change change = { .kind = WHATIF_ONE_LAUNCH };
	uint32_t n_sites = frames_n_sites(j->w.timeline->frames), top[NAMED_MOST];
	char where[200];
	if (judge_gain_ms(j, &change, 1) < fmax(judge_worth_ms(j), least_share * j->step_ms))
		return;
	/* by the play in judge_gain_ms() above */
	struct launch_line *lines = sum_lines(j, n_sites);
	unsigned n = find_top(lines, n_sites, top);
	if (n) {
		describe(j, lines, top, n, where, sizeof(where));
		advise(j, top[0], &change, 1, idle_causes[IDLE_LAUNCH].advice,
		       "launch overhead: the CPU takes longer to launch this work than the GPU to "
		       "run it; the launches that could be merged into one take %s",
		       where);
	}
	free(lines);
}
