/* Adds up the pieces of idle time. */
#include "core/analysis/idle.h"

/* A gap is explained from its begin on. */
static void keep_span(struct idle *idle, uint32_t device, uint8_t cause, uint32_t site, uint64_t ns)
{
	struct idle_span *last = idle->spans.n ? &idle->spans.at[idle->spans.n - 1] : NULL;
	uint64_t begin_ns = idle->at_ns;
	idle->at_ns += ns;
	if (last && last->device == device && last->end_ns == begin_ns && last->cause == cause &&
	    last->site == site)
		last->end_ns = idle->at_ns;
	else if (ns)
		vec_push(&idle->spans,
			 (struct idle_span){ begin_ns, idle->at_ns, device, site, cause });
}

void idle_add(struct idle *idle, uint32_t device, uint8_t cause, uint32_t site, uint64_t ns)
{
	if (idle->keeps_spans)
		keep_span(idle, device, cause, site, ns);
	bool is_new;
	uint64_t key = (uint64_t)site << 16 | (uint64_t)(device & 0xff) << 8 | cause;
	uint64_t *at = map_at(&idle->place, key, &is_new);
	if (is_new) {
		*at = idle->pieces.n;
		vec_push(&idle->pieces, (struct idle_piece){ cause, device, site, 0 });
	}
	idle->pieces.at[*at].ns += ns;
	if (cause < IDLE_CAUSES_N)
		idle->steps.at[idle->steps.n - 1].idle_ns[cause] += ns;
}
