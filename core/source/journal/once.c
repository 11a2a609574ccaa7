#include "core/source/journal/once.h"

enum {
	/* A call that only queues work never takes this long once all code is loaded. */
	LONG_NS = 1000000,
	KINDS_MOST = 4096, /* upper limit of entries */
};

/*
 * Returns whether a long call of this category is of interest. Calls that wait for the device are
 * not, because their duration says nothing about the call itself.
 */
static bool is_of_interest(uint8_t category)
{
	return category == CAT_LAUNCH || category == CAT_GRAPH || category == CAT_CONTROL ||
	       category == CAT_CAPTURE || category == CAT_ALLOC || category == CAT_STREAM ||
	       category == CAT_EVENT;
}

void once_set_clock(struct once *o, const struct timebase *time)
{
	o->long_ticks = timebase_ticks(time, LONG_NS);
}

static struct run_once describe(const struct dict *d, const struct rec_call *c, uint8_t category)
{
	const struct run_launch *l = category == CAT_LAUNCH ? tables_launch(&d->t, c->arg) : NULL;
	return (struct run_once){
		.name = c->hook < d->hooks.n ? d->hooks.at[c->hook].name : 0,
		.launch = l ? (uint32_t)(l - d->t.launches.at) + 1 : 0,
		.stack = c->stack,
		.category = category,
	};
}

void once_add(struct once *o, struct run *run, const struct dict *d, const struct timebase *time,
	      const struct rec_call *c)
{
	uint64_t ticks = record_duration(c);
	uint8_t category = dict_category(d, c->hook);
	bool is_new;
	/* programs call cudaFree(NULL) to create a context */
	if (ticks < o->long_ticks ||
	    !(is_of_interest(category) || (category == CAT_FREE && !c->arg)))
		return;
	uint64_t token = category == CAT_LAUNCH ? c->arg : 0;
	uint64_t key = (token + c->stack) * 0x9e3779b97f4a7c15ull + c->hook;
	if (run->once.n >= KINDS_MOST && !map_find(&o->place, key))
		return;
	uint64_t *at = map_at(&o->place, key, &is_new);
	if (is_new) {
		*at = run->once.n;
		vec_push(&run->once, describe(d, c, category));
	}
	run->once.at[*at].ns += timebase_length_ns(time, ticks);
	run->once.at[*at].n++;
}

void once_free(struct once *o)
{
	map_free(&o->place);
}
