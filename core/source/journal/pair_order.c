/*
 * See pair_order.h. CUPTI numbers the calls of the whole process, recorded or not. GPU work carries
 * the number of its call: the correlation id. So calls ordered by start time and work ordered by id
 * are the same sequence, with three exceptions: a call without work (a copy between two places on
 * the host), work whose call was not hooked or was dropped, and calls of two threads that overlap.
 * A call and its work must agree in what was asked for (kernel, grid, block; bytes; graph; stream)
 * and in time (pair_agree.h).
 *
 * If no calls overlap, they are aligned with the work (pair_align.h). If calls of several threads
 * overlap, a first pass finds which stream of the application each CUPTI stream is (pair_race.h).
 * Then the calls on each stream are aligned with the work on that stream: calls on a stream that
 * only one thread uses do not overlap.
 *
 * Pairing by order saves the launching thread half of CUPTI's cost on an H100. Recording calls
 * makes every API call slower: cudaGetDevice() takes 480 ns instead of 50 ns.
 */
#include "core/source/journal/pair_order.h"

#include "core/source/journal/pair_align.h"
#include "core/source/journal/pair_dropped.h"
#include "core/source/journal/pair_race.h"

enum {
	WALKS = 3, /* number of passes; each one knows the streams better than the one before */
};

/* ---- One part for each CUPTI stream ---- */

struct parts {
	struct sides *whole;
	VEC(struct sides) at;
	struct map of_stream; /* CUPTI stream -> index in `at` */
};

/*
 * The first parts. PART_GRAPHS: graph launches, because graph nodes may run on any stream.
 * PART_REST: calls whose stream is unknown, and work on streams that do not correspond to any lane.
 */
enum { PART_GRAPHS, PART_REST, PART_STREAMS };

static struct sides *part_of_stream(struct parts *p, uint64_t stream, bool is_made)
{
	bool is_new = false;
	uint64_t *at = is_made ? map_at(&p->of_stream, stream, &is_new)
			       : map_find(&p->of_stream, stream);
	if (is_new) {
		*at = p->at.n;
		vec_push(&p->at, (struct sides){ .in = p->whole->in });
	}
	return &p->at.at[at ? *at : PART_REST];
}

static bool may_be_graph(const struct group *g)
{
	return g->first->graph || (g->n > 1 && g->first->kind == REC_KERNEL);
}

static void split(struct parts *p)
{
	struct sides *s = p->whole;
	for (size_t k = 0; k < PART_STREAMS; k++)
		vec_push(&p->at, (struct sides){ .in = s->in });
	for (size_t i = 0; i < s->calls.n; i++) {
		struct caller c = s->calls.at[i];
		c.home = (uint32_t)i;
		struct sides *to = c.category == CAT_GRAPH ? &p->at.at[PART_GRAPHS]
				   : caller_knows_stream(s, &c)
					   ? part_of_stream(p, s->lanes.at[c.lane].id, true)
					   : &p->at.at[PART_REST];
		vec_push(&to->calls, c);
	}
	for (size_t j = 0; j < s->groups.n; j++) {
		struct group g = s->groups.at[j];
		g.home = (uint32_t)j;
		g.at = PAIR_NO_CALL;
		struct sides *to = may_be_graph(&g)
					   ? &p->at.at[PART_GRAPHS]
					   : part_of_stream(p, stream_of_work(g.first), false);
		vec_push(&to->groups, g);
	}
}

static bool has_several_streams(const struct sides *s)
{
	for (size_t j = 1; j < s->groups.n; j++)
		if (stream_of_work(s->groups.at[j].first) != stream_of_work(s->groups.at[0].first))
			return true;
	return false;
}

static void pair_part(struct parts *p, size_t k)
{
	struct sides *s = p->whole, *part = &p->at.at[k];
	part->lanes.at = s->lanes.at; /* owned by the whole */
	part->lanes.n = s->lanes.n;
	part->knows_streams = s->knows_streams;
	part->knows_devices = s->knows_devices;
	part->is_from_race = true;
	part->clocks_differ_ticks = s->clocks_differ_ticks;
	sides_note_alone(part);
	if (!sides_race(part))
		pair_align(part);
	/*
	 * If the rest has several streams and its calls overlap, it stays unpaired: it is unknown
	 * which call uses which stream.
	 */
	else if (k != PART_REST || !has_several_streams(part))
		pair_race(part);
	for (size_t j = 0; j < part->groups.n; j++) {
		const struct group *g = &part->groups.at[j];
		s->groups.at[g->home].at = g->at == PAIR_NO_CALL ? PAIR_NO_CALL
								 : part->calls.at[g->at].home;
	}
	part->lanes.at = NULL;
}

static void pair_in_parts(struct sides *s)
{
	struct parts p = { .whole = s };
	split(&p);
	for (size_t k = 0; k < p.at.n; k++) {
		pair_part(&p, k);
		sides_free(&p.at.at[k]);
	}
	vec_free(&p.at);
	map_free(&p.of_stream);
}

/* ---- The whole ---- */

static void pair_all(struct sides *s)
{
	bool do_race = sides_race(s);
	void (*pair)(struct sides *) = do_race ? pair_race : pair_align;
	pair(s);
	for (int n = 1; sides_learn_streams(s) && n < WALKS; n++) {
		sides_forget_pairs(s);
		pair(s);
	}
	if (do_race)
		pair_in_parts(s);
}

static size_t name_calls(const struct sides *s, struct rec_external *externals)
{
	size_t n = 0;
	for (size_t j = 0; j < s->groups.n; j++) {
		const struct group *g = &s->groups.at[j];
		if (g->at == PAIR_NO_CALL)
			continue;
		const struct caller *c = &s->calls.at[g->at];
		externals[n++] = (struct rec_external){
			.kind = REC_EXTERNAL,
			.words = sizeof(struct rec_external) / 8,
			.correlation = g->first->correlation,
			.thread = s->in->threads[c->thread].slot,
			.seq = c->call->seq,
		};
	}
	return n;
}

size_t pair_by_order(const struct pair_input *in, struct rec_external *externals,
		     pair_withouts *without)
{
	struct sides s;
	sides_list(&s, in);
	if (in->was_full && !in->n_openings)
		pair_around_dropped(&s, pair_all, without);
	else
		pair_all(&s);
	size_t n = name_calls(&s, externals);
	sides_free(&s);
	return n;
}
