/* See comms.h. */
#include "core/source/kineto/comms.h"

#include "core/model/collective.h"
#include "core/source/kineto/launching.h"

#include <stdlib.h>
#include <string.h>

/* ---- Numbers ---- */

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9e3779b97f4a7c15ull;
	return hash ^ hash >> 29;
}

static uint64_t mix_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = mix(hash, (unsigned char)*text);
	return mix(hash, 0x100);
}

static const struct trace_group *group_of(const struct trace *t, uint32_t name)
{
	for (size_t i = 0; i < t->groups.n; i++)
		if (t->groups.at[i].name == name)
			return &t->groups.at[i];
	return NULL;
}

/*
 * Returns a number of the process group that is equal on all of its ranks; 0: the trace does not
 * name it. Two groups may have one name if no rank is in both, so the ranks count, too.
 */
static uint64_t number_of_group(const struct trace *t, const struct event_comm *f)
{
	const struct trace_group *g = group_of(t, f->group);
	uint32_t ranks = f->ranks ? f->ranks : g ? g->ranks : 0;
	if (!f->group)
		return 0;
	uint64_t hash = mix_text(1, strtab_text(&t->tables.names, f->group));
	hash = mix_text(hash, strtab_text(&t->tables.names, ranks));
	return hash ? hash : 1;
}

static bool is_message(const struct trace *t, const struct trace_comm *x)
{
	const struct collective *row =
		collective_of_torch(strtab_text(&t->tables.names, x->facts.collective));
	return row && row->facts == FACTS_MESSAGE;
}

/* Takes the numbers that PyTorch gives. It counts messages on each rank for itself, and a group of
 * collectives as one. */
static void take_numbers(struct trace *t)
{
	struct map seen = { 0 };
	for (size_t i = 0; i < t->comms.n; i++) {
		struct trace_comm *x = &t->comms.at[i];
		int64_t sequence = x->facts.sequence;
		bool is_new = true;
		x->comm = number_of_group(t, &x->facts);
		if (!x->comm || is_message(t, x) || sequence <= 0 || sequence > UINT32_MAX)
			continue;
		map_at(&seen, mix(x->comm, (uint64_t)sequence), &is_new);
		x->sequence = is_new ? (uint32_t)sequence : 0;
	}
	map_free(&seen);
}

/* ---- Older traces, without numbers ---- */

/* The collectives of a group in a step, counted. */
struct counted {
	uint32_t n, n_numbered;
};

struct unnumbered {
	size_t comm; /* in t->comms */
	size_t cut;
	size_t counted; /* in `at` */
};

struct counting {
	struct map place; /* group and step -> index in `at` */
	VEC(struct counted) at;
	VEC(struct unnumbered) order; /* by time */
};

static int by_time(const void *a, const void *b, void *comms)
{
	const struct trace_comm *at = comms;
	const struct trace_comm *x = &at[((const struct unnumbered *)a)->comm],
				*y = &at[((const struct unnumbered *)b)->comm];
	if (x->span.begin_ns != y->span.begin_ns)
		return x->span.begin_ns < y->span.begin_ns ? -1 : 1;
	return x->span.thread < y->span.thread ? -1 : x->span.thread > y->span.thread;
}

static void count(struct counting *n, const struct cutting *c, size_t comm)
{
	const struct trace_comm *x = &c->t->comms.at[comm];
	size_t cut = cuts_index(&c->cuts, x->span.begin_ns);
	bool is_new;
	if (!x->comm || is_message(c->t, x) || cut == c->cuts.at.n)
		return;
	uint64_t *at = map_at(&n->place, mix(x->comm, cut + 1), &is_new);
	if (is_new) {
		*at = n->at.n;
		vec_push(&n->at, (struct counted){ 0 });
	}
	n->at.at[*at].n++;
	vec_push(&n->order, (struct unnumbered){ comm, cut, *at });
}

/* Steps and places in a step that fit into a number. */
enum { STEPS_MOST = 1 << 16, PLACES_MOST = 1 << 16 };

/*
 * Numbers the collectives by their place in the step, if PyTorch gave no numbers. How many there
 * are in the step becomes part of the communicator's number: if a rank's step lacks some, its
 * places are not those of the others.
 */
static void number_by_place(const struct cutting *c)
{
	struct counting n = { 0 };
	struct trace_comm *at = c->t->comms.at;
	for (size_t i = 0; i < c->t->comms.n; i++)
		count(&n, c, i);
	if (n.order.n)
		qsort_r(n.order.at, n.order.n, sizeof(*n.order.at), by_time, at);
	for (size_t i = 0; i < n.order.n; i++) {
		const struct unnumbered *u = &n.order.at[i];
		struct counted *in_step = &n.at.at[u->counted];
		uint64_t step = c->cuts.at.at[u->cut].number % STEPS_MOST;
		if (++in_step->n_numbered >= PLACES_MOST)
			continue;
		at[u->comm].sequence = (uint32_t)step * PLACES_MOST + in_step->n_numbered;
		at[u->comm].comm = mix(at[u->comm].comm, in_step->n);
	}
	map_free(&n.place);
	vec_free(&n.at);
	vec_free(&n.order);
}

static bool has_numbers(const struct trace *t)
{
	for (size_t i = 0; i < t->comms.n; i++)
		if (t->comms.at[i].facts.sequence != EVENT_NONE)
			return true;
	return false;
}

void comms_number(struct cutting *c)
{
	struct trace *t = c->t;
	t->comms.n = launching_keep(t, t->comms.at, t->comms.n, sizeof(*t->comms.at));
	take_numbers(t);
	/* all ranks number their marked steps equally */
	if (c->cuts.from == CUTS_MARKED && !has_numbers(t))
		number_by_place(c);
}

/* ---- One step ---- */

static uint64_t count_of_call(const struct collective *row, const struct event_comm *f,
			      uint64_t n_ranks)
{
	uint64_t in = f->in > 0 ? (uint64_t)f->in : 0, out = f->out > 0 ? (uint64_t)f->out : 0;
	if (!row || row->count == COUNT_IN)
		return in;
	if (row->count == COUNT_OUT)
		return out;
	return n_ranks ? in / n_ranks : 0;
}

/* Takes the ranks of the call. PyTorch's "Rank" is that of the root or of the other side, if there
 * is one, else that of the caller. */
static void take_ranks(struct model_library *l, const struct collective *row,
		       const struct event_comm *f)
{
	bool is_message = l->facts == FACTS_MESSAGE,
	     is_caller = !is_message && !(row && row->has_root);
	int64_t peer = row && row->count == COUNT_OUT ? f->source : f->target;
	if (!is_message)
		peer = is_caller ? -1 : f->rank;
	l->peer = peer >= 0 && peer <= INT32_MAX ? (int32_t)peer : -1;
	l->rank = is_caller && f->rank >= 0 && f->rank < MODEL_NO_RANK ? (uint16_t)f->rank
								       : MODEL_NO_RANK;
}

static struct model_library library_of(struct trace *t, const struct trace_comm *x)
{
	const struct event_comm *f = &x->facts;
	const char *name = strtab_text(&t->tables.names, f->collective);
	const struct collective *row = collective_of_torch(name);
	const struct trace_group *g = group_of(t, f->group);
	int64_t n_ranks = f->n_ranks > 0 ? f->n_ranks : g ? g->n_ranks : 0;
	struct model_library l = {
		.begin_ns = x->span.begin_ns,
		.end_ns = x->span.end_ns,
		.comm = x->comm,
		.sequence = x->sequence,
		.work = MODEL_NO_WORK,
		.n_ranks = n_ranks > 0 && n_ranks <= UINT16_MAX ? (uint16_t)n_ranks : 0,
		.family = LIB_NCCL,
		.facts = row ? row->facts : FACTS_COLLECTIVE,
		.type = collective_type_of_torch(strtab_text(&t->tables.names, f->type)),
	};
	take_ranks(&l, row, f);
	l.count = count_of_call(row, f, l.n_ranks);
	l.name = row ? strtab_intern(&t->tables.names, row->function) : f->collective;
	return l;
}

static int by_place(const void *a, const void *b)
{
	const struct model_library *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->begin_ns < y->begin_ns ? -1 : x->begin_ns > y->begin_ns;
}

void comms_build(const struct cutting *c, struct model_step *m,
		 uint32_t (*thread_of)(void *context, uint32_t thread), void *context)
{
	struct trace *t = c->t;
	struct launching_part p = { 0 };
	while (launching_next(&p, t->comms.at, t->comms.n, sizeof(*t->comms.at), m->begin_ns,
			      m->end_ns))
		for (size_t i = p.first; i < p.last; i++) {
			struct model_library l = library_of(t, &t->comms.at[i]);
			l.thread = thread_of(context, t->comms.at[i].span.thread);
			vec_push(&m->libraries, l);
		}
	if (m->libraries.n)
		qsort(m->libraries.at, m->libraries.n, sizeof(*m->libraries.at), by_place);
}
