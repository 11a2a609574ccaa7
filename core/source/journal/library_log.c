#include "core/source/journal/library_log.h"

enum { MOST_HELD = 1 << 19 }; /* takes 38 MB */

void library_log_take(struct library_log *log, uint32_t slot, const struct rec_library *l)
{
	if (log->at.n >= MOST_HELD) {
		log->n_dropped++;
		return;
	}
	vec_push(&log->at, (struct library_entry_of){ slot, *l });
}

void library_log_drop(struct library_log *log, uint64_t ticks)
{
	size_t kept = 0;
	for (size_t i = 0; i < log->at.n; i++)
		if (log->at.at[i].call.end_ticks > ticks)
			log->at.at[kept++] = log->at.at[i];
	log->at.n = kept;
	log->n_dropped = 0;
}

void library_log_free(struct library_log *log)
{
	vec_free(&log->at);
}

/* ---- Building a step ---- */

static void set_facts(struct model_library *to, const struct rec_library *l)
{
	switch (to->facts) {
	case FACTS_GEMM:
		to->m = l->gemm.m;
		to->n = l->gemm.n;
		to->k = l->gemm.k;
		to->batch = l->gemm.batch;
		break;
	case FACTS_COLLECTIVE:
	case FACTS_MESSAGE:
		to->count = l->nccl.count;
		to->comm = l->nccl.comm;
		to->sequence = l->nccl.sequence;
		to->peer = l->nccl.peer;
		to->rank = l->nccl.rank;
		to->n_ranks = l->nccl.n_ranks;
		break;
	default:
		break;
	}
}

bool library_log_describe(const struct dict *d, const struct rec_library *l,
			  struct model_library *to)
{
	if (l->function >= d->libraries.n || !d->libraries.at[l->function].is_known)
		return false;
	const struct library_entry *function = &d->libraries.at[l->function];
	to->name = function->name;
	to->status = l->status;
	to->family = function->family;
	to->facts = function->facts;
	to->type = l->type;
	to->compute = l->compute;
	set_facts(to, l);
	return true;
}

static void build_one(const struct log_cut *cut, const struct library_entry_of *e,
		      struct model_step *m)
{
	const struct rec_library *l = &e->call;
	const uint64_t *thread = map_find(cut->thread_of_slot, e->slot);
	struct model_library to = {
		.begin_ns = m->begin_ns,
		.end_ns = timebase_ns(cut->time, l->end_ticks),
		.work = MODEL_NO_WORK,
		.begins_before = l->begin_ticks < cut->begin_ticks,
	};
	if (!thread || !library_log_describe(cut->dict, l, &to))
		return;
	to.thread = (uint32_t)*thread;
	if (!to.begins_before)
		to.begin_ns = timebase_ns(cut->time, l->begin_ticks);
	if (to.end_ns < to.begin_ns)
		to.end_ns = to.begin_ns;
	vec_push(&m->libraries, to);
}

static int by_place(const void *a, const void *b)
{
	const struct model_library *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->begin_ns != y->begin_ns)
		return x->begin_ns < y->begin_ns ? -1 : 1;
	return x->end_ns > y->end_ns ? -1 : x->end_ns < y->end_ns;
}

void library_log_build(const struct library_log *log, const struct log_cut *cut,
		       struct model_step *m)
{
	for (size_t i = 0; i < log->at.n; i++) {
		uint64_t end = log->at.at[i].call.end_ticks;
		if (end > cut->begin_ticks && end <= cut->end_ticks)
			build_one(cut, &log->at.at[i], m);
	}
	if (m->libraries.n)
		qsort(m->libraries.at, m->libraries.n, sizeof(*m->libraries.at), by_place);
}
