/*
 * Finds the call of each correlation id if CUPTI does not record calls. Uses all records held,
 * before steps are cut: records after a step say as much about the step's last calls as the records
 * before them.
 */
#include "core/source/journal/ingest.h"

#include "core/source/journal/pair_order.h"
#include "core/source/journal/wrong_ids.h"
#include "core/util/bisect.h"

/* A time in which CUPTI recorded without a break. A call and its work are in the same session. */
struct session {
	uint64_t begin_ticks, end_ticks;
	uint32_t first_id, next_id;
	bool is_first, is_last;
	bool is_closed; /* calls at its end were not recorded, though CUPTI was on */
};

typedef VEC(struct session) sessions;
typedef VEC(struct pair_opening) openings;
typedef VEC(struct pair_dropped) dropped_works;

static void list_sessions(const struct ingest *f, sessions *list)
{
	vec_push(list,
		 ((struct session){ .end_ticks = UINT64_MAX, .is_first = true, .is_last = true }));
	uint32_t id = 0;
	for (size_t i = 0; i < f->gpu_switches.n; i++) {
		const struct gpu_switch *s = &f->gpu_switches.at[i];
		bool is_new = s->is_on && s->first_id && id && s->first_id != id;
		struct session *last = &list->at[list->n - 1];
		id = s->is_on ? s->first_id : id;
		if (!is_new) {
			last->is_closed = !s->is_on;
			continue;
		}
		last->end_ticks = s->ticks;
		last->next_id = s->first_id;
		last->is_last = false;
		vec_push(list, ((struct session){ .begin_ticks = s->ticks,
						  .end_ticks = UINT64_MAX,
						  .first_id = s->first_id,
						  .is_last = true }));
	}
}

/* Returns whether the id belongs to the session. Ids wrap around. */
static bool is_within(const struct session *session, uint32_t id)
{
	return (session->is_first || (int32_t)(id - session->first_id) >= 0) &&
	       (session->is_last || (int32_t)(id - session->next_id) < 0);
}

static struct pair_thread *list_calls(const struct ingest *f, const struct session *session)
{
	struct pair_thread *threads = mem_zero(f->threads.n * sizeof(*threads));
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		size_t first =
			bisect(t->calls.n, k, t->calls.at[k].begin_ticks < session->begin_ticks);
		size_t end = bisect(t->calls.n, k, t->calls.at[k].begin_ticks < session->end_ticks);
		threads[i] = (struct pair_thread){ .slot = t->slot,
						   .calls = t->calls.at + first,
						   .closed_seq = ingest_last_seq(f, t, first),
						   .n_calls = end - first };
	}
	return threads;
}

static bool has_wrong_ids(const struct ingest *f)
{
	for (size_t i = 0; i < f->works.n; i++)
		if (f->works.at[i].flags & GPU_WRONG_ID)
			return true;
	return false;
}

/*
 * Returns the session's GPU work, and its amount in `n`. Leaves out work with wrong ids. If that is
 * only a part of the work held, the result is a copy. Then `copy` gets it too, and the caller frees
 * it.
 */
static struct rec_gpu *list_works(const struct ingest *f, const struct session *session, size_t *n,
				  struct rec_gpu **copy)
{
	*n = f->works.n;
	*copy = NULL;
	if (session->is_first && session->is_last && !has_wrong_ids(f))
		return f->works.at;
	*copy = mem_resize(NULL, f->works.n * sizeof(**copy));
	*n = 0;
	for (size_t i = 0; i < f->works.n; i++)
		if (is_within(session, f->works.at[i].correlation) &&
		    !(f->works.at[i].flags & GPU_WRONG_ID))
			(*copy)[(*n)++] = f->works.at[i];
	return *copy;
}

/*
 * Returns whether calls with GPU work that were not recorded took seq numbers, too
 * (counting_categories in preload/steps.c).
 */
static bool counts_all_calls(const struct ingest *f)
{
	uint32_t mode = f->reader.header->steps.mode;
	return mode == STEP_MODE_AUTO || mode == STEP_MODE_KERNEL || mode == STEP_MODE_SYNC ||
	       mode == STEP_MODE_TIME;
}

static void list_openings(const struct ingest *f, const struct session *session, openings *list)
{
	bool counts = counts_all_calls(f);
	for (size_t i = 0; i < f->gpu_switches.n; i++) {
		const struct gpu_switch *s = &f->gpu_switches.at[i];
		if (s->resumes && s->ticks >= session->begin_ticks && s->ticks < session->end_ticks)
			vec_push(list,
				 ((struct pair_opening){ s->ticks, s->resumes_whole && counts }));
	}
}

/* Returns whether records were dropped after which their thread has not written any, or none that
 * has been read. */
static bool is_full(const struct ingest *f)
{
	return atomic_load_explicit(&f->reader.header->dropped_records, memory_order_relaxed) >
	       f->counts.dropped;
}

static void pair_session(struct ingest *f, const struct session *session)
{
	struct rec_gpu *copy;
	openings when = { 0 };
	list_openings(f, session, &when);
	struct pair_input in = { .dict = &f->dict,
				 .threads = list_calls(f, session),
				 .n_threads = f->threads.n,
				 .expects_work = ingest_expects,
				 .context = f,
				 .openings = when.at,
				 .n_openings = when.n,
				 .has_gone = f->gone.is_any && is_within(session, f->gone.id),
				 .gone_id = f->gone.id,
				 .n_gone = f->gone.n,
				 .was_full = f->was_full,
				 .is_full = is_full(f),
				 .n_gone_calls = f->gone.n_calls,
				 .is_closed = session->is_closed };
	dropped_works dropped = { 0 };
	for (size_t i = 0; i < f->dropped_works.n; i++)
		if (is_within(session, f->dropped_works.at[i].last_id))
			vec_push(&dropped, f->dropped_works.at[i]);
	in.dropped = dropped.at;
	in.n_dropped = dropped.n;
	in.works = list_works(f, session, &in.n_works, &copy);
	/* sessions of a damaged journal may overlap, so the room is checked for each */
	vec_reserve(&f->externals, in.n_works);
	f->externals.n += pair_by_order(&in, f->externals.at + f->externals.n, &f->without);
	free((void *)in.threads);
	free(copy);
	vec_free(&dropped);
	vec_free(&when);
}

static void mark_wrong_ids(struct ingest *f)
{
	if (f->counts.records == f->records_marked)
		return;
	f->records_marked = f->counts.records;
	f->counts.wrong_ids +=
		wrong_ids_mark(f->works.at, f->works.n, f->gone.is_any ? &f->gone.id : NULL);
}

void ingest_pair_by_order(struct ingest *f)
{
	sessions list = { 0 };
	mark_wrong_ids(f);
	if (!tables_fact_is(&f->dict.t, "pairing", "order") ||
	    f->counts.records == f->records_paired)
		return;
	f->records_paired = f->counts.records;
	f->externals.n = 0;
	f->without.n = 0;
	list_sessions(f, &list);
	for (size_t i = 0; i < list.n; i++)
		pair_session(f, &list.at[i]);
	vec_free(&list);
}

static int by_id(const void *a, const void *b)
{
	int32_t apart = (int32_t)(*(const uint32_t *)a - *(const uint32_t *)b);
	return apart < 0 ? -1 : apart > 0;
}

/* Returns how many of the cut's calls after `ticks` should have GPU work, recorded or not. */
static uint64_t count_calls_after(const struct ingest *f, const struct ingest_cut *cut,
				  uint64_t ticks)
{
	uint64_t n = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct pair_thread *t = &cut->threads[i];
		uint32_t seq = t->closed_seq;
		for (size_t k = 0; k < t->n_calls; k++) {
			const struct rec_call *c = &t->calls[k];
			if (!category_has_work(dict_category(&f->dict, c->hook)))
				continue;
			if (c->begin_ticks > ticks)
				n += (seq ? c->seq - seq - 1 : 0) + ingest_expects_work(f, c);
			seq = c->seq;
		}
	}
	return n;
}

static const struct rec_call *call_at(const struct ingest *f, const struct ingest_cut *cut,
				      uint32_t number)
{
	size_t i = f->threads.n - 1;
	while (cut->threads[i].first > number || !cut->threads[i].n_calls)
		i--;
	return &cut->threads[i].calls[number - cut->threads[i].first];
}

static void drop_earlier(struct ingest *f)
{
	size_t n = 0;
	for (size_t i = 0; i < f->dropped_works.n; i++)
		if ((int32_t)(f->dropped_works.at[i].last_id - f->gone.id) > 0)
			f->dropped_works.at[n++] = f->dropped_works.at[i];
	f->dropped_works.n = n;
}

/* Updates what pair_dropped.c needs to know of the calls passed on. `last`: the number of the call
 * whose work is f->gone.id; UINT32_MAX: it was passed on before. */
static void note_gone_calls(struct ingest *f, const struct ingest_cut *cut, uint32_t last)
{
	bool is_new = last != UINT32_MAX;
	uint64_t ticks = is_new ? call_at(f, cut, last)->begin_ticks : 0;
	f->gone.n_calls = (is_new ? 0 : f->gone.n_calls) + count_calls_after(f, cut, ticks);
	if (f->gone.is_any)
		drop_earlier(f);
}

/*
 * Counts the calls whose work was passed on, in earlier windows and in the steps between windows.
 * If windows are close to each other, the next window's work is found by the number of calls before
 * it.
 */
void ingest_note_gone(struct ingest *f, const struct ingest_cut *cut)
{
	struct ingest_gone *gone = &f->gone;
	VEC(uint32_t) ids = { 0 };
	uint32_t last = UINT32_MAX;
	uint64_t n_calls = gone->n_calls;
	for (size_t i = 0; i < cut->n_works; i++) {
		const struct rec_gpu *g = &cut->works[i];
		if (g->kind == REC_GPU_SYNC || g->flags & GPU_WRONG_ID)
			continue;
		if (cut->call_of[i] >= cut->n_calls) {
			vec_push(&ids, g->correlation);
		} else if (!gone->is_any || (int32_t)(g->correlation - gone->id) > 0) {
			*gone = (struct ingest_gone){ .id = g->correlation, .is_any = true };
			last = cut->call_of[i];
		}
	}
	gone->n_calls = n_calls;
	if (ids.n && gone->is_any)
		qsort(ids.at, ids.n, sizeof(*ids.at), by_id);
	for (size_t i = 0; gone->is_any && i < ids.n; i++)
		gone->n += (int32_t)(ids.at[i] - gone->id) > 0 &&
			   (!i || ids.at[i] != ids.at[i - 1]);
	vec_free(&ids);
	if (f->was_full)
		note_gone_calls(f, cut, last);
}
