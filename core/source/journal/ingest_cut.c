/* Finds which of the calls held belong to a step, and which GPU work belongs to these calls. */
#include "core/source/journal/ingest.h"

#include "core/source/journal/pair_first.h"
#include "core/symbols/stack_about.h"
#include "core/util/bisect.h"

/*
 * Returns whether a copy or memset has zero bytes. Such a call takes a seq number but makes no GPU
 * work (seen on an H100; JAX makes such copies). A copy of unknown kind may have an unknown size
 * (batched box copies), so it does not count.
 */
static bool moves_nothing(uint8_t category, const struct rec_call *c)
{
	return !c->arg &&
	       (category == CAT_MEMSET || (category == CAT_MEMCPY && c->detail != COPY_UNKNOWN));
}

bool ingest_expects_work(const struct ingest *f, const struct rec_call *c)
{
	uint8_t category = dict_category(&f->dict, c->hook);
	if (c->status || c->kind == REC_NODE || !category_has_work(category) ||
	    moves_nothing(category, c))
		return false;
	for (size_t i = f->gpu_switches.n; i > 0; i--) {
		const struct gpu_switch *s = &f->gpu_switches.at[i - 1];
		if (c->begin_ticks >= s->ticks)
			return s->is_on && !(s->lacks_copies && category == CAT_MEMCPY);
	}
	return false;
}

size_t ingest_cut_calls(struct ingest *f, uint64_t end)
{
	size_t total = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		t->n_cut = bisect(t->calls.n, k, t->calls.at[k].begin_ticks < end);
		total += t->n_cut;
	}
	return total;
}

size_t ingest_leave_out_exit(struct ingest *f)
{
	size_t total = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		struct ingest_thread *t = &f->threads.at[i];
		size_t n = t->n_cut;
		while (n && !ingest_expects_work(f, &t->calls.at[n - 1]) &&
		       stack_about(f->run.frames, t->calls.at[n - 1].stack) & ABOUT_EXIT)
			n--;
		total += t->n_cut - n;
		t->n_cut = n;
	}
	return total;
}

struct pair_thread *ingest_cut_threads(const struct ingest *f)
{
	struct pair_thread *threads = mem_zero(f->threads.n * sizeof(*threads));
	uint32_t first = 0;
	for (size_t i = 0; i < f->threads.n; i++) {
		const struct ingest_thread *t = &f->threads.at[i];
		const struct run_thread *named = tables_thread(&f->dict.t, t->slot);
		threads[i] = (struct pair_thread){
			.slot = t->slot,
			.tid = named ? named->tid : 0,
			.handle = named ? named->handle : 0,
			.calls = t->calls.at,
			.n_calls = t->n_cut,
			.first = first,
			.closed_seq = t->closed_seq,
		};
		first += (uint32_t)t->n_cut;
	}
	return threads;
}

bool ingest_expects(const void *ingest, const struct rec_call *call)
{
	return ingest_expects_work(ingest, call);
}

void ingest_match(const struct ingest *f, const struct pair_thread *threads, uint64_t begin,
		  uint64_t end, uint32_t *call_of)
{
	const struct pair_input in = {
		.dict = &f->dict,
		.threads = threads,
		.n_threads = f->threads.n,
		.externals = f->externals.at,
		.n_externals = f->externals.n,
		.apis = f->apis.at,
		.n_apis = f->apis.n,
		.works = f->works.at,
		.n_works = f->works.n,
		.begin_ticks = begin,
		.end_ticks = end,
		.expects_work = ingest_expects,
		.context = f,
	};
	pair_match(&in, call_of);
	for (size_t i = 0; i < f->gpu_switches.n; i++) {
		uint64_t ticks = f->gpu_switches.at[i].ticks;
		if (f->gpu_switches.at[i].is_on && ticks >= begin && ticks < end)
			pair_first(&in, ticks, call_of);
	}
}

uint32_t ingest_last_seq(const struct ingest *f, const struct ingest_thread *t, size_t n_calls)
{
	for (size_t k = n_calls; k > 0; k--) {
		const struct rec_call *c = &t->calls.at[k - 1];
		if (category_has_work(dict_category(&f->dict, c->hook)))
			return c->seq;
	}
	return t->closed_seq;
}
