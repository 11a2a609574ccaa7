/*
 * Moves launches out of the legacy default stream. Its work runs only after all earlier work of the
 * blocking streams, and their later work only after it, so that one small kernel there puts all
 * streams in a row.
 */
#include "core/whatif/whatif_parts.h"

/* Returns whether the op launches work into the legacy stream of a device. */
static bool is_into_legacy(const struct whatif *w, uint32_t op)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	return o->role == ROLE_LAUNCH && o->n_work &&
	       w->replay.streams.at[w->replay.works.at[o->first_work].stream].is_legacy;
}

/* Makes edit.stream the streams of the works, without changes. */
static void start_moving(struct whatif *w)
{
	const struct replay *r = &w->replay;
	if (w->edit.stream)
		return;
	if (!w->streams)
		w->streams = mem_zero((r->works.n + 1) * sizeof(*w->streams));
	for (size_t i = 0; i < r->works.n; i++)
		w->streams[i] = r->works.at[i].stream;
	w->edit.stream = w->streams;
}

void whatif_use_own_stream(struct whatif *w, uint32_t site)
{
	const struct replay *r = &w->replay;
	uint32_t *last = replay_no_ops(r); /* by lane: the last op with work in an ordered stream */
	start_moving(w);
	for (uint32_t i = 0; i < r->ops.n; i++) {
		const struct replay_op *o = &r->ops.at[i];
		uint32_t before = last[o->lane];
		if (!o->n_work)
			continue;
		uint16_t own = r->works.at[o->first_work].stream;
		if (r->streams.at[own].is_ordered)
			last[o->lane] = i;
		if (w->site[i] != site || !is_into_legacy(w, i) || before == REPLAY_NONE)
			continue;
		uint16_t to = r->works.at[r->ops.at[before].first_work].stream;
		for (uint32_t k = o->first_work; k < o->first_work + o->n_work; k++)
			if (r->streams.at[to].device == r->streams.at[own].device)
				w->streams[k] = to;
	}
	free(last);
}

bool whatif_is_moved(const struct whatif *w, uint32_t op)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	bool is_any = false;
	for (uint32_t i = o->first_work; w->edit.stream && i < o->first_work + o->n_work; i++)
		is_any |= w->edit.stream[i] != w->replay.works.at[i].stream;
	return is_any;
}
