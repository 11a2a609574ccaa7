/*
 * Counts the launches of the recorded steps, and how many of them have GPU times. A launch is a
 * call that starts a kernel or a CUDA graph. Only the library sees all launches; CUPTI may deliver
 * records of fewer or of none.
 */
#ifndef CORE_COMPLETENESS_H
#define CORE_COMPLETENESS_H

#include "core/util/vec.h"

#include <stdint.h>

/* Why a launch has no GPU times. */
enum launch_lack {
	LACK_OFF,	  /* GPU timing was off */
	LACK_GRAPHS,	  /* it was off because the program made CUDA graphs */
	LACK_OVERWRITTEN, /* the record that says whether it was on was overwritten */
	LACK_YIELDED,	  /* the application's own profiler had CUPTI */
	LACK_UNAVAILABLE, /* CUPTI does not work in this process */
	LACK_DROPPED,	  /* the journal was full, so records of calls or GPU work were dropped */
	LACK_CUPTI,	  /* CUPTI dropped records */
	LACK_KILLED,	  /* the process was killed before CUPTI delivered the record */
	LACK_PAIR,	  /* there is GPU work without a call, which may belong to the launch */
	LACK_UNKNOWN,
	LACKS_N
};

/* Why a kernel of a CUDA graph has no captured call, or none with a stack. */
enum graph_lack {
	GRAPH_LACK_NONE,
	/* the executable graph is unknown: it was made before profrun was set up, or by a function
	 * that profrun does not hook */
	GRAPH_LACK_MADE,
	GRAPH_LACK_LAUNCH,  /* it is unknown which executable graph the work is of */
	GRAPH_LACK_NODE,    /* the node was made by a call that is not recorded */
	GRAPH_LACK_IDS,	    /* the ids of the nodes disagree with the calls that were captured */
	GRAPH_LACK_CHANGED, /* the node got new parameters, and now does other work */
	GRAPH_LACK_DROPPED, /* the journal was full, so records of nodes were dropped */
	GRAPH_LACK_STACK,   /* no stack was taken */
	GRAPH_LACKS_N
};

/* The kernels of CUDA graphs that ran in a step. `n_named`: those with a captured call and its
 * stack. */
struct graph_counts {
	uint64_t n, n_named;
	uint64_t n_lacking[GRAPH_LACKS_N];
};

/* The launches of a step. */
struct launch_counts {
	uint64_t n, n_captured; /* n_captured: launches with GPU times */
	uint64_t n_lacking[LACKS_N];
};

/* The recorded steps `first` to `last`, without a gap. */
struct completeness_window {
	uint64_t first, last;
	struct launch_counts launches;
	struct graph_counts graphs;
};

enum { COMPLETENESS_WINDOWS = 256 }; /* further windows count in the total only */

struct completeness {
	struct launch_counts total;
	struct graph_counts graphs;
	uint64_t next_step; /* the step that continues the last window, if it is recorded */
	VEC(struct completeness_window) windows;
};

/* Adds a recorded step. Steps come in order. */
void completeness_add(struct completeness *c, uint64_t step, const struct launch_counts *launches,
		      const struct graph_counts *graphs);
void completeness_free(struct completeness *c);

/* Returns the reason why most of the launches without GPU times have none. */
enum launch_lack launch_counts_lack(const struct launch_counts *c);

/* Returns the reason why most of the graph kernels without a captured line have none. */
enum graph_lack graph_counts_lack(const struct graph_counts *c);

#endif
