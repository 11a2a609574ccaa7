/* Advice on CPU work between CUDA calls. Samples show which line does the work. Without samples,
 * the calls around the work show which line causes it. */
#include "core/analysis/host_kinds.h"
#include "core/symbols/site_name.h"
#include "core/util/ms_digits.h"
#include "core/verdict/judge_parts.h"

#include <math.h>

/* CPU work is reported if its removal saves at least this share of the step. */
static const double pause_share = 0.05;

/*
 * Where the CPU works: before the calls of a line (PAUSE_BEFORE) or between its calls. Work between
 * the calls is done by a loop around the line, by the line itself, or by a library that the line
 * calls.
 */
enum pause_place { PAUSE_BEFORE, PAUSE_LOOP, PAUSE_WITHIN, PAUSE_LIBRARY };

static const struct {
	const char *what, *where;
} pauses[] = {
	[PAUSE_BEFORE] = { "move the CPU work before this line to another thread or out of the "
			   "loop, or remove it",
			   NULL },
	[PAUSE_LOOP] = { "spend less CPU time in the loop around this line: fuse or compile its "
			 "code, or use fewer iterations",
			 "between iterations of this line" },
	[PAUSE_WITHIN] = { "spend less CPU time in this line: fuse or compile its code, or call it "
			   "less often",
			   "between the calls of this line" },
	[PAUSE_LIBRARY] = { "spend less CPU time in the library that this line calls: call it less "
			    "often or in another thread, or compile it",
			    "in the library that this line calls" },
};

#define PAUSE_WHY "the CPU works %.*f ms %s without launching GPU work"

/* What samples show if the CPU did not work. */
static const char *const stalls[IDLE_CAUSES_N] = {
	[IDLE_GC] = "Python's garbage collector runs here",
	[IDLE_LOCK] = "the CPU waits here for a lock or another thread",
	[IDLE_GIL] = "the CPU waits here for Python's GIL, which another thread has",
	[IDLE_SLEEP] = "the CPU sleeps here",
	[IDLE_IO] = "the CPU waits here for a file, a pipe or a socket",
	[IDLE_CHILD] = "the CPU waits here for a child process",
	[IDLE_LOOP] = "the event loop has nothing to do until this await returns",
};

/* Returns where most of the CPU work was done that the last play removed before the calls of
 * `site`. */
static enum pause_place pause_place(const struct judge *j, uint32_t site)
{
	double all_ms = 0, between_ms = 0, within_ms = 0, library_ms = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t last = j->w.before[i];
		double ms = j->w.site[i] == site ? advice_taken_ms(j, i) : 0;
		if (ms <= 0)
			continue;
		bool is_between = last != REPLAY_NONE && j->w.site[last] == site;
		all_ms += ms;
		between_ms += is_between ? ms : 0;
		within_ms += whatif_is_within(&j->w, i) ? ms : 0;
		library_ms += is_between && host_share_is_library(&j->w.share, last, i) ? ms : 0;
	}
	if (library_ms * 2 > all_ms)
		return PAUSE_LIBRARY;
	if (within_ms * 2 > all_ms)
		return PAUSE_WITHIN;
	return between_ms * 2 > all_ms ? PAUSE_LOOP : PAUSE_BEFORE;
}

/* Returns the time, in ms per step, that the last play removed from the calls of `site`. */
static double taken_here_ms(const struct judge *j, uint32_t site)
{
	double ms = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++)
		ms += j->w.site[i] == site ? advice_taken_ms(j, i) : 0;
	return ms;
}

/*
 * Returns the line at which samples show most of the CPU work that the last play removed before the
 * calls of `site`. Returns 0 if no line has more than half of it.
 */
static uint32_t sampled_site(const struct judge *j, uint32_t site)
{
	uint32_t n_sites = frames_n_sites(j->w.timeline->frames), best = 0;
	double *ms = mem_zero((n_sites + 1) * sizeof(*ms)), all_ms = 0;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		const struct timeline_call *c = j->w.site[i] == site &&
								call < j->w.timeline->calls.n
							? &j->w.timeline->calls.at[call]
							: NULL;
		double taken_ms = c ? advice_taken_ms(j, i) : 0;
		all_ms += taken_ms;
		if (c && c->before_site && c->before_site <= n_sites &&
		    c->before_kind != HOST_FRAMEWORK)
			ms[c->before_site] += taken_ms;
	}
	for (uint32_t i = 1; i <= n_sites; i++)
		best = ms[i] > ms[best] ? i : best;
	bool is_most = best && ms[best] * 2 > all_ms;
	free(ms);
	return is_most ? best : 0;
}

/* Returns what the CPU did at the sampled line for most of the time that the last play removed
 * before the calls of `site`, or before any call if `site` is 0: enum idle_cause. */
static uint8_t cause_at(const struct judge *j, uint32_t site, uint32_t sampled)
{
	double ms[IDLE_CAUSES_N] = { 0 };
	uint8_t most = IDLE_HOST;
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		if ((site && j->w.site[i] != site) || call >= j->w.timeline->calls.n)
			continue;
		const struct timeline_call *c = &j->w.timeline->calls.at[call];
		if (c->before_site == sampled)
			ms[host_kinds[c->before_kind].cause] += advice_taken_ms(j, i);
	}
	for (unsigned i = 0; i < IDLE_CAUSES_N; i++)
		most = ms[i] > ms[most] ? (uint8_t)i : most;
	return most;
}

static const char own_work_fix[] = "move this CPU work to another thread, or do it less often";

/* Returns whether samples of this kind are work that the user could move elsewhere. */
static bool is_own_work(uint8_t kind)
{
	return kind != HOST_UNKNOWN && kind != HOST_FRAMEWORK && kind != HOST_LOADER &&
	       kind != HOST_LOOP;
}

/* Returns what to do about a stall at this line. */
static const char *fix_of_stall(const struct judge *j, uint32_t sampled, uint8_t cause)
{
	struct frames *frames = j->w.timeline->frames;
	const struct site *s = frames_site_at(frames, sampled);
	bool is_asked_for = strstr(frames_source(frames, s->file, s->line), "gc.collect(");
	return cause == IDLE_GC && is_asked_for ? "call gc.collect() less often, or not at all"
						: idle_causes[cause].advice;
}

/* Writes ", mostly at metrics.py:12" if most samples of threads that wait for the GIL show another
 * thread at that line, else "". */
static char *say_gil_holder(const struct judge *j, char *to, size_t bytes)
{
	const struct site *s = frames_site_at(j->w.timeline->frames, j->f->gil_holder);
	char name[SITE_NAME_BYTES];
	to[0] = 0;
	if (j->f->gil_holder)
		snprintf(to, bytes, ", mostly at %s (%s)", site_name(s, name), s->function);
	return to;
}

/*
 * Returns the line at which samples show the longest stalls and own work that the last play removed
 * before any call, and that time in `longest_ms`; 0: none. Work on a line that then makes the call
 * itself does not count.
 */
static uint32_t longest_sampled(const struct judge *j, double *longest_ms)
{
	uint32_t n_sites = frames_n_sites(j->w.timeline->frames), longest = 0;
	double *ms = mem_zero((n_sites + 1) * sizeof(*ms));
	for (uint32_t i = 0; i < j->w.replay.ops.n; i++) {
		uint32_t call = j->w.replay.ops.at[i].call;
		if (call >= j->w.timeline->calls.n)
			continue;
		const struct timeline_call *c = &j->w.timeline->calls.at[call];
		if (c->before_site > n_sites ||
		    (c->before_site == c->site && !stalls[host_kinds[c->before_kind].cause]))
			continue;
		if (is_own_work(c->before_kind))
			ms[c->before_site] += advice_taken_ms(j, i);
	}
	for (uint32_t i = 1; i <= n_sites; i++)
		longest = ms[i] > ms[longest] || !longest ? i : longest;
	*longest_ms = longest ? ms[longest] : 0;
	free(ms);
	return *longest_ms > 0 ? longest : 0;
}

static void advise_sampled(struct judge *j, const struct whatif_change *change, uint32_t sampled,
			   uint8_t cause, double here_ms)
{
	char holder[SITE_NAME_BYTES + 120];
	if (stalls[cause])
		advise(j, sampled, change, 1, fix_of_stall(j, sampled, cause), "%s%s: %.*f ms %s",
		       stalls[cause],
		       cause == IDLE_GIL ? say_gil_holder(j, holder, sizeof(holder)) : "",
		       MS(here_ms), judge_per_step(j->f));
	else
		advise(j, sampled, change, 1, own_work_fix,
		       "samples show this line while " PAUSE_WHY, MS(here_ms),
		       judge_per_step(j->f));
}

/* Adds advice that names the line that samples show, if they show one. Returns whether they do. */
static bool advise_by_samples(struct judge *j, const struct whatif_change *change,
			      enum pause_place place, double here_ms)
{
	bool is_between = place == PAUSE_WITHIN || place == PAUSE_LOOP;
	uint32_t sampled = sampled_site(j, change->site), outer = 0;
	uint8_t cause = cause_at(j, change->site, sampled);
	if (!sampled && place == PAUSE_BEFORE)
		outer = sampled_lines_find(j, is_own_work).outer;
	if (sampled && (stalls[cause] || (sampled != change->site && !is_between)))
		advise_sampled(j, change, sampled, cause, here_ms);
	else if (outer) /* several lines of what it calls */
		advise(j, outer, change, 1, own_work_fix,
		       "samples show this line and what it calls while " PAUSE_WHY, MS(here_ms),
		       judge_per_step(j->f));
	else
		return false;
	return true;
}

/*
 * Adds advice on the line at which samples show most of the CPU's work or stalls, whichever calls
 * follow. The last play must have removed all of them. Returns whether removing them at this line
 * saves `least_ms` and more than half of `other_ms`.
 */
static bool advise_longest(struct judge *j, uint32_t sampled, double least_ms, double other_ms)
{
	const struct whatif_change change = { .kind = WHATIF_PAUSE, .sampled = sampled };
	double gain_ms = sampled ? judge_gain_ms(j, &change, 1) : 0, here_ms;
	if (!sampled || gain_ms < least_ms || gain_ms * 2 <= other_ms)
		return false;
	longest_sampled(j, &here_ms);
	advise_sampled(j, &change, sampled, cause_at(j, 0, sampled), here_ms);
	return true;
}

/*
 * Adds advice on the CPU work before the calls of one line. If the CPU does the work between the
 * line's own calls, fusing or compiling the code removes the work and also merges several launches
 * into one. The estimated savings then include those launches.
 */
void advise_pause(struct judge *j, bool is_limit)
{
	struct whatif_change change = { .kind = WHATIF_PAUSE };
	double here_ms;
	char before[BEFORE_BYTES];
	struct whatif_result all;
	if (whatif_play(&j->w, &change, 1, &all, NULL) || all.gain_ms < pause_share * j->step_ms ||
	    (!is_limit && !all.rare_steps))
		return;
	uint32_t sampled = longest_sampled(j, &here_ms);
	change.site = advice_top_site(j, &here_ms);
	double least_ms = fmax(judge_worth_ms(j), pause_share * j->step_ms),
	       site_ms = change.site ? judge_gain_ms(j, &change, 1) : 0;
	if (advise_longest(j, sampled, least_ms, site_ms) || site_ms < least_ms)
		return;
	judge_gain_ms(j, &change, 1);
	enum pause_place place = pause_place(j, change.site);
	change.is_within = place == PAUSE_WITHIN || place == PAUSE_LIBRARY;
	if (judge_gain_ms(j, &change, 1) < least_ms)
		return;
	here_ms = taken_here_ms(j, change.site);
	if (advise_by_samples(j, &change, place, here_ms))
		return;
	if (!is_limit) /* without a sampled line, other load may have disturbed these steps */
		return;
	const struct whatif_change fused[] = { change,
					       { .kind = WHATIF_ONE_LAUNCH, .site = change.site } };
	if (place == PAUSE_BEFORE)
		advice_say_before(j, change.site, before, sizeof(before));
	if (place != PAUSE_WITHIN && place != PAUSE_LOOP) {
		advise(j, change.site, fused, 1, pauses[place].what, "%s " PAUSE_WHY,
		       place == PAUSE_BEFORE ? before : pauses[place].where, MS(here_ms),
		       judge_per_step(j->f));
		return;
	}
	judge_gain_ms(j, fused, 2);
	double launches_ms = fmax(0, taken_here_ms(j, change.site) - here_ms);
	advise(j, change.site, fused, 2, pauses[place].what,
	       "%s " PAUSE_WHY "; the line's launches that could be merged into one take %.*f ms",
	       pauses[place].where, MS(here_ms), judge_per_step(j->f), MS(launches_ms));
}
