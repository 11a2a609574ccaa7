/*
 * Finds the phases of each lane. Each call gets a part from its stack. What follows from the other
 * calls of the step is in phase_batches.c and phase_passes.c, and the time between calls in
 * phase_gaps.c.
 */
#include "core/analysis/phases.h"

#include "core/analysis/phase_parts.h"
#include "core/analysis/timeline.h"
#include "core/util/order.h"

void phases_free(struct phases *p)
{
	vec_free(&p->lanes);
	vec_free(&p->spans);
	vec_free(&p->part_of_call);
	vec_free(&p->stacks);
	vec_free(&p->calls);
	vec_free(&p->batches);
	map_free(&p->stack_of);
	map_free(&p->part_between);
	map_free(&p->part_of_fetch);
}

/* ---- Calls ---- */

static bool is_batch(const struct model_call *c)
{
	return c->category == CAT_MEMCPY && c->copy == COPY_H2D && c->bytes >= TIMELINE_BATCH_BYTES;
}

/* Returns true for calls of Python threads. The threads of a library such as gloo have no Python
 * frames; they copy data that ranks exchange, which is not a batch. */
static bool is_of_program(struct phases *p, const struct model_call *c, struct frames *frames)
{
	return frames && c->stack && phases_stack_of(p, frames, c->stack).is_certain;
}

static uint8_t part_of(struct phases *p, const struct model_call *c, struct frames *frames,
		       bool is_worker)
{
	struct phase_stack stack = { .part = PART_NONE, .is_certain = true };
	if (frames && c->stack)
		stack = phases_stack_of(p, frames, c->stack);
	p->n_without_stack += !c->stack;
	p->n_guessed += !stack.is_certain;
	if (is_worker && stack.part == PART_MODULE)
		return PART_RECOMPUTE;
	if (is_worker &&
	    (stack.part == PART_NONE || stack.part == PART_USER || stack.part == PART_FUNCTIONAL))
		return PART_BACKWARD;
	if (is_batch(c) && phases_is_open(&stack))
		return PART_TO_DEVICE;
	return frames && c->stack ? stack.part : PART_UNKNOWN;
}

/* ---- Threads ---- */

/* Returns true for threads of the autograd engine. The engine names its threads. Older versions of
 * PyTorch do not, so there the stacks must show it. */
static bool is_worker(struct phases *p, const struct model_step *m, const struct model_thread *t,
		      struct frames *frames)
{
	static const char name[] = "pt_autograd_";
	if (!strncmp(t->name, name, sizeof(name) - 1))
		return true;
	for (size_t i = 0; frames && i < t->n; i++)
		if (m->calls.at[t->first + i].stack)
			return phases_stack_of(p, frames, m->calls.at[t->first + i].stack)
				.is_worker;
	return false;
}

static size_t count_launches(const struct model_step *m, const struct model_thread *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++)
		n += category_has_work(m->calls.at[t->first + i].category);
	return n;
}

/*
 * Sets the part of calls without a stack to the part of the lane's next call. `own` is the lane's
 * own thread. If most of its calls have no stack (PROF_STACKS), the calls with a known part are
 * mostly those of autograd's threads, whose part follows from the thread's name. They say nothing
 * about the calls of `own`, so calls without a stack become PART_NONE.
 */
static void settle_unknown(struct phases *p, const struct model_thread *own)
{
	size_t n = 0;
	for (size_t i = own->first; i < own->first + own->n; i++)
		n += p->part_of_call.at[i] == PART_UNKNOWN;
	bool is_resolved = n * 2 <= own->n;
	uint8_t next = PART_NONE;
	/* After the last call comes the next step's first call, so this loop leaves the part of the
	 * first known call in `next`. */
	for (size_t i = p->calls.n; i-- > 0 && is_resolved;)
		if (p->part_of_call.at[p->calls.at[i]] != PART_UNKNOWN)
			next = p->part_of_call.at[p->calls.at[i]];
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		if (*part == PART_UNKNOWN)
			*part = next;
		next = is_resolved ? *part : PART_NONE;
	}
	p->n_unresolved += is_resolved ? 0 : n;
}

/* ---- Lanes ---- */

/* Collects the lane's calls in order of time. `workers`: by thread, true for autograd's threads,
 * whose calls are included; NULL: only the calls of `thread`. */
static void gather_calls(struct phases *p, const struct model_step *m, size_t thread,
			 const bool *workers)
{
	struct order_key *keys = mem_resize(NULL, m->calls.n * sizeof(*keys));
	size_t n = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *t = &m->threads.at[i];
		for (size_t k = 0; k < t->n && (i == thread || (workers && workers[i])); k++)
			keys[n++] = (struct order_key){ m->calls.at[t->first + k].begin_ns,
							(uint32_t)(t->first + k) };
	}
	order_sort(keys, n);
	p->calls.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&p->calls, keys[i].index);
	free(keys);
}

static bool is_evidence(uint8_t part)
{
	return phase_of_part(part) != PHASE_OTHER && part != PART_TO_DEVICE && part != PART_AWAITED;
}

static void add_lane(struct phases *p, const struct model_step *m, size_t thread,
		     const bool *workers, struct frames *frames)
{
	struct phase_lane lane = { .thread = (uint32_t)thread, .first = p->spans.n };
	gather_calls(p, m, thread, workers);
	phase_batches_leave_trips(p, m, frames);
	phase_batches_take_waits(p, m, frames);
	phase_batches_take_preparing(p, m, frames);
	phase_passes_leave_reads(p, m, lane.thread, frames);
	phase_passes_take_user_calls(p);
	phase_passes_find_evaluation(p, m, frames);
	phase_passes_find_early(p, m, lane.thread, frames);
	phase_passes_find_ahead(p, m, lane.thread, frames);
	phase_passes_leave_user_code(p, m, lane.thread, frames);
	if (p->calls.n)
		settle_unknown(p, &m->threads.at[thread]);
	phase_gaps_add_spans(p, m, lane.thread, frames);
	lane.n = p->spans.n - lane.first;
	for (size_t i = lane.first; i < p->spans.n; i++)
		lane.has_phases |= is_evidence(p->spans.at[i].part);
	vec_push(&p->lanes, lane);
}

/* Returns the index of the thread that launches most, not counting autograd's threads. */
static size_t main_thread(const struct model_step *m, const bool *workers)
{
	size_t best = m->threads.n, most = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		size_t n = count_launches(m, &m->threads.at[i]);
		if (workers[i] || (best < m->threads.n && n <= most))
			continue;
		best = i;
		most = n;
	}
	return best < m->threads.n ? best : 0;
}

void phases_find(struct phases *p, const struct model_step *m, struct frames *frames)
{
	bool *workers = mem_zero(m->threads.n * sizeof(*workers));
	p->lanes.n = p->spans.n = p->part_of_call.n = p->batches.n = 0;
	p->n_guessed = p->n_without_stack = p->n_unresolved = 0;
	vec_reserve(&p->part_of_call, m->calls.n);
	p->part_of_call.n = m->calls.n;
	memset(p->part_of_call.at, PART_NONE, m->calls.n);
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *t = &m->threads.at[i];
		workers[i] = is_worker(p, m, t, frames);
		for (size_t k = t->first; k < t->first + t->n; k++) {
			const struct model_call *c = &m->calls.at[k];
			p->part_of_call.at[k] = part_of(p, c, frames, workers[i]);
			if (p->part_of_call.at[k] == PART_TO_DEVICE && is_batch(c) &&
			    is_of_program(p, c, frames))
				vec_push(&p->batches, (struct phase_batch){ c->begin_ns, c->end_ns,
									    (uint32_t)i });
		}
	}
	size_t main = main_thread(m, workers);
	add_lane(p, m, main, workers, frames);
	for (size_t i = 0; i < m->threads.n; i++)
		if (i != main && !workers[i] && m->threads.at[i].n)
			add_lane(p, m, i, NULL, frames);
	free(workers);
}

/* ---- Sums ---- */

static uint8_t part_of_work(const struct phases *p, const struct model_step *m,
			    const struct model_work *w, const uint8_t *captured)
{
	uint32_t origin = model_work_origin(m, w);
	if (captured && origin != MODEL_NO_CALL)
		return captured[origin];
	return w->call < m->calls.n ? p->part_of_call.at[w->call] : (uint8_t)PART_NONE;
}

void phase_sums_add(struct phase_sums *s, const struct phases *p, const struct model_step *m,
		    const uint8_t *captured)
{
	const struct phase_lane *lane = &p->lanes.at[0];
	for (size_t i = lane->first; i < lane->first + lane->n; i++)
		s->host_ns[p->spans.at[i].part] += p->spans.at[i].end_ns - p->spans.at[i].begin_ns;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind == WORK_SYNC)
			continue;
		uint8_t part = part_of_work(p, m, w, captured);
		s->gpu_ns[part] += w->end_ns - w->begin_ns;
		s->graph_ns[part] += w->graph ? w->end_ns - w->begin_ns : 0;
		s->work_ns += w->end_ns - w->begin_ns;
	}
	s->steps_ns += m->end_ns - m->begin_ns;
	s->n_calls += m->calls.n;
	s->n_guessed += p->n_guessed;
	s->n_without_stack += p->n_without_stack;
	s->n_unresolved += p->n_unresolved;
	for (size_t i = 0; i < p->lanes.n; i++)
		s->has_phases |= p->lanes.at[i].has_phases;
	for (size_t i = 0; captured && i < m->captured.n; i++)
		s->has_phases |= is_evidence(captured[i]);
}

bool phase_sums_are_right(const struct phase_sums *s)
{
	uint64_t host_ns = 0, gpu_ns = 0;
	for (size_t i = 0; i < PHASE_PARTS_N; i++) {
		host_ns += s->host_ns[i];
		gpu_ns += s->gpu_ns[i];
	}
	return host_ns == s->steps_ns && gpu_ns == s->work_ns;
}
