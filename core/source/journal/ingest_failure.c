/* Finds the CUDA call whose failure may have ended the program, and the last call of all. */
#include "core/source/journal/ingest.h"

/* Result codes that are no failure, of cudaStreamQuery() and the like, and of enabling what is
 * enabled already. They are the same in the runtime and in the driver API. */
enum { NOT_READY = 600, PEER_ACCESS_ENABLED = 704 };

static bool is_failure(uint8_t category, const struct rec_call *c)
{
	return c->status && c->status != NOT_READY && c->status != PEER_ACCESS_ENABLED &&
	       category != CAT_QUERY;
}

/* Returns whether the call shows that an earlier failure was overcome: work was launched, or the
 * failed allocation was repeated. */
static bool overcomes(const struct run_failure *f, uint8_t category, const struct rec_call *c)
{
	if (c->status)
		return false;
	return category == CAT_LAUNCH || category == CAT_GRAPH ||
	       (category == CAT_ALLOC && f->category == CAT_ALLOC && c->bytes >= f->bytes);
}

static void take_call(struct ingest *f, const struct rec_call *c)
{
	struct run_failure *known = &f->run.failure;
	uint8_t category = dict_category(&f->dict, c->hook);
	if (category == CAT_COUNT)
		return;
	if (c->begin_ticks >= f->run.last_call.ticks)
		f->run.last_call = (struct run_last_call){ .ticks = c->begin_ticks,
							   .name = f->dict.hooks.at[c->hook].name,
							   .stack = c->stack };
	if (known->ticks && c->begin_ticks > known->ticks && overcomes(known, category, c))
		*known = (struct run_failure){ 0 };
	if (!is_failure(category, c) || (known->ticks && known->ticks <= c->begin_ticks))
		return;
	*known = (struct run_failure){ .ticks = c->begin_ticks,
				       .bytes = category == CAT_ALLOC ? c->bytes : 0,
				       .n_steps = f->run.memory.n_steps,
				       .name = f->dict.hooks.at[c->hook].name,
				       .stack = c->stack,
				       .status = (uint16_t)c->status,
				       .category = category };
}

/* Returns whether all calls of the step were recorded. After the opening, only those of recorded
 * steps are. */
static bool has_all_calls(const struct ingest *f, const struct ingest_cut *cut)
{
	const struct ingest_opening *o = &f->opening;
	if (f->counts.dropped)
		return false;
	if (!o->is_any || f->schedule.always)
		return cut->is_recorded;
	if (!o->end_ticks || cut->end_ticks <= o->end_ticks)
		return true;
	return cut->is_recorded && cut->begin_ticks >= o->end_ticks;
}

/* Threads are read one after the other, so a failure is overcome only by calls of the thread that
 * failed or of threads after it. That is enough, because a thread that fails for good launches
 * nothing more. */
void ingest_note_failures(struct ingest *f, const struct ingest_cut *cut)
{
	for (size_t i = 0; i < f->threads.n; i++)
		for (size_t k = 0; k < f->threads.at[i].n_cut; k++)
			take_call(f, &f->threads.at[i].calls.at[k]);
	if (!has_all_calls(f, cut))
		f->run.last_call = (struct run_last_call){ 0 };
}
