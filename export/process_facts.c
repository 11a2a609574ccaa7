/* See process_facts.h. */
#include "export/process_facts.h"

#include <math.h>

#include "export/process_facts.def"

struct facts_overhead facts_overhead(const struct cost_found *c)
{
	struct facts_overhead o = { NAN, NAN, { NAN, NAN }, { NAN, NAN } };
	if (c->is_known) {
		o.pct = c->pct;
		o.ci = (struct field_range){ c->low_pct, c->high_pct };
	}
	if (c->left.is_known) {
		o.left_pct = c->left.pct;
		o.left_ci = (struct field_range){ c->left.low_pct, c->left.high_pct };
	}
	return o;
}
