/*
 * See pair.h. The correlation ids and the seqs of a step are dense ranges, so both are looked up in
 * arrays. Ids outside the range (after a wrap-around, or damaged) are looked up in a hash table.
 * Takes about 15 ns per piece of work.
 */
#include "core/source/journal/pair.h"

#include "core/util/bisect.h"
#include "core/util/vec.h"

struct seq_index {
	const struct pair_thread *thread;
	uint32_t *seqs, *calls; /* seq and number of each call with GPU work */
	uint32_t n;
	/*
	 * Where to look first: after the seq found last, because ids come in the order of the
	 * calls.
	 */
	uint32_t next;
};

struct matcher {
	const struct pair_input *in;
	struct seq_index *indexes; /* one per thread */
	struct map thread_of_slot;
	struct map_memo slot;
	uint32_t base, range; /* the dense range of correlation ids: first id, and number of ids */
	uint32_t *dense;      /* [id - base]: the answer for the id */
	struct map sparse;
};

static bool has_work(const struct pair_input *in, const struct rec_call *call)
{
	return category_has_work(dict_category(in->dict, call->hook));
}

static void index_thread(struct matcher *m, size_t i)
{
	const struct pair_thread *t = &m->in->threads[i];
	struct seq_index *x = &m->indexes[i];
	x->thread = t;
	*map_at(&m->thread_of_slot, t->slot, NULL) = i;
	if (!t->n_calls) /* most threads of the run, if thousands of them come and go */
		return;
	x->seqs = mem_resize(NULL, t->n_calls * sizeof(*x->seqs));
	x->calls = mem_resize(NULL, t->n_calls * sizeof(*x->calls));
	for (size_t k = 0; k < t->n_calls; k++) {
		if (!has_work(m->in, &t->calls[k]))
			continue;
		x->seqs[x->n] = t->calls[k].seq;
		x->calls[x->n++] = t->first + (uint32_t)k;
	}
}

/*
 * Returns the call with this seq, or a pair_answer. The seqs are sorted, because a thread numbers
 * its calls in order. They wrap around, so they are compared modulo 2^32.
 */
static uint32_t find_seq(struct seq_index *x, uint32_t seq)
{
	if ((int32_t)(seq - x->thread->closed_seq) <= 0)
		return PAIR_EARLIER;
	if (!x->n || (int32_t)(seq - x->seqs[x->n - 1]) > 0)
		return PAIR_LATER;
	uint32_t at = x->next;
	if (at >= x->n || x->seqs[at] != seq)
		at = (uint32_t)bisect(x->n - 1, i, (int32_t)(x->seqs[i] - seq) < 0);
	x->next = at + 1;
	return x->seqs[at] == seq ? x->calls[at] : (uint32_t)PAIR_LOST;
}

static uint32_t answer_external(struct matcher *m, const struct rec_external *e)
{
	const uint64_t *i = map_find_again(&m->slot, e->thread);
	return i ? find_seq(&m->indexes[*i], e->seq) : (uint32_t)PAIR_LATER;
}

/*
 * Returns the number of the call of thread `t` that contains the middle of CUPTI's record `a`.
 * Using the middle tolerates clocks that differ by up to half the call. A statically linked runtime
 * (cuBLAS has one) is hooked only at the driver call that it makes inside CUPTI's record. Then the
 * result is the first call with GPU work that begins within the record.
 */
static uint32_t find_around(const struct pair_input *in, const struct pair_thread *t,
			    const struct rec_api *a)
{
	uint64_t begin = a->begin_ticks, end = a->end_ticks > begin ? a->end_ticks : begin,
		 middle = begin + (end - begin) / 2;
	size_t after = bisect(t->n_calls, i, t->calls[i].begin_ticks <= middle);
	const struct rec_call *around = after ? &t->calls[after - 1] : NULL;
	if (around && around->begin_ticks + record_duration(around) >= middle)
		return t->first + (uint32_t)(after - 1);
	size_t first = bisect(t->n_calls, i, t->calls[i].begin_ticks < begin);
	while (first < t->n_calls && t->calls[first].begin_ticks <= end &&
	       !has_work(in, &t->calls[first]))
		first++;
	if (first == t->n_calls || t->calls[first].begin_ticks > end)
		return PAIR_UNKNOWN;
	return t->first + (uint32_t)first;
}

static uint32_t answer_api(const struct pair_input *in, const struct rec_api *a)
{
	if (a->begin_ticks >= in->end_ticks)
		return PAIR_LATER;
	for (size_t i = 0; i < in->n_threads; i++) {
		if (in->threads[i].tid != a->tid && in->threads[i].handle != a->tid)
			continue;
		uint32_t call = find_around(in, &in->threads[i], a);
		if (call != PAIR_UNKNOWN)
			return call;
	}
	/*
	 * the record contains the boundary, so the next step may begin with the hooked call inside
	 * it
	 */
	if (a->end_ticks >= in->end_ticks)
		return PAIR_LATER;
	return a->begin_ticks < in->begin_ticks ? PAIR_EARLIER : PAIR_UNKNOWN;
}

static void widen(uint32_t id, uint32_t *low, uint32_t *high)
{
	if (id < *low)
		*low = id;
	if (id > *high)
		*high = id;
}

static void choose_dense_range(struct matcher *m)
{
	const struct pair_input *in = m->in;
	uint32_t low = UINT32_MAX, high = 0;
	for (size_t i = 0; i < in->n_externals; i++)
		widen(in->externals[i].correlation, &low, &high);
	for (size_t i = 0; i < in->n_apis; i++)
		widen(in->apis[i].correlation, &low, &high);
	uint64_t n = (uint64_t)in->n_externals + in->n_apis;
	if (!n || (uint64_t)(high - low) > n * 8 + 65536)
		return;
	m->base = low;
	m->range = high - low + 1;
	m->dense = mem_resize(NULL, m->range * sizeof(*m->dense));
	memset(m->dense, 0xff, m->range * sizeof(*m->dense));
}

static void remember(struct matcher *m, uint32_t correlation, uint32_t answer)
{
	if (correlation - m->base < m->range) {
		if (m->dense[correlation - m->base] == PAIR_UNKNOWN)
			m->dense[correlation - m->base] = answer;
		return;
	}
	bool is_new;
	uint64_t *at = map_at(&m->sparse, correlation, &is_new);
	if (is_new || *at == PAIR_UNKNOWN)
		*at = answer;
}

static uint32_t recall(const struct matcher *m, uint32_t correlation)
{
	if (correlation - m->base < m->range)
		return m->dense[correlation - m->base];
	const uint64_t *at = map_find(&m->sparse, correlation);
	return at ? (uint32_t)*at : (uint32_t)PAIR_UNKNOWN;
}

void pair_match(const struct pair_input *in, uint32_t *call_of)
{
	struct matcher m = { .in = in, .indexes = mem_zero(in->n_threads * sizeof(*m.indexes)) };
	for (size_t i = 0; i < in->n_threads; i++)
		index_thread(&m, i);
	m.slot.map = &m.thread_of_slot;
	choose_dense_range(&m);
	for (size_t i = 0; i < in->n_externals; i++)
		remember(&m, in->externals[i].correlation, answer_external(&m, &in->externals[i]));
	for (size_t i = 0; i < in->n_apis; i++)
		remember(&m, in->apis[i].correlation, answer_api(in, &in->apis[i]));
	for (size_t i = 0; i < in->n_works; i++) {
		bool has_id = !(in->works[i].flags & GPU_WRONG_ID);
		call_of[i] = has_id ? recall(&m, in->works[i].correlation) : PAIR_UNKNOWN;
		if (call_of[i] == PAIR_UNKNOWN && in->works[i].begin_ticks >= in->end_ticks)
			call_of[i] = PAIR_LATER;
	}
	for (size_t i = 0; i < in->n_threads; i++) {
		free(m.indexes[i].seqs);
		free(m.indexes[i].calls);
	}
	free(m.indexes);
	free(m.dense);
	map_free(&m.thread_of_slot);
	map_free(&m.sparse);
}
