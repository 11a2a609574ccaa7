/* Matches the nodes of a backward pass to forward operators, by kind and order alone. */
#ifndef CORE_AUTOGRAD_MATCH_H
#define CORE_AUTOGRAD_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * `ops`: the kinds of the forward operators, in the order of their calls. `nodes`: the kinds of the
 * nodes of the backward pass, in the order in which they ran. The autograd engine runs the newest
 * ready node first, and a node waits only for newer nodes. So the nodes are a reversed subsequence
 * of the operators.
 *
 * There may be many such subsequences. Over all of them, latest[i] is the highest index in `ops`
 * that node i can match, and earliest[i] is the lowest one. Both arrays have room for `n` entries.
 * Returns false if no subsequence matches.
 */
bool autograd_match(const uint32_t *nodes, size_t n, const uint32_t *ops, size_t n_ops,
		    uint32_t *latest, uint32_t *earliest);

#endif
