#include "core/source/journal/once.h"

enum {
	LONG_NS =
		1000000, /* no call that only asks the device for work takes that long when all is loaded */
	KINDS_MOST = 4096, /* places that are told apart */
};

/* What waits for the device is left out: how long that takes says nothing about the call. */
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
	/* cudaFree(NULL) is how programs ask for a context */
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
