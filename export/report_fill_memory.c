/* Fills in the memory part of a process's report. See report_fill.h. */
#include "export/report_fill_parts.h"

#include <math.h>

static void fill_block(struct filler *x, struct report_block *to, const struct finding_block *from)
{
	*to = (struct report_block){ fill_place(x, from->site), fill_text(x, from->what),
				     from->bytes };
}

static void fill_blocks(struct filler *x, struct report_blocks *to,
			const struct finding_blocks *from)
{
	*to = (struct report_blocks){ fill_text(x, from->name), from->bytes, from->peak_bytes,
				      from->per_step };
}

/* Returns NULL if no framework's allocator reported anything. */
static struct report_allocator *allocator(struct filler *x, const struct finding_allocator *a)
{
	if (!a->is_known)
		return NULL;
	struct report_allocator *to = arena_zero(x->arena, sizeof(*to));
	double used =
		a->peak_reserved_bytes ? (double)a->peak_bytes / (double)a->peak_reserved_bytes : 1;
	*to = (struct report_allocator){
		.name = "PyTorch",
		.device = a->device,
		.peak_bytes = (int64_t)a->peak_bytes,
		.peak_reserved_bytes = (int64_t)a->peak_reserved_bytes,
		.bytes = (int64_t)a->bytes,
		.reserved_bytes = (int64_t)a->reserved_bytes,
		.unused_pct = 100 * (1 - used),
		.out_of_memory = (int64_t)a->n_out_of_memory,
		.recorded_peak_bytes = a->is_recorded ? (int64_t)a->recorded_peak_bytes : -1,
	};
	return to;
}

static struct report_growth *growth(struct filler *x, const struct finding_growth *g)
{
	if (!(g->bytes_per_step > 0))
		return NULL;
	struct report_growth *to = arena_zero(x->arena, sizeof(*to));
	*to = (struct report_growth){
		.bytes_per_step = g->bytes_per_step,
		.device_bytes = g->device_bytes ? (int64_t)g->device_bytes : -1,
		.steps_left = g->device_bytes ? g->steps_left : NAN,
	};
	return to;
}

void fill_memory(struct filler *x, struct report_process *p)
{
	const struct findings *f = x->f;
	struct report_memory *m = &p->memory;
	m->device_peak_bytes = (int64_t)f->device_peak_bytes;
	m->retries = f->retries;
	m->growth = growth(x, &f->growth);
	m->allocator = allocator(x, &f->allocator);
	list_make(x->arena, &m->at_peak, f->at_peak.n);
	list_make(x->arena, &m->leaks, f->leaks.n);
	list_make(x->arena, &m->by_kind, f->by_kind.n);
	list_make(x->arena, &m->by_phase, f->by_phase.n);
	for (size_t i = 0; i < f->at_peak.n; i++)
		fill_block(x, &m->at_peak.at[i], &f->at_peak.at[i]);
	for (size_t i = 0; i < f->leaks.n; i++)
		fill_block(x, &m->leaks.at[i], &f->leaks.at[i]);
	for (size_t i = 0; i < f->by_kind.n; i++)
		fill_blocks(x, &m->by_kind.at[i], &f->by_kind.at[i]);
	for (size_t i = 0; i < f->by_phase.n; i++)
		fill_blocks(x, &m->by_phase.at[i], &f->by_phase.at[i]);
}
