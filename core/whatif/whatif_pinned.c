/*
 * The duration of a copy from pinned memory. From pageable memory the driver copies through a
 * buffer of its own: on an H100 at 13 to 15 GB/s instead of 51 to 55. So pinned memory saves more
 * than the wait.
 */
#include "core/analysis/peak.h"
#include "core/whatif/whatif_parts.h"

#include <math.h>

/* Smaller copies do not spend their time on the link. */
enum { LARGE_BYTES = 1 << 20 };

static bool is_large_copy(const struct timeline_work *x, uint8_t source)
{
	return x->kind == WORK_MEMCPY && x->source == source && x->target != HOST_PINNED &&
	       x->target != HOST_PAGEABLE && x->bytes >= LARGE_BYTES && x->end_ns > x->begin_ns;
}

/* Returns the bytes per ns of the fastest such copy in these steps, or else of the device's model;
 * 0: not known. */
static double find_rate(const struct timeline *t, uint8_t device)
{
	double best = 0;
	for (size_t i = 0; i < t->works.n; i++) {
		const struct timeline_work *x = &t->works.at[i];
		if (x->device == device && is_large_copy(x, HOST_PINNED))
			best = fmax(best, (double)x->bytes / (double)(x->end_ns - x->begin_ns));
	}
	return best > 0 ? best : peak_pinned_gbps(tables_device(t->tables, device));
}

static double rate_of(struct whatif *w, uint8_t device)
{
	float *known = &w->pinned_rate[device];
	if (*known == 0)
		*known = (float)find_rate(w->timeline, device);
	if (*known == 0)
		*known = -1;
	return (double)*known;
}

void whatif_pin_source(struct whatif *w, uint32_t op)
{
	const struct replay_op *o = &w->replay.ops.at[op];
	for (uint32_t i = o->first_work; i < o->first_work + o->n_work; i++) {
		const struct timeline_work *x = &w->timeline->works.at[w->replay.works.at[i].work];
		if (!is_large_copy(x, HOST_PAGEABLE))
			continue;
		double rate = rate_of(w, x->device), ns = (double)(x->end_ns - x->begin_ns);
		double scale = rate > 0 ? (double)x->bytes / rate / ns : 1;
		if (scale < (double)w->edit.scale[i]) {
			w->edit.scale[i] = (float)scale;
			w->is_scaled = true;
		}
	}
}
