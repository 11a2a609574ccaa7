/* Follows the lifetimes of blocks. block_kinds.c derives the findings from them. See
 * block_summary.h. */
#include "core/analysis/block_summary.h"

#include "core/util/bisect.h"

/* Limit of the blocks that are followed: 80 MB. Later blocks are left out. */
enum { LIVES_MOST = 1000000 };

/* ---- Phases ---- */

static enum phase phase_at(const struct phases *p, uint64_t ns)
{
	const struct phase_lane *lane = p->lanes.n ? &p->lanes.at[0] : NULL;
	if (!lane)
		return PHASE_OTHER;
	size_t at = bisect(lane->n, i, p->spans.at[lane->first + i].end_ns <= ns);
	return at < lane->n ? phase_of_part(p->spans.at[lane->first + at].part) : PHASE_OTHER;
}

struct adding {
	struct block_summary *l;
	const struct model_step *m;
	const struct phases *phases;
	struct frames *frames;
	/* By thread of the model: when the thread last allocated a block in this step, in ns; 0:
	 * never. */
	uint64_t *made_ns;
};

enum { IS_WORKER = PHASES_N };

/*
 * Returns true if the part alone decides the phase. For an allocation in the user's own line the
 * part does not: only the time of the allocation does. (The copy of a batch to the device also
 * happens in the user's line, but it is a call, and has a part of its own.)
 */
static bool is_decisive(uint8_t part)
{
	return part != PART_NONE && part != PART_USER;
}

static uint32_t tid_of(const struct adding *a, const struct model_block *b)
{
	return b->thread < a->m->threads.n ? a->m->threads.at[b->thread].tid : 0;
}

static enum phase made_in(const struct adding *a, const struct model_block *b)
{
	struct phase_stack s = { .part = PART_NONE };
	if (b->stack && a->frames)
		s = phase_rules_stack(a->frames, b->stack);
	enum phase phase = phase_of_part(s.part);
	if (!is_decisive(s.part) && b->event == BLOCK_MADE) {
		enum phase now = phase_at(a->phases, b->ns);
		phase = s.part == PART_NONE || now == PHASE_DATA ? now : phase;
	}
	if (b->event == BLOCK_MADE) {
		uint64_t *last = map_at(&a->l->phase_of, tid_of(a, b), NULL);
		if (b->thread < a->m->threads.n)
			a->made_ns[b->thread] = b->ns;
		if (s.is_worker)
			*last = IS_WORKER;
		else if (*last != IS_WORKER)
			*last = phase;
	}
	return phase;
}

/*
 * Returns the enum phase_part of the last call that the freeing thread made before it freed `b`.
 * Returns PART_NONE if there is no such call, or if the thread allocated a block after that call.
 */
static uint8_t part_of_call_before(const struct adding *a, const struct model_block *b)
{
	if (b->thread >= a->m->threads.n)
		return PART_NONE;
	const struct model_thread *t = &a->m->threads.at[b->thread];
	size_t n = bisect(t->n, i, a->m->calls.at[t->first + i].begin_ns <= b->ns);
	if (!n || a->m->calls.at[t->first + n - 1].begin_ns < a->made_ns[b->thread])
		return PART_NONE;
	return a->phases->part_of_call.at[t->first + n - 1];
}

/*
 * Returns the phase of a free. Frees have no stack. A free on a thread of autograd belongs to
 * backward. On any other thread it belongs to the phase of the thread's last call or allocation,
 * whichever came later. The calls count because an optimizer may allocate nothing itself: a
 * gradient freed after the optimizer's calls has outlived backward.
 */
static enum phase freed_in(const struct adding *a, const struct model_block *b)
{
	const uint64_t *last = map_find(&a->l->phase_of, tid_of(a, b));
	if (!last)
		return phase_at(a->phases, b->ns);
	if (*last == IS_WORKER)
		return PHASE_BACKWARD;
	uint8_t part = part_of_call_before(a, b);
	return is_decisive(part) ? phase_of_part(part) : (enum phase) * last;
}

/* ---- Lifetimes ---- */

static void end_life(struct block_summary *l, uint64_t address, uint64_t ns, uint32_t step,
		     uint8_t phase)
{
	const uint64_t *found = map_find(&l->life_of, address);
	if (!found)
		return;
	struct block_life *life = &l->lives.at[*found];
	life->end_ns = ns;
	life->end_step = step;
	life->end_phase = phase;
	map_remove(&l->life_of, address);
}

static void begin_life(const struct adding *a, const struct model_block *b, uint32_t step)
{
	struct block_summary *l = a->l;
	if (l->lives.n >= LIVES_MOST) {
		l->n_left_out++;
		return;
	}
	end_life(l, b->address, b->ns, step, PHASE_OTHER);
	*map_at(&l->life_of, b->address, NULL) = l->lives.n;
	vec_push(&l->lives, (struct block_life){ .address = b->address,
						 .bytes = b->bytes,
						 .begin_ns = b->ns,
						 .end_ns = UINT64_MAX,
						 .stack = b->stack,
						 .made_step = step,
						 .end_step = BLOCK_OUTLIVES,
						 .made_phase = (uint8_t)made_in(a, b),
						 .device = b->device });
}

/* Begins a window. Frees between two windows are not recorded, so the lifetimes of the previous
 * window end with that window. */
static void begin_window(const struct adding *a)
{
	struct block_summary *l = a->l;
	uint64_t end_ns = l->steps.n ? l->steps.at[l->steps.n - 1].end_ns : 0;
	for (size_t i = 0; i < l->life_of.room; i++)
		if (l->life_of.slots[i].used)
			l->lives.at[l->life_of.slots[i].value].end_ns = end_ns;
	map_free(&l->life_of);
	l->window = a->m->block_window;
	for (size_t i = 0; i < a->m->n_live_blocks; i++)
		begin_life(a, &a->m->blocks.at[i], BLOCK_BEFORE);
}

static void note_peak(struct block_summary *l, const struct model_block *b)
{
	if (b->allocated_bytes <= l->peak_bytes)
		return;
	l->peak_bytes = b->allocated_bytes;
	l->peak_reserved_bytes = b->reserved_bytes;
	l->peak_device = b->device;
	l->peak_ns = b->ns;
}

void block_summary_add(struct block_summary *l, const struct model_step *m, const struct phases *p,
		       struct frames *frames)
{
	struct adding a = { l, m, p, frames, mem_zero((m->threads.n + 1) * sizeof(*a.made_ns)) };
	if (m->block_window != l->window)
		begin_window(&a);
	uint32_t step = (uint32_t)l->steps.n;
	for (size_t i = m->n_live_blocks; i < m->blocks.n; i++) {
		const struct model_block *b = &m->blocks.at[i];
		if (b->event == BLOCK_MADE) {
			begin_life(&a, b, step);
			note_peak(l, b);
		} else if (b->event == BLOCK_FREED) {
			end_life(l, b->address, b->ns, step, (uint8_t)freed_in(&a, b));
		}
	}
	free(a.made_ns);
	vec_push(&l->steps, (struct block_step){ m->end_ns, m->block_window });
}

void block_summary_free(struct block_summary *l)
{
	vec_free(&l->lives);
	vec_free(&l->steps);
	map_free(&l->life_of);
	map_free(&l->phase_of);
}
