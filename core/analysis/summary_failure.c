/*
 * Finds what failed in the run's last step. If a framework's allocator ran out of memory, it has
 * asked the driver before, so there are two failures: the driver's call has the function and the
 * bytes that it asked for, and the allocator's event has the stack and the live blocks.
 */
#include "core/analysis/summary_failure.h"

#include "core/symbols/stack_about.h"
#include "core/util/map.h"

/* A failure in an earlier step did not end the program. The step in which the program ended may
 * have an end of its own. */
static bool is_of_last_step(uint64_t failed_at, uint64_t n_steps)
{
	return failed_at + 1 >= n_steps;
}

/* Returns the site of a stack. A thread of autograd has no line of the user's, so its site is the
 * line that calls backward(), if a recorded step shows it. */
static uint32_t site_of(const struct findings *f, uint32_t stack)
{
	struct frames *frames = f->timeline->frames;
	if (!stack || !frames)
		return 0;
	uint32_t site = frames_site(frames, stack), backward = f->timeline->backward_site;
	bool is_lent = backward && !frames_site_at(frames, site)->is_user &&
		       stack_about(frames, stack) & ABOUT_WORKER;
	return is_lent ? backward : site;
}

static int by_bytes(const void *a, const void *b)
{
	const struct finding_block *x = a, *y = b;
	return x->bytes > y->bytes ? -1 : x->bytes < y->bytes;
}

/* Replaces f->at_peak by the blocks that were live when the allocation failed. */
static void fill_held(struct findings *f, const struct allocator_failure *x)
{
	struct map place = { 0 };
	f->at_peak.n = 0;
	for (size_t i = 0; i < x->held.n; i++) {
		uint32_t site = site_of(f, x->held.at[i].stack);
		bool is_new;
		uint64_t *at = map_at(&place, site, &is_new);
		if (is_new) {
			const char *what = site ? NULL : "allocated where no stack was taken";
			*at = f->at_peak.n;
			vec_push(&f->at_peak, (struct finding_block){ .site = site, .what = what });
		}
		f->at_peak.at[*at].bytes += (double)x->held.at[i].bytes;
	}
	if (x->reserved_bytes > x->allocated_bytes)
		vec_push(&f->at_peak, (struct finding_block){
					      0, "PyTorch cache, unused",
					      (double)(x->reserved_bytes - x->allocated_bytes) });
	if (f->at_peak.n)
		qsort(f->at_peak.at, f->at_peak.n, sizeof(*f->at_peak.at), by_bytes);
	f->is_peak_of_failure = true;
	map_free(&place);
}

static void fill_last_call(struct findings *f, const struct run *run)
{
	const struct run_last_call *call = &run->last_call;
	if (call->ticks)
		f->last_call =
			(struct finding_last_call){ strtab_text(&run->tables->names, call->name),
						    site_of(f, call->stack) };
}

void summary_fill_failure(struct findings *f, const struct run *run)
{
	const struct run_failure *call = &run->failure;
	const struct allocator *a = &run->allocator;
	struct finding_failure *to = &f->failure;
	const struct run_device *device = tables_device(run->tables, a->failure.device);
	fill_last_call(f, run);
	if (call->ticks && is_of_last_step(call->n_steps, run->memory.n_steps))
		*to = (struct finding_failure){
			.api = strtab_text(&run->tables->names, call->name),
			.status = call->status,
			.site = site_of(f, call->stack),
			.bytes = (double)call->bytes,
			.held_bytes = (double)run->memory.device_bytes,
			.step = call->n_steps,
		};
	to->device_bytes = device ? device->memory_bytes : 0;
	if (!a->n_out_of_memory || !is_of_last_step(a->failure.n_steps, a->n_steps))
		return;
	if (to->status != FAILURE_OUT_OF_MEMORY) /* the allocator's own limit was reached */
		*to = (struct finding_failure){ .api = "PyTorch allocator",
						.status = FAILURE_OUT_OF_MEMORY,
						.bytes = (double)a->failure.bytes,
						.device_bytes = to->device_bytes,
						.step = a->failure.n_steps };
	if (a->failure.stack)
		to->site = site_of(f, a->failure.stack);
	to->held_bytes = (double)a->failure.reserved_bytes;
	f->growth.steps_left = 0; /* none are left */
	f->growth.device_bytes = 0;
	if (a->failure.held.n)
		fill_held(f, &a->failure);
}
