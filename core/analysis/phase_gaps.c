/*
 * Divides a lane's time between its calls among the parts. Samples may show what the CPU did there
 * (phase_samples.h). Where they do not, the time between two calls is assigned to one of the calls.
 * In general it belongs to the later call, which the CPU was on its way to. If the earlier call was
 * made by a data loader, the time belongs to the loader. After the last call of the step, the CPU
 * is on its way to the first call of the next step, which is assumed to be like the first call of
 * this step.
 */
#include "core/analysis/phase_parts.h"
#include "core/analysis/phase_samples.h"
#include "core/util/bisect.h"

enum {
	/* A shorter pause is not a wait for a batch that another thread copies. */
	HANDOVER_NS = 50000,
	/* At most 1/8 of such a pause may come after the batch's copy. */
	HANDOVER_PART = 8,
	/* In a shorter time between two calls the CPU is on its way to the next call. */
	SAMPLED_LEAST_NS = 50000,
};

static void add_span(struct phases *p, size_t first, uint64_t begin_ns, uint64_t end_ns,
		     uint8_t part, uint32_t n_calls)
{
	struct phase_span *last = p->spans.n > first ? &p->spans.at[p->spans.n - 1] : NULL;
	if (last && last->part == part) {
		last->end_ns = end_ns;
		last->n_calls += n_calls;
	} else if (end_ns > begin_ns) {
		vec_push(&p->spans, (struct phase_span){ begin_ns, end_ns, n_calls, part });
	}
}

/*
 * Returns the part of the CPU time between two calls, from the parts of the calls. In general it is
 * the later call's part. But the time after a data loader's call or a file access still belongs to
 * these, and the time before the copy of a batch is spent making the batch or waiting for it.
 */
static uint8_t part_before(uint8_t last, uint8_t next)
{
	if (last == PART_LOADER || last == PART_FILE)
		return last;
	return next == PART_TO_DEVICE && last != PART_TO_DEVICE ? PART_AWAITED : next;
}

/*
 * Many loops zero the gradients before they copy the batch. The pause before zero_grad then is the
 * wait for the batch. Returns true if the lane's calls from number `i` on zero gradients and then
 * copy a batch, and the pause before them (`gap_ns`) is longer than the time from the last
 * zero_grad call to the copy.
 */
static bool is_zeroed_ahead_of_batch(const struct phases *p, const struct model_step *m, size_t i,
				     uint64_t gap_ns)
{
	uint64_t end_ns = 0;
	for (; i < p->calls.n; i++) {
		const struct model_call *c = &m->calls.at[p->calls.at[i]];
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		if (part == PART_TO_DEVICE)
			return end_ns && c->begin_ns < end_ns + gap_ns;
		if (part != PART_ZERO_GRAD && part != PART_AWAITED)
			return false;
		if (part == PART_ZERO_GRAD)
			end_ns = c->end_ns;
	}
	return false;
}

/* Returns the part of the CPU time before the lane's call number `i`. `last`: the part of the
 * previous call. `gap_ns`: length of that time. */
static uint8_t part_of_gap(const struct phases *p, const struct model_step *m, size_t i,
			   uint8_t last, uint64_t gap_ns)
{
	if (i && i == p->n_reads)
		return PART_NONE;
	uint8_t part = part_before(last, p->part_of_call.at[p->calls.at[i]]);
	if (part == PART_ZERO_GRAD && last != PART_ZERO_GRAD &&
	    is_zeroed_ahead_of_batch(p, m, i, gap_ns))
		return PART_AWAITED;
	return part;
}

/*
 * Returns until when the lane waited, in a pause without calls, for a batch that another thread
 * copied; 0: it did not wait for one. A prefetching thread passes its batch on at once, so the lane
 * must continue soon after the copy. If it continues later, it did not wait for this batch.
 */
static uint64_t handover_ns(const struct phases *p, uint32_t thread, uint64_t from_ns,
			    uint64_t to_ns)
{
	uint64_t last_ns = 0;
	if (to_ns - from_ns < HANDOVER_NS)
		return 0;
	for (size_t i = 0; i < p->batches.n; i++) {
		const struct phase_batch *b = &p->batches.at[i];
		if (b->thread != thread && b->begin_ns >= from_ns && b->end_ns <= to_ns &&
		    b->end_ns > last_ns)
			last_ns = b->end_ns;
	}
	return last_ns && to_ns - last_ns <= (to_ns - from_ns) / HANDOVER_PART ? last_ns : 0;
}

/*
 * Returns true if the step began with a batch from another thread: the copy of that batch ended
 * before the lane's first call, which came soon after the step's start. The next step is assumed to
 * begin like this one, so the lane spent the time at the end of this step (`gap_ns`) waiting for a
 * batch.
 */
static bool begins_with_handover(const struct phases *p, const struct model_step *m,
				 uint32_t thread, uint64_t gap_ns)
{
	uint64_t first_ns = p->calls.n ? m->calls.at[p->calls.at[0]].begin_ns : m->begin_ns;
	for (size_t i = 0; i < p->batches.n && gap_ns >= HANDOVER_NS; i++)
		if (p->batches.at[i].thread != thread && p->batches.at[i].end_ns <= first_ns)
			return first_ns - m->begin_ns < gap_ns / HANDOVER_PART;
	return false;
}

/* The CPU time between two calls of a lane. */
struct gap {
	const struct model_step *m;
	struct frames *frames;
	size_t first; /* the lane's first span */
	uint32_t thread;
	/* stack of the copy of a batch that follows or, outside data loading, of the next call; 0:
	 * none */
	uint32_t next;
	/* the stacks of the calls before and after; 0: one of them is unknown */
	uint64_t key;
	uint8_t part;	/* as the calls suggest; PART_AWAITED: data loading, if samples show it */
	uint8_t unseen; /* of a time without samples */
};

/* Returns the index of the thread's first sample at or after `ns`. */
static size_t first_sample(const struct model_step *m, uint32_t thread, uint64_t ns)
{
	const struct model_sample *s = m->samples.at;
	return bisect(m->samples.n, i,
		      s[i].thread < thread || (s[i].thread == thread && s[i].ns < ns));
}

/* Returns the part of the time around the sample. */
static uint8_t part_of_sample(struct phases *p, const struct gap *g, const struct model_sample *s)
{
	if (!g->frames || !s->stack)
		return g->unseen;
	struct phase_stack found = phases_stack_of(p, g->frames, s->stack);
	if (!found.is_certain)
		return g->unseen;
	if (phase_of_part(g->part) != PHASE_DATA)
		return phase_samples_part(g->frames, &found, s->stack, g->part, g->next);
	bool is_new;
	uint64_t *part = map_at(&p->part_of_fetch, (uint64_t)s->stack << 32 | g->next, &is_new);
	if (is_new)
		*part = phase_samples_part(g->frames, &found, s->stack, PART_AWAITED, g->next);
	return (uint8_t)*part;
}

/* Adds a time without samples. If a time between the same two calls was sampled before, it has the
 * same part. */
static void add_unseen(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t *known = NULL;
	if (g->key && end_ns > begin_ns + SAMPLED_LEAST_NS)
		known = map_find(&p->part_between, g->key);
	add_span(p, g->first, begin_ns, end_ns, known ? (uint8_t)*known : g->unseen, 0);
}

/* Adds the time from `begin_ns` to `end_ns`. Samples of the lane's thread show what it did: each
 * stands for the time that is nearer to it than to any other one. */
static void add_sampled(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	const struct model_sample *s = g->m->samples.at;
	size_t n = g->m->samples.n, first = first_sample(g->m, g->thread, begin_ns), end = first;
	uint64_t of_part[PHASE_PARTS_N] = { 0 };
	uint8_t most = g->unseen;
	while (end < n && s[end].thread == g->thread && s[end].ns < end_ns)
		end++;
	if (end == first || end_ns < begin_ns + SAMPLED_LEAST_NS) {
		add_unseen(p, g, begin_ns, end_ns);
		return;
	}
	for (size_t i = first; i < end; i++) {
		uint64_t until_ns = i + 1 == end ? end_ns : s[i].ns + (s[i + 1].ns - s[i].ns) / 2;
		uint8_t part = part_of_sample(p, g, &s[i]);
		add_span(p, g->first, begin_ns, until_ns, part, 0);
		of_part[part] += until_ns - begin_ns;
		most = of_part[part] > of_part[most] ? part : most;
		begin_ns = until_ns;
	}
	if (g->key)
		*map_at(&p->part_between, g->key, NULL) = most;
}

static void add_gap(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t until_ns = 0;
	if (phase_of_part(g->unseen) != PHASE_DATA && end_ns > begin_ns)
		until_ns = handover_ns(p, g->thread, begin_ns, end_ns);
	if (until_ns) {
		add_span(p, g->first, begin_ns, until_ns, PART_AWAITED, 0);
		begin_ns = until_ns;
	}
	add_sampled(p, g, begin_ns, end_ns);
}

/* Returns the stack of what comes after the gap before the lane's call number `i`: in data loading
 * the copy of a batch, else that call. 0: none follows. */
static uint32_t next_from(const struct phases *p, const struct model_step *m, size_t i,
			  uint8_t part)
{
	if (phase_of_part(part) != PHASE_DATA)
		return i < p->calls.n ? m->calls.at[p->calls.at[i]].stack : 0;
	for (; i < p->calls.n; i++)
		if (p->part_of_call.at[p->calls.at[i]] == PART_TO_DEVICE)
			return m->calls.at[p->calls.at[i]].stack;
	return 0;
}

/* Returns a number for the stacks of the lane's calls `i` - 1 and `i`; 0: a stack is unknown. A
 * step's first call follows the last call of the step before, which is assumed to be like that of
 * this step. */
static uint64_t key_before(const struct phases *p, const struct model_step *m, size_t i)
{
	if (!p->calls.n)
		return 0;
	uint32_t last = m->calls.at[p->calls.at[(i ? i : p->calls.n) - 1]].stack,
		 next = m->calls.at[p->calls.at[i]].stack;
	return last && next ? (uint64_t)last << 32 | next : 0;
}

/*
 * Sets what the gap before the lane's call number `i` is. That a batch is copied next does not show
 * that the program waited for it. Without samples, the time is that of the way to the call if it is
 * short, or if the call before already prepared the copy. Nothing is known of any other time.
 */
static void describe_gap(struct phases *p, struct gap *g, size_t i, uint8_t last, uint64_t gap_ns)
{
	bool is_on_way = gap_ns < SAMPLED_LEAST_NS || phase_of_part(last) == PHASE_DATA;
	g->part = part_of_gap(p, g->m, i, last, gap_ns);
	g->next = next_from(p, g->m, i, g->part);
	g->key = key_before(p, g->m, i);
	g->unseen = g->part;
	if (g->part == PART_AWAITED)
		g->unseen = is_on_way ? p->part_of_call.at[p->calls.at[i]] : (uint8_t)PART_NONE;
}

/* Adds the time after the lane's last call, in which the CPU is on its way to the next step. A run
 * without steps has no next one. */
static void add_tail(struct phases *p, struct gap *g, uint64_t at_ns, uint8_t last)
{
	const struct model_step *m = g->m;
	*g = (struct gap){ m, g->frames, g->first, g->thread, .part = last, .unseen = last };
	if (m->is_whole_run)
		g->part = g->unseen = PART_NONE;
	else if (p->calls.n)
		describe_gap(p, g, 0, last, m->end_ns - at_ns);
	if (!m->is_whole_run && begins_with_handover(p, m, g->thread, m->end_ns - at_ns) &&
	    phase_of_part(g->unseen) != PHASE_DATA)
		g->part = g->unseen = PART_AWAITED;
	add_gap(p, g, at_ns, m->end_ns);
}

/* Appends the lane's spans, which cover the whole step. */
void phase_gaps_add_spans(struct phases *p, const struct model_step *m, uint32_t thread,
			  struct frames *frames)
{
	struct gap gap = { .m = m, .frames = frames, .first = p->spans.n, .thread = thread };
	uint64_t at_ns = m->begin_ns;
	uint8_t last = PART_NONE;
	for (size_t i = 0; i < p->calls.n; i++) {
		const struct model_call *c = &m->calls.at[p->calls.at[i]];
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		uint64_t begin_ns = c->begin_ns < m->end_ns ? c->begin_ns : m->end_ns;
		uint64_t end_ns = c->end_ns < m->end_ns ? c->end_ns : m->end_ns;
		if (begin_ns > at_ns) {
			describe_gap(p, &gap, i, last, begin_ns - at_ns);
			add_gap(p, &gap, at_ns, begin_ns);
			at_ns = begin_ns;
		}
		end_ns = end_ns > at_ns ? end_ns : at_ns;
		add_span(p, gap.first, at_ns, end_ns, part, 1);
		at_ns = end_ns;
		last = part;
	}
	if (m->end_ns > at_ns)
		add_tail(p, &gap, at_ns, last);
}
