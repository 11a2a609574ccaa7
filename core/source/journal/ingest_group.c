/*
 * Closes many steps at once. Closing one step scans all records held. Hundreds of short steps may
 * be held, until calls that were under way at their ends have been written. So the records of later
 * steps are moved aside before, by halving: each record is moved about seven times instead of being
 * scanned about 500 times.
 */
#include "core/source/journal/ingest.h"

enum { ONE_BY_ONE = 8 }; /* up to this many steps are closed without moving records */

/* Records that steps before a certain moment do not need. */
struct aside {
	VEC(struct rec_gpu) works;
	VEC(struct rec_external) externals;
	VEC(struct rec_api) apis;
	struct aside_calls {
		VEC(struct rec_call) of;
	} * threads;
	size_t n_threads;
};

#define MOVE_IF(from, to, item, condition)                             \
	do {                                                           \
		size_t kept_ = 0;                                      \
		vec_reserve(to, (from)->n);                            \
		for (size_t i_ = 0; i_ < (from)->n; i_++) {            \
			__typeof__((from)->at) item = (from)->at + i_; \
			if (condition)                                 \
				vec_push(to, *item);                   \
			else                                           \
				(from)->at[kept_++] = *item;           \
		}                                                      \
		(from)->n = kept_;                                     \
	} while (0)

#define MOVE_BACK(to, from)                                                                    \
	do {                                                                                   \
		vec_reserve(to, (from)->n);                                                    \
		if ((from)->n)                                                                 \
			memcpy((to)->at + (to)->n, (from)->at, (from)->n * sizeof(*(to)->at)); \
		(to)->n += (from)->n;                                                          \
		vec_free(from);                                                                \
	} while (0)

static bool is_later_external(struct map_memo *thread_of_slot, const uint32_t *last_seq,
			      const struct rec_external *e)
{
	const uint64_t *i = map_find_again(thread_of_slot, e->thread);
	return !i || (int32_t)(e->seq - last_seq[*i]) > 0;
}

static void put_works_aside(struct ingest *f, uint64_t end, struct aside *aside)
{
	struct pair_thread *threads = ingest_cut_threads(f);
	uint32_t *call_of = mem_resize(NULL, f->works.n * sizeof(*call_of));
	ingest_match(f, threads, f->marks.at[0].ticks, end, call_of);
	MOVE_IF(&f->works, &aside->works, w, call_of[w - f->works.at] == PAIR_LATER);
	free(call_of);
	free(threads);
}

static void put_calls_aside(struct ingest *f, struct aside *aside)
{
	aside->n_threads = f->threads.n;
	aside->threads = mem_zero(f->threads.n * sizeof(*aside->threads));
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		struct aside_calls *calls = &aside->threads[i];
		size_t n = t->calls.n - t->n_cut;
		if (!n)
			continue;
		vec_reserve(&calls->of, n);
		memcpy(calls->of.at, t->calls.at + t->n_cut, n * sizeof(*t->calls.at));
		calls->of.n = n;
		t->calls.n = t->n_cut;
	}
}

static void put_aside(struct ingest *f, uint64_t end, struct aside *aside)
{
	struct map_memo memo = { .map = &f->thread_of_slot };
	uint32_t *last_seq = mem_resize(NULL, f->threads.n * sizeof(*last_seq));
	memset(aside, 0, sizeof(*aside));
	ingest_cut_calls(f, end);
	for (size_t i = 0; i < f->threads.n; i++)
		last_seq[i] = ingest_last_seq(f, &f->threads.at[i], f->threads.at[i].n_cut);
	put_works_aside(f, end, aside);
	MOVE_IF(&f->externals, &aside->externals, e, is_later_external(&memo, last_seq, e));
	MOVE_IF(&f->apis, &aside->apis, a, a->begin_ticks >= end);
	put_calls_aside(f, aside);
	free(last_seq);
}

static void bring_back(struct ingest *f, struct aside *aside)
{
	MOVE_BACK(&f->works, &aside->works);
	MOVE_BACK(&f->externals, &aside->externals);
	MOVE_BACK(&f->apis, &aside->apis);
	for (size_t i = 0; i < aside->n_threads; i++)
		MOVE_BACK(&f->threads.at[i].calls, &aside->threads[i].of);
	free(aside->threads);
}

static void close_halves(struct ingest *f, size_t n)
{
	struct aside later;
	size_t half = n / 2;
	if (n <= ONE_BY_ONE) {
		while (n--)
			ingest_close_first(f);
		return;
	}
	put_aside(f, f->marks.at[half].ticks, &later);
	close_halves(f, half);
	bring_back(f, &later);
	close_halves(f, n - half);
}

void ingest_close_group(struct ingest *f, size_t n)
{
	struct aside later;
	bool are_all = n + 1 == f->marks.n;
	ingest_pair_by_order(f);
	if (n <= ONE_BY_ONE || are_all) {
		close_halves(f, n);
		return;
	}
	put_aside(f, f->marks.at[n].ticks, &later);
	close_halves(f, n);
	bring_back(f, &later);
}
