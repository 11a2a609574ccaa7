/* See sqlite_parts.h: the rows of calls, waits, GPU work and samples. */
#include "core/symbols/frames.h"
#include "export/kernel_words.h"
#include "export/sqlite_parts.h"

/* ---- Calls and waits ---- */

static void write_wait_row(struct database *d, const struct model_work *w, int64_t correlation,
			   int64_t type)
{
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,
		      "iiii"
		      "n"
		      "iiiii",
		      sqlite_at(d, w->begin_ns), sqlite_at(d, w->end_ns), I(w->device),
		      I(w->context), w->stream < INT32_MAX ? I(w->stream) : (int64_t)-1,
		      correlation, sqlite_pid(d), type, I(w->value));
}

static void write_wait_of_call(struct database *d, uint32_t call)
{
	struct model_work w;
	enum sync_type type;
	if (call_waits_of(&d->waits, d->m, call, &w, &type))
		write_wait_row(d, &w, d->correlation + call, type);
}

void sqlite_write_calls(struct database *d, const struct model_thread *t)
{
	for (size_t i = t->first; i < t->first + t->n; i++) {
		const struct model_call *c = &d->m->calls.at[i];
		bool has_stack = c->stack && d->m->frames;
		if (has_stack)
			sqlite_chain(d, c->stack);
		sqlite_db_row(
			d->db, T_CUPTI_ACTIVITY_KIND_RUNTIME, has_stack ? "iiiiiiii" : "iiiiiii",
			sqlite_at(d, c->begin_ns), sqlite_at(d, c->end_ns),
			I(c->entry_point == ENTRY_POINT_DRIVER ? CLASS_DRIVER : CLASS_RUNTIME),
			sqlite_tid(d, t->tid), d->correlation + I(i), sqlite_name(d, c->name),
			I(c->status), I(c->stack));
		write_wait_of_call(d, (uint32_t)i);
	}
}

/* ---- GPU work ---- */

/* Calls have correlation ids of their own. Those of works without a call come after them. */
static int64_t correlation_of(const struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	return d->correlation + I(w->call < d->m->calls.n ? w->call : d->m->calls.n + i);
}

static void write_kernel(struct database *d, size_t i)
{
	static const struct run_kernel unknown;
	const struct model_work *w = &d->m->works.at[i];
	const struct run_kernel *k = w->kernel ? &d->m->tables->kernels.at[w->kernel - 1]
					       : &unknown;
	const char *name = strtab_text(&d->m->tables->names, w->name);
	char brief[400];
	int64_t full = sqlite_text(d, name);
	kernel_short(brief, sizeof(brief), name);
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_KERNEL,
		      w->node ? "iiii"
				"n"
				"iiiiii"
				"nn"
				"iiiiiiiiii"
				"nnn"
				"i"
			      : "iiii"
				"n"
				"iiiiii"
				"nn"
				"iiiiiiiiii",
		      sqlite_at(d, w->begin_ns), sqlite_at(d, w->end_ns), I(w->device),
		      I(w->context), I(w->stream), correlation_of(d, i), sqlite_pid(d), full,
		      sqlite_text(d, brief), full, I(k->registers), I(w->grid[0]), I(w->grid[1]),
		      I(w->grid[2]), I(k->block[0]), I(k->block[1]), I(k->block[2]),
		      I(k->static_shared_bytes), I(k->dynamic_shared_bytes),
		      I(k->local_bytes_per_thread), I(w->node));
}

static bool is_host(uint8_t memory)
{
	return memory == HOST_PAGEABLE || memory == HOST_PINNED;
}

static int64_t copy_kind(const struct model_work *w)
{
	if (w->peer)
		return COPY_KIND_PTOP;
	if (is_host(w->source))
		return is_host(w->target) ? COPY_KIND_HTOH : COPY_KIND_HTOD;
	return is_host(w->target) ? COPY_KIND_DTOH : COPY_KIND_DTOD;
}

/* Nsight Systems counts kinds of memory from 0, CUPTI from 1; 0: unknown. */
static int64_t memory_kind(uint8_t kind)
{
	return kind ? I(kind) - 1 : 0xffffffff;
}

static void write_copy(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_MEMCPY,
		      w->node ? "iiiiniiiiinii"
				"nnnnn"
				"i"
			      : "iiiiniiiiinii",
		      sqlite_at(d, w->begin_ns), sqlite_at(d, w->end_ns), I(w->device),
		      I(w->context), I(w->stream), correlation_of(d, i), sqlite_pid(d), I(w->bytes),
		      copy_kind(w), memory_kind(w->source), memory_kind(w->target), I(w->node));
}

static void write_memset(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	sqlite_db_row(d->db, T_CUPTI_ACTIVITY_KIND_MEMSET, "iiiiniiiiiii",
		      sqlite_at(d, w->begin_ns), sqlite_at(d, w->end_ns), I(w->device),
		      I(w->context), I(w->stream), correlation_of(d, i), sqlite_pid(d), I(w->value),
		      I(w->bytes), I(w->node), memory_kind(w->target));
}

static void write_wait(struct database *d, size_t i)
{
	const struct model_work *w = &d->m->works.at[i];
	write_wait_row(d, w, correlation_of(d, i),
		       sync_type_of_work(strtab_text(&d->m->tables->names, w->name)));
}

void sqlite_write_works(struct database *d)
{
	static void (*const writers[WORK_KINDS])(struct database *, size_t) = {
		[WORK_KERNEL] = write_kernel,
		[WORK_MEMCPY] = write_copy,
		[WORK_MEMSET] = write_memset,
		[WORK_SYNC] = write_wait,
	};
	for (size_t i = 0; i < d->m->works.n; i++)
		writers[d->m->works.at[i].kind](d, i);
}

/* ---- Samples ---- */

void sqlite_write_samples(struct database *d)
{
	const struct model_step *m = d->m;
	for (size_t i = 0; i < m->samples.n; i++) {
		const struct model_sample *s = &m->samples.at[i];
		int64_t id = ++d->n_samples;
		sqlite_db_row(d->db, T_COMPOSITE_EVENTS,
			      "ii"
			      "nn"
			      "i",
			      id, sqlite_at(d, s->ns), sqlite_thread(d, s->thread));
		if (!m->frames || !s->stack)
			continue;
		struct frame_list list = frames_of(m->frames, s->stack);
		for (size_t k = 0; k < list.n; k++)
			sqlite_db_row(d->db, T_SAMPLING_CALLCHAINS,
				      "iiii"
				      "n"
				      "i"
				      "nnn"
				      "i",
				      id, sqlite_symbol(d, list.at[k]),
				      sqlite_module(d, list.at[k]), (int64_t)0, (int64_t)0, I(k));
	}
}
