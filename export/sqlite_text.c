/* See sqlite_parts.h: ids, times, and the texts of stacks. */
#include "core/symbols/frames.h"
#include "export/sqlite_parts.h"

#include <stdio.h>

/* ---- Texts and ids ---- */

int64_t sqlite_text(struct database *d, const char *text)
{
	uint32_t id = strtab_intern(&d->strings, text);
	if (id >= d->n_strings) {
		sqlite_db_row(d->db, T_StringIds, "it", I(id), text);
		d->n_strings = id + 1;
	}
	return id;
}

int64_t sqlite_name(struct database *d, uint32_t name)
{
	return sqlite_text(d, strtab_text(&d->m->tables->names, name));
}

int64_t sqlite_pid(const struct database *d)
{
	return d->pid << 24;
}

int64_t sqlite_tid(const struct database *d, uint32_t tid)
{
	return sqlite_pid(d) | (tid & 0xffffff);
}

int64_t sqlite_thread(struct database *d, uint32_t thread)
{
	return sqlite_tid(d, thread < d->m->threads.n ? d->m->threads.at[thread].tid : d->m->pid);
}

int64_t sqlite_at(const struct database *d, uint64_t ns)
{
	return ns > d->origin_ns ? I(ns - d->origin_ns) : 0;
}

/* ---- Stacks ---- */

int64_t sqlite_symbol(struct database *d, const struct frame *f)
{
	char text[1024];
	if (f->line)
		snprintf(text, sizeof(text), "%.500s (%.400s:%u)", f->function, f->file, f->line);
	else
		snprintf(text, sizeof(text), "%.1000s", f->function);
	return sqlite_text(d, text);
}

int64_t sqlite_module(struct database *d, const struct frame *f)
{
	return sqlite_text(d, *f->module ? f->module : f->file);
}

void sqlite_chain(struct database *d, uint32_t stack)
{
	bool is_new;
	map_at(&d->chains, stack, &is_new);
	if (!is_new)
		return;
	struct frame_list list = frames_of(d->m->frames, stack);
	for (size_t i = 0; i < list.n; i++)
		sqlite_db_row(d->db, T_CUDA_CALLCHAINS, "iiiini", I(stack),
			      sqlite_symbol(d, list.at[i]), sqlite_module(d, list.at[i]),
			      (int64_t)0, I(i));
}
