#include "core/source/journal/pair_agree.h"

/*
 * Returns whether the dimensions are equal. `asked` is all zeros if the call does not contain them:
 * for cuLaunch(), earlier calls set the block.
 */
static bool same_shape(const uint32_t *asked, const uint32_t *done)
{
	return !asked[0] || (asked[0] == done[0] && asked[1] == done[1] && asked[2] == done[2]);
}

static bool is_launch_of(const struct dict *d, const struct run_launch *l,
			 const struct rec_gpu *work)
{
	if (work->kind != REC_KERNEL || work->graph)
		return false;
	if (!l)
		return true;
	if (!same_shape(l->grid, work->grid))
		return false;
	const struct run_kernel *k = work->name < d->t.kernels.n ? &d->t.kernels.at[work->name]
								 : NULL;
	if (!k || !k->is_known)
		return true;
	return same_shape(l->block, k->block) && (!l->is_named || l->name == k->name);
}

static uint64_t bytes_of(const struct rec_gpu *work)
{
	return (uint64_t)work->bytes_high << 32 | work->bytes_low;
}

static bool is_kind_of(uint8_t category, const struct rec_gpu *work)
{
	return !work->graph && work->kind == (category == CAT_MEMCPY ? REC_MEMCPY : REC_MEMSET);
}

/* Graph nodes may run on any stream, whatever the stream of the graph's launch. */
static bool may_be_stream(const struct sides *s, const struct caller *c, const struct rec_gpu *work)
{
	return work->graph || !caller_knows_stream(s, c) ||
	       s->lanes.at[c->lane].id == stream_of_work(work);
}

/*
 * A launch is on the current device. A copy may go to a stream of another device, and one call may
 * launch on several devices.
 */
static bool may_be_device(const struct sides *s, const struct caller *c, const struct group *g)
{
	return !s->knows_devices || c->category != CAT_LAUNCH || g->n > 1 ||
	       c->call->device == DEVICE_UNKNOWN || c->call->device == g->first->device;
}

/*
 * Returns whether the times fit. Work does not begin before its call, and has ended when a wait for
 * it returns.
 */
static bool is_in_time(const struct sides *s, const struct caller *c, const struct group *g)
{
	return g->begin_ticks + s->clocks_differ_ticks >= c->call->begin_ticks &&
	       (c->deadline_ticks == UINT64_MAX ||
		g->end_ticks <= c->deadline_ticks + s->clocks_differ_ticks);
}

bool pair_could_agree(const struct sides *s, size_t i, size_t j)
{
	const struct caller *c = &s->calls.at[i];
	const struct group *g = &s->groups.at[j];
	if ((c->symbol != g->symbol && c->symbol && g->symbol) || !is_in_time(s, c, g) ||
	    !may_be_stream(s, c, g->first) || !may_be_device(s, c, g))
		return false;
	switch (c->category) {
	case CAT_LAUNCH:
		return is_launch_of(s->in->dict, c->launch, g->first);
	case CAT_MEMCPY:
	/* a call with several pieces of work: a batch, a pageable copy, or a box */
	case CAT_MEMSET:
		return is_kind_of(c->category, g->first) &&
		       (g->n > 1 || bytes_of(g->first) == c->call->arg);
	case CAT_GRAPH: /* CUPTI before 11.8 does not report the graph's id */
		return g->first->graph || g->n > 1;
	default:
		return false;
	}
}

bool pair_may_lack_size(const struct sides *s, size_t i, size_t j)
{
	const struct caller *c = &s->calls.at[i];
	const struct group *g = &s->groups.at[j];
	return c->category == CAT_MEMCPY && !c->call->arg && g->at == PAIR_NO_CALL &&
	       is_kind_of(c->category, g->first) && is_in_time(s, c, g) &&
	       may_be_stream(s, c, g->first) && (i + 1 == s->calls.n || !pair_agree(s, i + 1, j));
}
