/* Converts changes to edits of the replay: which calls are removed, which calls no longer wait, and
 * how much of the host's time around removed calls goes, too. */
#include "core/whatif/whatif.h"

#include "core/analysis/idle.h"
#include "core/runtime/pattern.h"
#include "core/symbols/stack_about.h"
#include "core/util/path.h"
#include "core/whatif/whatif_parts.h"

#include <errno.h>
#include <math.h>

enum {
	/* A copy to the host of up to this size reads a value. Without its wait, the copy is not
	 * made at all. A larger copy becomes asynchronous. */
	READ_BYTES = 65536,
};

/* From this share of a step on, waits for a CPU are what disturbed the recorded steps: the share
 * that is worth a person's attention (judge_worth_ms()). */
#define WAITED_LEAST 0.02

static bool is_memory(const struct timeline_call *c)
{
	return c->category == CAT_ALLOC || c->category == CAT_FREE;
}

/* ---- Opening ---- */

/* Returns the main lane's last op of the first run. It counts as the op before the main lane's
 * first op, because the iterations of a run are played in a row. */
static uint32_t last_of_iteration(const struct replay *r)
{
	const struct replay_run *run = &r->runs.at[0];
	uint32_t last = REPLAY_NONE;
	for (uint32_t i = run->first_op; i < run->first_op + run->n_ops; i++)
		if (!r->ops.at[i].lane && r->ops.at[i].role != ROLE_ORPHAN)
			last = i;
	return last;
}

/* Returns true if the op has the trait IS_PLAIN. */
static bool is_plain(const struct whatif *w, uint32_t op, const struct timeline_call *c)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	if (is_memory(c) || c->category == CAT_MEMCPY || c->category == CAT_SYNC ||
	    w->timeline->waits.of_call.at[o->call] != WAITS_NONE)
		return false;
	for (uint32_t k = o->first_work; k < o->first_work + o->n_work; k++)
		if (w->timeline->works.at[w->replay.works.at[k].work].kind == WORK_MEMCPY)
			return false;
	return true;
}

static uint8_t traits_of(const struct whatif *w, uint32_t op)
{
	const struct timeline_call *c = whatif_call(w, op);
	return (is_plain(w, op, c) ? IS_PLAIN : 0) |
	       (c->about & ABOUT_COLLECTIVE ? IS_OF_RANKS : 0);
}

/* Fills site, before and traits. Every change looks them up for every op, so they are kept in
 * arrays of their own, close together in memory. */
static void note_ops(struct whatif *w)
{
	const struct replay *r = &w->replay;
	uint32_t *last = replay_no_ops(r);
	struct whatif_runs runs;
	last[0] = last_of_iteration(r);
	whatif_runs_open(&runs, r);
	w->site = mem_zero(r->ops.n * sizeof(*w->site));
	w->before = mem_zero(r->ops.n * sizeof(*w->before));
	w->traits = mem_zero(r->ops.n * sizeof(*w->traits));
	for (uint32_t i = 0; i < r->ops.n; i++) {
		const struct replay_op *op = &r->ops.at[i];
		w->before[i] = REPLAY_NONE;
		if (op->role == ROLE_ORPHAN)
			continue;
		w->site[i] = whatif_call(w, i)->site;
		w->traits[i] = traits_of(w, i);
		w->before[i] = last[op->lane];
		last[op->lane] = i;
		if (whatif_runs_go_on(&runs, op->lane, whatif_call(w, i)->stack, w->site[i]))
			w->traits[i] |= IS_OF_RUN;
	}
	whatif_runs_close(&runs);
	free(last);
}

/* Removes the times in which threads waited for a CPU: what a change saves must not depend on other
 * load. Notes the steps' lengths as they were recorded. */
static void remove_waits(struct whatif *w)
{
	w->recorded_lengths_ns = mem_zero(w->replay.n_steps * sizeof(*w->recorded_lengths_ns));
	replay_step_lengths(&w->replay, w->recorded_lengths_ns);
	if (replay_remove_waits(&w->replay))
		w->waited_ns = fmax(0, w->replayed_ns - replay_play(&w->replay, NULL));
}

int whatif_open(struct whatif *w, struct timeline *t, struct err *e)
{
	memset(w, 0, sizeof(*w));
	w->timeline = t;
	replay_build(&w->replay, t);
	if (!w->replay.n_steps) {
		replay_free(&w->replay);
		return err_set(e, -ENODATA, "no complete step with GPU times was recorded");
	}
	w->replayed_ns = replay_play(&w->replay, NULL);
	remove_waits(w);
	whatif_choose_typical(w);
	/* if waits for a CPU were removed, it is known what other load made longer */
	bool is_known = w->waited_ns >= WAITED_LEAST * w->replayed_ns;
	w->undisturbed_share = t->disturbed_ratio > 1 && !is_known ? 1 / t->disturbed_ratio : 1;
	/* The overhead is computed from typical steps. A step with a checkpoint is longer than a
	 * typical one, but has the same overhead. */
	double off_ns =
		t->recording_ratio > 1 ? w->recorded_ns - w->recorded_ns / t->recording_ratio : 0;
	w->mean_ns = replay_unrecord(&w->replay, w->replayed_ns - w->waited_ns, off_ns) *
		     w->undisturbed_share;
	whatif_measure_typical(w);
	host_share_learn(&w->share, &w->replay);
	whatif_note_iterations(w);
	note_ops(w);
	w->edit.op = mem_zero(w->replay.ops.n);
	w->edit.cut_ns = mem_zero(w->replay.ops.n * sizeof(*w->edit.cut_ns));
	w->edit.scale = mem_zero(w->replay.works.n * sizeof(*w->edit.scale));
	w->edit.node = mem_zero(w->replay.works.n);
	w->is_scaled = true; /* so that whatif_play() sets all of edit.scale to 1 */
	return 0;
}

void whatif_close(struct whatif *w)
{
	replay_free(&w->replay);
	host_share_free(&w->share);
	free(w->site);
	free(w->before);
	free(w->iteration);
	free(w->traits);
	free(w->edit.op);
	free(w->edit.cut_ns);
	free(w->edit.scale);
	free(w->edit.node);
	free(w->streams);
	free(w->lengths_ns);
	free(w->recorded_lengths_ns);
	free(w->gains_ns);
	free(w->is_typical);
	memset(w, 0, sizeof(*w));
}

/* ---- Waits and lines ---- */

/* Returns the wait that the call is part of; NULL: none. */
static const struct wait *wait_of(const struct whatif *w, const struct timeline_call *c)
{
	const struct waits *waits = &w->timeline->waits;
	uint32_t wait = waits->of_call.at[c - w->timeline->calls.at];
	return wait == WAITS_NONE ? NULL : &waits->at.at[wait];
}

static bool is_of_memory(const struct whatif *w, const struct timeline_call *c)
{
	const struct wait *wait = wait_of(w, c);
	return is_memory(c) || (wait && wait->kind == SYNC_ALLOC);
}

/* Returns the edit that removes the call's wait: enum replay_edit_flag; 0: the call has no wait. */
static uint8_t without_wait(const struct whatif *w, uint32_t op, const struct timeline_call *c)
{
	if (is_of_memory(w, c))
		return EDIT_GONE | EDIT_KEEP_GAP;
	if (c->category == CAT_SYNC)
		return EDIT_GONE;
	if (wait_of(w, c) && c->category == CAT_MEMCPY) {
		bool is_read = whatif_copy_kind(w, c) == COPY_D2H && c->bytes <= READ_BYTES;
		return is_read ? EDIT_GONE : EDIT_NO_WAIT;
	}
	return w->replay.ops.at[op].role == ROLE_STREAM_WAIT ? EDIT_NO_WAIT : 0;
}

/* Returns true if the change applies to the op's call. A wait may consist of a copy and a
 * synchronization on two lines. If one of the two is on the changed line, both are changed. */
static bool is_touched(const struct whatif *w, struct whatif_place *p, uint32_t op)
{
	const struct timeline_call *calls = w->timeline->calls.at, *c = whatif_call(w, op);
	bool is_own = c && whatif_is_here(p, c);
	if (is_own || w->traits[op] & IS_PLAIN)
		return is_own;
	const struct wait *wait = c ? wait_of(w, c) : NULL;
	return wait &&
	       (whatif_is_here(p, &calls[wait->first]) || whatif_is_here(p, &calls[wait->last]));
}

static bool matches_kind(const struct whatif *w, const struct whatif_change *change, uint32_t op)
{
	if (change->kind != WHATIF_WAIT || !change->is_of_kind)
		return true;
	const struct wait *wait = wait_of(w, whatif_call(w, op));
	return wait && wait->kind == change->wait_kind;
}

/* Applies a change of kind WAIT or LINE. Returns false if the line makes no calls. */
static bool change_line(struct whatif *w, const struct whatif_change *change)
{
	uint32_t n_sites = frames_n_sites(w->timeline->frames);
	struct whatif_place place;
	bool found = false;
	whatif_place_open(&place, w, change);
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		if (w->site[i] > n_sites || !is_touched(w, &place, i) ||
		    !matches_kind(w, change, i))
			continue;
		found = true;
		uint8_t edit = change->kind == WHATIF_LINE ? EDIT_GONE | EDIT_OF_LINE
							   : without_wait(w, i, whatif_call(w, i));
		if (edit == EDIT_NO_WAIT)
			whatif_pin_source(w, i);
		w->edit.op[i] |= edit;
	}
	found |= whatif_remove_nodes(w, &place, change->kind != WHATIF_LINE);
	if (change->kind == WHATIF_LINE)
		whatif_cut_runs(w, &place);
	whatif_place_close(&place);
	return found;
}

/* ---- Kernels ---- */

/* Scales the kernels whose name matches. Returns false if no kernel matches, or if the pattern is
 * not valid. Sets `e` only if the pattern is not valid. */
static bool change_kernels(struct whatif *w, const struct whatif_change *change, struct err *e)
{
	enum { UNKNOWN, NO, YES };
	const struct timeline *t = w->timeline;
	uint8_t *matches = mem_zero(t->tables->names.texts.n + 1);
	regex_t pattern;
	bool found = false;
	if (pattern_compile(&pattern, change->pattern)) {
		free(matches);
		err_set(e, -EINVAL, "'%s' is not a regular expression", change->pattern);
		return false;
	}
	for (size_t i = 0; i < w->replay.works.n; i++) {
		const struct timeline_work *work = &t->works.at[w->replay.works.at[i].work];
		if (work->kind != WORK_KERNEL || work->name >= t->tables->names.texts.n)
			continue;
		uint8_t *match = &matches[work->name];
		if (*match == UNKNOWN)
			*match = regexec(&pattern, strtab_text(&t->tables->names, work->name), 0,
					 NULL, 0)
					 ? NO
					 : YES;
		if (*match == YES)
			w->edit.scale[i] *= (float)change->factor;
		found |= *match == YES;
	}
	w->is_scaled |= found;
	regfree(&pattern);
	free(matches);
	return found;
}

/* ---- Launches as a graph, and changes of kind WHATIF_FREE ---- */

static bool is_plain_launch(const struct whatif *w, uint32_t op)
{
	const struct timeline_call *c = whatif_call(w, op);
	return c && w->replay.ops.at[op].role == ROLE_LAUNCH && c->category != CAT_MEMCPY &&
	       c->category != CAT_GRAPH;
}

/* Makes successive launches of a line cost as much as one launch, as in a CUDA graph. `site` 0:
 * successive launches of any lines. */
static void join_launches(struct whatif *w, uint32_t site)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		uint32_t last = w->before[i];
		if (last == REPLAY_NONE || !is_plain_launch(w, last) || !is_plain_launch(w, i) ||
		    (site && (w->site[last] != site || w->site[i] != site)))
			continue;
		struct host_split own =
			host_share_of(&w->share, last, i, w->replay.ops.at[i].gap_ns);
		w->edit.cut_ns[i] += (float)(own.out_ns + own.in_ns);
		w->edit.op[i] |= EDIT_NO_COST;
		if (w->replay.ops.at[i].stream == w->replay.ops.at[last].stream)
			w->edit.op[i] |= EDIT_AS_GRAPH;
	}
}

/* Returns how the call is edited (enum replay_edit_flag) so that everything of the kind `what`
 * costs nothing; 0: the call is not affected. */
static uint8_t free_edit(const struct whatif *w, uint32_t op, const struct timeline_call *c,
			 uint8_t what)
{
	bool is_copy = c->category == CAT_MEMCPY;
	switch (what) {
	case WHATIF_FREE_LAUNCH:
		return w->replay.ops.at[op].role == ROLE_LAUNCH ? EDIT_NO_COST : 0;
	case WHATIF_FREE_ALLOC:
		return is_of_memory(w, c) ? EDIT_GONE | EDIT_KEEP_GAP : 0;
	case WHATIF_FREE_COPY:
		return is_copy && whatif_copy_kind(w, c) == COPY_H2D ? EDIT_NO_WAIT : 0;
	case WHATIF_FREE_SYNC:
		if (is_of_memory(w, c) ||
		    (c->category != CAT_SYNC && (!is_copy || whatif_copy_kind(w, c) != COPY_D2H)))
			return 0;
		return without_wait(w, op, c);
	default:
		return 0;
	}
}

static void scale_collectives(struct whatif *w, double factor)
{
	const struct whatif_change kernels = { .kind = WHATIF_KERNEL,
					       .pattern = "nccl|rccl",
					       .factor = factor };
	change_kernels(w, &kernels, NULL);
}

/* Makes the kernels of collectives cost nothing, and removes the host's time between the calls of
 * an exchange with other ranks. */
static void free_collectives(struct whatif *w)
{
	scale_collectives(w, 0);
	for (uint32_t i = 0; i < w->replay.ops.n; i++)
		if (whatif_is_exchange(w, i))
			w->edit.cut_ns[i] = (float)w->replay.ops.at[i].gap_ns;
}

static void change_free(struct whatif *w, uint8_t what)
{
	if (what == WHATIF_FREE_INPUT || what == WHATIF_FREE_HOST) {
		whatif_free_gaps(w, what == WHATIF_FREE_INPUT);
		return;
	}
	if (what == WHATIF_FREE_COLLECTIVE) {
		free_collectives(w);
		return;
	}
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		if (w->traits[i] & IS_PLAIN && what != WHATIF_FREE_LAUNCH)
			continue;
		const struct replay_op *op = &w->replay.ops.at[i];
		const struct timeline_call *c = whatif_call(w, i);
		if (c)
			w->edit.op[i] |= free_edit(w, i, c, what);
		for (uint32_t k = op->first_work;
		     what == WHATIF_FREE_COPY && k < op->first_work + op->n_work; k++)
			if (w->timeline->works.at[w->replay.works.at[k].work].kind == WORK_MEMCPY)
				w->edit.scale[k] = 0;
	}
	w->is_scaled |= what == WHATIF_FREE_COPY;
}

static void remove_calls_about(struct whatif *w, uint32_t about)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (c && c->about & about)
			w->edit.op[i] |= EDIT_GONE;
	}
}

/* ---- A part of the machine works twice as fast ---- */

/* How fast a collective runs depends on other ranks and on the link between them, so its kernels
 * keep their length. */
static void speed_up_gpu(struct whatif *w)
{
	for (size_t i = 0; i < w->replay.works.n; i++)
		if (w->timeline->works.at[w->replay.works.at[i].work].kind != WORK_MEMCPY)
			w->edit.scale[i] /= 2;
	w->is_scaled = true;
	scale_collectives(w, 2);
}

static void speed_up_calls(struct whatif *w)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (c && !is_of_memory(w, c) && c->category != CAT_MEMCPY &&
		    !idle_call_loads_code(w->timeline, c))
			w->edit.op[i] |= EDIT_HALF_COST;
	}
}

static void change_twice(struct whatif *w, uint8_t what)
{
	if (what == WHATIF_TWICE_GPU)
		speed_up_gpu(w);
	if (what == WHATIF_TWICE_LAUNCH)
		speed_up_calls(w);
	if (what == WHATIF_TWICE_HOST)
		whatif_change_host_nodes(w, 0, NODE_HALF_GAP);
	if (what != WHATIF_TWICE_GPU)
		whatif_halve_gaps(w, what == WHATIF_TWICE_HOST);
}

static void put_aside(struct whatif *w, uint32_t site)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		const struct timeline_call *c = whatif_call(w, i);
		if (c && c->category == CAT_MEMCPY && w->site[i] == site)
			w->edit.op[i] |= EDIT_ASIDE | EDIT_NO_WAIT;
	}
	whatif_branch_copies(w, site);
}

/* ---- Host time around removed calls ---- */

/* Returns the part of the gap between two ops that goes if the calls that are marked EDIT_GONE are
 * removed, in ns. */
static double own_gap(const struct whatif *w, uint32_t first, uint32_t second)
{
	const uint8_t a = w->edit.op[first], b = w->edit.op[second];
	double gap = w->replay.ops.at[second].gap_ns;
	bool is_one_line = whatif_call(w, first)->site == whatif_call(w, second)->site;
	struct host_split own = host_share_of(&w->share, first, second, gap);
	if (a & b & EDIT_OF_LINE && is_one_line && host_share_is_library(&w->share, first, second))
		return gap; /* all that the library does between the calls is done for this line */
	if (a & b & EDIT_GONE && is_one_line)
		return w->share.is_known ? fmin(gap, WHATIF_TIMES_SHARE * (own.out_ns + own.in_ns))
					 : gap;
	double sum = 0;
	if ((a & (EDIT_GONE | EDIT_KEEP_GAP)) == EDIT_GONE)
		sum += own.out_ns;
	if ((b & (EDIT_GONE | EDIT_KEEP_GAP)) == EDIT_GONE)
		sum += own.in_ns;
	return sum;
}

static void cut_gaps(struct whatif *w)
{
	for (uint32_t i = 0; i < w->replay.ops.n; i++) {
		uint32_t first = w->before[i];
		if (first != REPLAY_NONE && (w->edit.op[first] | w->edit.op[i]) & EDIT_GONE &&
		    w->replay.ops.at[i].anchor == REPLAY_NONE)
			w->edit.cut_ns[i] = fmaxf(w->edit.cut_ns[i], (float)own_gap(w, first, i));
	}
}

/* ---- Playing changes ---- */

/* Replaces *nearest by the site if it is in the changed file and nearer to the changed line. */
static void find_nearer(const struct whatif *w, const struct whatif_change *c, uint32_t site,
			const struct site **nearest)
{
	if (!site || site > frames_n_sites(w->timeline->frames))
		return;
	const struct site *s = frames_site_at(w->timeline->frames, site);
	if (path_ends_with(s->file, c->file) &&
	    (!*nearest ||
	     labs((long)s->line - (long)c->line) < labs((long)(*nearest)->line - (long)c->line)))
		*nearest = s;
}

/* Sets `e` to a message that no call is made at the change's line, and no sample has it. The
 * message names the nearest line of the same file that makes calls in the played steps, or captured
 * work that ran in them. Returns -ENOENT. */
static int say_nearest(const struct whatif *w, const struct whatif_change *c, struct err *e)
{
	const struct site *nearest = NULL;
	for (uint32_t i = 0; i < w->replay.ops.n; i++)
		find_nearer(w, c, w->site[i], &nearest);
	for (size_t i = 0; i < w->timeline->captured.n; i++)
		find_nearer(w, c, w->timeline->captured.at[i].site, &nearest);
	if (nearest)
		return err_set(e, -ENOENT,
			       "no CUDA call or sample at %s:%u in the recorded steps; nearest "
			       "line with a call: %u",
			       c->file, c->line, nearest->line);
	return err_set(e, -ENOENT, "no CUDA call in a file named %s in the recorded steps",
		       c->file);
}

/* Adds the change to w->edit. Sets only out->is_sampled. Returns 0 or the errors of
 * whatif_play(). */
static int apply(struct whatif *w, const struct whatif_change *c, struct whatif_result *out,
		 struct err *e)
{
	switch ((enum whatif_kind)c->kind) {
	case WHATIF_WAIT:
	case WHATIF_LINE:
		if (change_line(w, c))
			return 0;
		out->is_sampled = whatif_cut_sampled(w, c);
		return out->is_sampled ? 0 : say_nearest(w, c, e);
	case WHATIF_KERNEL:
		if (e)
			e->text[0] = 0;
		if (change_kernels(w, c, e))
			return 0;
		return e && e->text[0]
			       ? -EINVAL
			       : err_set(e, -ENOENT,
					 "no kernel name in the recorded steps matches '%s'",
					 c->pattern);
	case WHATIF_FREE:
		change_free(w, c->what);
		return 0;
	case WHATIF_PAUSE:
		whatif_free_pauses(w, c);
		return 0;
	case WHATIF_BEFORE:
		whatif_free_gaps_before(w, c);
		return 0;
	case WHATIF_ONE_LAUNCH:
		join_launches(w, c->site);
		return 0;
	case WHATIF_ABOUT:
		remove_calls_about(w, c->about);
		return 0;
	case WHATIF_TWICE:
		change_twice(w, c->what);
		return 0;
	case WHATIF_ASIDE:
		put_aside(w, c->site);
		return 0;
	case WHATIF_OWN_STREAM:
		whatif_use_own_stream(w, c->site);
		return 0;
	case WHATIF_HOST_NODES:
		whatif_change_host_nodes(w, c->site, NODE_NO_GAP);
		return 0;
	}
	return err_set(e, -EINVAL, "an unknown change");
}

/* Counts the calls and the GPU work that the changes affect. Returns false if the changes have no
 * effect. */
static bool count_touched(const struct whatif *w, struct whatif_result *out)
{
	size_t calls = 0, works = 0, longer = 0;
	for (size_t i = 0; i < w->replay.ops.n; i++) {
		calls += w->edit.op[i] || w->edit.cut_ns[i] > 0 || whatif_is_moved(w, (uint32_t)i);
		longer += w->edit.cut_ns[i] < 0;
	}
	for (size_t i = 0; (w->is_scaled || w->has_nodes) && i < w->replay.works.n; i++)
		works += w->edit.scale[i] < 1 || w->edit.scale[i] > 1 || w->edit.node[i];
	out->calls = (double)calls / w->replay.n_steps;
	out->works = (double)works / w->replay.n_steps;
	return calls || works || longer;
}

/* Fills the step lengths of the result. The replayed mean step differs a little from the measured
 * one. Therefore all lengths from the replay are multiplied by the ratio of the two, measured to
 * replayed. */
static void fill_steps(const struct whatif *w, struct whatif_result *out)
{
	out->steps = w->replay.n_steps;
	out->measured_ms = w->replay.measured_ns / 1e6;
	out->replayed_ms = w->replayed_ns / 1e6;
	out->error_pct = (w->replayed_ns / w->replay.measured_ns - 1) * 100;
	double measured_ms_of_ns = out->measured_ms / w->replayed_ns;
	out->recorded_ms = w->recorded_ns * measured_ms_of_ns;
	out->step_ms = w->step_ns * measured_ms_of_ns;
	out->mean_ms = w->mean_ns * measured_ms_of_ns;
}

/* Returns true if no change removes the host's own work between calls. */
static bool is_of_calls(const struct whatif_change *changes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (changes[i].kind == WHATIF_PAUSE || changes[i].kind == WHATIF_BEFORE ||
		    (changes[i].kind == WHATIF_FREE && changes[i].what == WHATIF_FREE_INPUT))
			return false;
	return true;
}

int whatif_play(struct whatif *w, const struct whatif_change *changes, size_t n,
		struct whatif_result *out, struct err *e)
{
	const struct replay *r = &w->replay;
	memset(out, 0, sizeof(*out));
	memset(w->edit.op, 0, r->ops.n);
	memset(w->edit.cut_ns, 0, r->ops.n * sizeof(*w->edit.cut_ns));
	for (size_t i = 0; w->is_scaled && i < r->works.n; i++)
		w->edit.scale[i] = 1;
	if (w->has_nodes)
		memset(w->edit.node, 0, r->works.n);
	w->is_scaled = w->has_nodes = false;
	w->edit.stream = NULL;
	for (size_t i = 0; i < n; i++) {
		int status = apply(w, &changes[i], out, e);
		if (status)
			return status;
	}
	cut_gaps(w);
	fill_steps(w, out);
	if (count_touched(w, out)) {
		replay_play(r, &w->edit);
		whatif_find_gain(w, !out->is_sampled && is_of_calls(changes, n), out);
	}
	double held_against_ms = out->is_of_mean ? out->mean_ms : out->step_ms;
	out->changed_ms = held_against_ms - out->gain_ms;
	out->gain_pct = out->gain_ms / held_against_ms * 100;
	return 0;
}

int whatif_run(struct timeline *t, const struct whatif_change *changes, size_t n,
	       struct whatif_result *out, struct err *e)
{
	struct whatif w;
	int status = whatif_open(&w, t, e);
	if (status)
		return status;
	status = whatif_play(&w, changes, n, out, e);
	whatif_close(&w);
	return status;
}
