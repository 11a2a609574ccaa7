/* Fills the rows of the CPU time between CUDA calls, which add up to the time of all sampled lanes
 * outside calls. */
#include "core/analysis/summary.h"

#include "core/analysis/host_kinds.h"

struct rows {
	struct findings *f;
	struct strtab keys; /* of a line, function and kind */
	struct map row_of;  /* id in `keys` -> index in f->host */
	VEC(uint32_t) seen; /* rows that the current stack has counted already */
};

static struct finding_host *row_of(struct rows *r, const struct frame *frame, uint8_t kind,
				   uint32_t *index)
{
	char key[1024];
	bool is_new;
	snprintf(key, sizeof(key), "%u %u %s %s", kind, frame ? frame->line : 0,
		 frame ? frame->function : "", frame ? frame->file : "");
	uint64_t *at = map_at(&r->row_of, strtab_intern(&r->keys, key) + 1ull, &is_new);
	if (is_new) {
		*at = r->f->host.n;
		vec_push(&r->f->host,
			 (struct finding_host){ .file = frame ? frame->file : "",
						.function = frame ? frame->function : "",
						.line = frame ? frame->line : 0,
						.kind = kind });
	}
	*index = (uint32_t)*at;
	return &r->f->host.at[*at];
}

/* Adds to the totals of each frame's row once, even if a function is on the stack twice. */
static void add_stack(struct rows *r, const struct host_sum *sum, double ms_per_ns)
{
	struct frame_list frames = { 0 };
	double ms = (double)sum->ns * ms_per_ns;
	if (sum->stack)
		frames = frames_of(r->f->timeline->frames, sum->stack);
	r->seen.n = 0;
	for (size_t i = 0; i < frames.n || !i; i++) {
		uint32_t index;
		bool is_seen = false;
		struct finding_host *row =
			row_of(r, frames.n ? frames.at[i] : NULL, sum->kind, &index);
		for (size_t k = 0; k < r->seen.n && !is_seen; k++)
			is_seen = r->seen.at[k] == index;
		row->self_ms += i ? 0 : ms;
		if (is_seen)
			continue;
		vec_push(&r->seen, index);
		row->total_ms += ms;
		row->samples += sum->n;
	}
}

static int by_self(const void *a, const void *b)
{
	const struct finding_host *x = a, *y = b;
	if (x->self_ms != y->self_ms)
		return x->self_ms > y->self_ms ? -1 : 1;
	if (x->total_ms != y->total_ms)
		return x->total_ms > y->total_ms ? -1 : 1;
	if (x->line != y->line)
		return x->line < y->line ? -1 : 1;
	int file = strcmp(x->file, y->file);
	return file ? file : strcmp(x->function, y->function);
}

void summary_fill_between(struct findings *f)
{
	const struct host_sums *s = &f->timeline->host;
	struct rows r = { .f = f };
	if (!s->n || !s->ns)
		return;
	f->between_ms = (double)s->outside_ns / 1e6 / findings_count_steps(f->timeline).all;
	f->n_host_samples = s->n;
	for (size_t i = 0; i < s->at.n; i++)
		add_stack(&r, &s->at.at[i], f->between_ms / (double)s->ns);
	qsort(f->host.at, f->host.n, sizeof(*f->host.at), by_self);
	strtab_free(&r.keys);
	map_free(&r.row_of);
	vec_free(&r.seen);
}
