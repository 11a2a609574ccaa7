#include "core/source/journal/pair_between.h"

#include <stdlib.h>

/* A call without work, and when it may have taken its number. */
struct between {
	uint64_t begin_ticks, end_ticks;
	uint32_t thread;
};

struct betweens {
	VEC(struct between) at;
	size_t n_threads; /* with calls of any kind */
};

static int by_begin(const void *a, const void *b)
{
	const struct between *x = a, *y = b;
	return x->begin_ticks < y->begin_ticks ? -1 : x->begin_ticks > y->begin_ticks;
}

static void list_all(struct betweens *b, const struct sides *s,
		     bool (*waits)(const void *, const struct rec_call *), const void *context)
{
	for (size_t i = 0; i < s->in->n_threads; i++) {
		const struct pair_thread *t = &s->in->threads[i];
		b->n_threads += t->n_calls != 0;
		for (size_t k = 0; k < t->n_calls; k++) {
			const struct rec_call *c = &t->calls[k];
			if (category_has_work(dict_category(s->in->dict, c->hook)))
				continue;
			uint64_t length = waits(context, c) ? 0 : record_duration(c);
			vec_push(&b->at, (struct between){ c->begin_ticks, c->begin_ticks + length,
							   (uint32_t)i });
		}
	}
}

/* The two threads whose calls so far ended last, latest first. */
struct latest {
	struct ended {
		uint32_t thread;
		uint64_t ticks;
	} at[2];
};

static void note_end(struct latest *l, const struct between *b)
{
	struct ended *first = &l->at[0], *second = &l->at[1];
	struct ended *to = first->thread == b->thread ? first : second;
	if (to->thread != b->thread && b->end_ticks <= to->ticks)
		return;
	*to = (struct ended){ b->thread, b->end_ticks };
	if (second->ticks > first->ticks) {
		struct ended later = *second;
		*second = *first;
		*first = later;
	}
}

static uint64_t latest_end_of_others(const struct latest *l, uint32_t thread)
{
	return l->at[l->at[0].thread == thread].ticks;
}

static bool does_other_begin(const struct betweens *b, size_t from, const struct caller *c)
{
	for (size_t k = from; k < b->at.n && b->at.at[k].begin_ticks <= c->end_ticks; k++)
		if (b->at.at[k].thread != c->thread)
			return true;
	return false;
}

void pair_note_disturbed(struct sides *s,
			 bool (*waits)(const void *context, const struct rec_call *call),
			 const void *context)
{
	struct betweens b = { 0 };
	struct latest latest = { { { UINT32_MAX, 0 }, { UINT32_MAX, 0 } } };
	size_t n = 0;
	list_all(&b, s, waits, context);
	if (b.n_threads > 1 && b.at.n)
		qsort(b.at.at, b.at.n, sizeof(*b.at.at), by_begin);
	for (size_t i = 1; b.n_threads > 1 && i < s->calls.n; i++) {
		struct caller *c = &s->calls.at[i];
		uint64_t since = c[-1].call->begin_ticks;
		for (; n < b.at.n && b.at.at[n].begin_ticks < since; n++)
			note_end(&latest, &b.at.at[n]);
		c->is_disturbed = latest_end_of_others(&latest, c->thread) > since ||
				  does_other_begin(&b, n, c);
	}
	vec_free(&b.at);
}
