/* Changes of single nodes of graphs. The launch of the graph stays as it is. */
#include "core/analysis/idle.h"
#include "core/whatif/whatif_parts.h"

bool whatif_remove_nodes(struct whatif *w, struct whatif_place *p, bool counts_only)
{
	const struct timeline *t = w->timeline;
	uint32_t n_sites = frames_n_sites(t->frames);
	bool found = false;
	for (size_t i = 0; i < w->replay.works.n; i++) {
		const struct timeline_work *work = &t->works.at[w->replay.works.at[i].work];
		if (work->origin == MODEL_NO_CALL)
			continue;
		const struct timeline_call *c = timeline_code(t, work);
		if (c->site > n_sites || !whatif_is_here(p, c))
			continue;
		found = true;
		if (counts_only)
			return true;
		w->edit.node[i] |= NODE_GONE;
		w->has_nodes = true;
	}
	return found;
}

void whatif_branch_copies(struct whatif *w, uint32_t site)
{
	const struct timeline *t = w->timeline;
	for (size_t i = 0; i < w->replay.works.n; i++) {
		const struct timeline_work *work = &t->works.at[w->replay.works.at[i].work];
		if (work->kind != WORK_MEMCPY || work->origin == MODEL_NO_CALL ||
		    timeline_code(t, work)->site != site)
			continue;
		bool is_to_host = work->target == HOST_PINNED || work->target == HOST_PAGEABLE;
		w->edit.node[i] |= is_to_host ? NODE_BRANCH : NODE_ASIDE;
		w->has_nodes = true;
	}
}

void whatif_change_host_nodes(struct whatif *w, uint32_t site, uint8_t flag)
{
	const struct timeline *t = w->timeline;
	const struct replay_work *works = w->replay.works.at;
	for (size_t i = 1; i < w->replay.works.n; i++) {
		if (!works[i].is_chained)
			continue;
		uint32_t host = idle_graph_host_site(t, &t->works.at[works[i - 1].work],
						     &t->works.at[works[i].work]);
		if (!host || (site && host != site))
			continue;
		w->edit.node[i] |= flag;
		w->has_nodes = true;
	}
}
