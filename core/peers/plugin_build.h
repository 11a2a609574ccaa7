/* Nodes, calls and works while the trees are built, for plugin_nodes.c and plugin_tree.c only. */
#ifndef CORE_PEERS_PLUGIN_BUILD_H
#define CORE_PEERS_PLUGIN_BUILD_H

#include "core/peers/plugin_parts.h"

typedef VEC(uint32_t) plugin_indices;

struct plugin_building {
	struct plugin_trace *t;
	struct map works_of;	      /* correlation -> list in `waiting` + 1 */
	VEC(plugin_indices) waiting;  /* works whose call has not come yet */
	struct map call_of;	      /* correlation -> the last call */
	struct map calls_of;	      /* external id -> list in `external` + 1 */
	VEC(plugin_indices) external; /* calls by external id */
	struct map thread_of;	      /* tid -> thread */
	struct map zero_of;	      /* tid -> list in `zero` + 1 */
	VEC(plugin_indices) zero;     /* calls with the external id 0, by thread */
	VEC(int64_t) correlations;    /* keys of `works_of`, in order */
};

/* Makes the nodes of each thread, the calls and the works, and gives the calls to the nodes. */
void plugin_read_nodes(struct plugin_building *b);
void plugin_free_building(struct plugin_building *b);

#endif
