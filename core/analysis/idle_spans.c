/* Functions that idle.c and idle_cause.c share. */
#include "core/analysis/idle.h"

#include <string.h>

void idle_add(struct idle_step *out, const struct idle_gap *gap, uint64_t *at_ns,
	      struct idle_reason reason, uint64_t ns)
{
	struct idle_span *last = out->spans.n ? &out->spans.at[out->spans.n - 1] : NULL;
	uint64_t begin_ns = *at_ns;
	*at_ns += ns;
	if (last && last->device == gap->device && last->end_ns == begin_ns &&
	    last->cause == reason.cause && last->site == reason.site &&
	    last->before_site == reason.before_site)
		last->end_ns = *at_ns;
	else if (ns)
		vec_push(&out->spans, (struct idle_span){ .begin_ns = begin_ns,
							  .end_ns = *at_ns,
							  .device = gap->device,
							  .site = reason.site,
							  .before_site = reason.before_site,
							  .cause = reason.cause });
}

bool idle_work_is_collective(const struct timeline *t, const struct timeline_work *w)
{
	return !strncmp(strtab_text(&t->tables->names, w->name), "nccl", 4);
}
