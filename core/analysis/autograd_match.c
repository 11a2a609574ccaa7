#include "core/analysis/autograd_match.h"

bool autograd_match(const uint32_t *nodes, size_t n, const uint32_t *ops, size_t n_ops,
		    uint32_t *latest, uint32_t *earliest)
{
	size_t at = n_ops;
	for (size_t i = 0; i < n; i++) {
		while (at > 0 && ops[at - 1] != nodes[i])
			at--;
		if (!at)
			return false;
		latest[i] = (uint32_t)--at;
	}
	at = 0;
	for (size_t i = n; i-- > 0;) {
		while (ops[at] != nodes[i])
			at++;
		earliest[i] = (uint32_t)at++;
	}
	return true;
}
