/*
 * See replay_chain.h. A piece waited for the one that ended last before it began. Of several that
 * ended at the same time, it is the one that the same stream captured. That one it follows in any
 * case, because a stream captures its calls as a chain. What else it waits for is not known.
 */
#include "core/whatif/replay_chain.h"

static const struct timeline_work *work_of(const struct replay_trace *m, uint32_t piece)
{
	return &m->t->works.at[m->r->works.at[piece].work];
}

/* Returns the stream that captured the work; 0: not known. */
static uint64_t stream_of(const struct replay_trace *m, const struct timeline_work *w)
{
	return w->origin == MODEL_NO_CALL ? 0 : timeline_code(m->t, w)->stream;
}

/* Returns the slot of the stream in c->last; CHAIN_BRANCHES: it has none. */
static uint32_t slot_of(const struct replay_trace *m, const struct replay_chain *c, uint64_t stream)
{
	uint32_t k = 0;
	while (stream && k < c->n_streams && stream_of(m, work_of(m, c->last[k])) != stream)
		k++;
	return stream ? k : CHAIN_BRANCHES;
}

static void end_piece(const struct replay_trace *m, struct replay_chain *c, uint32_t piece)
{
	const struct timeline_work *w = work_of(m, piece);
	uint32_t k = slot_of(m, c, stream_of(m, w));
	if (c->newest == REPLAY_NONE || w->end_ns >= work_of(m, c->newest)->end_ns)
		c->newest = piece;
	if (k == CHAIN_BRANCHES)
		return;
	c->n_streams += k == c->n_streams;
	c->last[k] = piece;
}

static void end_pieces(const struct replay_trace *m, struct replay_chain *c, uint64_t now_ns)
{
	uint32_t left = 0;
	for (uint32_t i = 0; i < c->n_running; i++)
		if (work_of(m, c->running[i])->end_ns <= now_ns)
			end_piece(m, c, c->running[i]);
		else
			c->running[left++] = c->running[i];
	c->n_running = left;
}

static void find_before(const struct replay_trace *m, struct replay_chain *c,
			struct replay_work *piece)
{
	const struct timeline_work *w = &m->t->works.at[piece->work];
	uint32_t k = slot_of(m, c, stream_of(m, w)), latest = (uint32_t)m->r->works.n - 1;
	uint32_t own = k < c->n_streams ? c->last[k] : REPLAY_NONE;
	piece->latency_ns = (float)((double)w->begin_ns - (double)work_of(m, latest)->begin_ns);
	piece->overlaps = c->newest == REPLAY_NONE;
	piece->before = piece->overlaps ? latest : c->newest;
	if (own != REPLAY_NONE && work_of(m, own)->end_ns == work_of(m, piece->before)->end_ns)
		piece->before = own;
	piece->own_before = own;
	piece->after_ns =
		(float)((double)(int64_t)(w->begin_ns - work_of(m, piece->before)->end_ns));
}

void replay_chain_add(const struct replay_trace *m, struct replay_chain *c,
		      struct replay_work *piece)
{
	end_pieces(m, c, m->t->works.at[piece->work].begin_ns);
	if (piece->is_chained)
		find_before(m, c, piece);
	if (c->n_running < CHAIN_BRANCHES)
		c->running[c->n_running++] = (uint32_t)m->r->works.n;
}
