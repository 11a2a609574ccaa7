/*
 * Estimates how long copies would take from pinned memory. From pageable memory the driver copies
 * through its own staging buffer: on an H100 at 13 to 15 GB/s, instead of 51 to 55 GB/s from pinned
 * memory. Therefore pinned memory saves more than the wait for the copy.
 */
#include "core/analysis/peak.h"
#include "core/whatif/whatif_parts.h"

#include <math.h>

/* In smaller copies, most of the time is not the transfer over the link between host and device. */
enum { LARGE_BYTES = 1 << 20 };

/* Returns true for a large copy to a device from host memory of the kind `source`, HOST_PINNED or
 * HOST_PAGEABLE. */
static bool is_large_copy(const struct timeline_work *x, uint8_t source)
{
	return x->kind == WORK_MEMCPY && x->source == source && x->target != HOST_PINNED &&
	       x->target != HOST_PAGEABLE && x->bytes >= LARGE_BYTES && x->end_ns > x->begin_ns;
}

/* Returns the rate of copies from pinned memory to the device in bytes per ns: the rate of the
 * fastest recorded large copy or, if there is none, the peak rate of the GPU's model. 0: not
 * known. */
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

/* Returns what find_rate() returns, or -1 if the rate is not known. Looks it up only once. */
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
