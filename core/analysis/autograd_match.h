/* Which forward operators a pass's nodes are of, by kind and order alone. */
#ifndef CORE_AUTOGRAD_MATCH_H
#define CORE_AUTOGRAD_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * `made`: the kinds of what was called, in order; `nodes`: those of what then ran backwards, in order. The engine of autograd runs the
 * newest node that is ready, and what a node waits for is newer than the node: so nodes are a part of what was made, backwards. There may be
 * many such parts: node i is made at latest[i] in the one that is as late as can be, at earliest[i] in the earliest one, and
 * nowhere outside the two. False: there is none.
 */
bool autograd_match(const uint32_t *nodes, size_t n, const uint32_t *ops, size_t n_ops,
		    uint32_t *latest, uint32_t *earliest);

#endif
