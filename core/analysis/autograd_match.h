/* Matches a pass's nodes to forward operators, by kind and order alone. */
#ifndef CORE_AUTOGRAD_MATCH_H
#define CORE_AUTOGRAD_MATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * `ops`: the kinds of the operators that were called, in order. `nodes`: the kinds of the nodes
 * that then ran, in order. The autograd engine runs the newest ready node first, and a node only
 * waits for newer ones; so the nodes are a reversed subsequence of the operators. There may be many
 * such subsequences: over all of them, node i matches operator latest[i] at the latest and operator
 * earliest[i] at the earliest. Returns false if there is none.
 */
bool autograd_match(const uint32_t *nodes, size_t n, const uint32_t *ops, size_t n_ops,
		    uint32_t *latest, uint32_t *earliest);

#endif
