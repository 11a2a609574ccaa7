/*
 * Adds the stacks of a journal, and the modules and Python code objects that their frames refer to.
 * Outer frames that several stacks share are stored once, with the first of these stacks.
 */
#include "core/source/journal/dict.h"
#include "core/source/journal/reader.h"

void dict_add_module(struct dict *d, const struct dict_module *m)
{
	const char *path = reader_dictionary_text(&m->head, offsetof(struct dict_module, path));
	if (!path || !m->id || m->id > FRAME_MODULE_MOST ||
	    m->build_id_bytes > sizeof(m->build_id)) {
		d->n_damaged++;
		return;
	}
	vec_at_id(&d->modules, m->id);
	struct module_entry *entry = &d->modules.at[m->id];
	*entry = (struct module_entry){
		.base = m->base,
		.begin = m->begin,
		.end = m->end,
		.path = strtab_intern(&d->t.names, path),
		.build_id_bytes = m->build_id_bytes,
		.is_known = true,
	};
	memcpy(entry->build_id, m->build_id, sizeof(entry->build_id));
}

void dict_add_code(struct dict *d, const struct dict_code *c)
{
	size_t room = c->head.bytes - offsetof(struct dict_code, table);
	size_t tail = (size_t)c->table_bytes + c->bytecode_bytes + c->exceptions_bytes;
	if (!c->id || c->id >= DICT_IDS_MOST || tail > room || c->lines > LINES_311) {
		d->n_damaged++;
		return;
	}
	vec_at_id(&d->codes, c->id);
	d->codes.at[c->id] = (struct code_entry){
		.table = d->tables.n,
		.bytecode = d->tables.n + c->table_bytes,
		.table_bytes = c->table_bytes,
		.bytecode_bytes = c->bytecode_bytes,
		.file = dict_string(d, c->file),
		.name = dict_string(d, c->name),
		.first_line = c->first_line,
		.python = c->python,
		.exceptions_bytes = c->exceptions_bytes,
		.lines = (uint8_t)c->lines,
		.is_known = true,
	};
	vec_reserve(&d->tables, tail);
	memcpy(d->tables.at + d->tables.n, c->table, tail);
	d->tables.n += tail;
}

/*
 * Follows the chain of bases that begins with `base`. Returns the first stack that itself stores
 * the innermost of the `shared` frames, so that chains of bases stay short.
 */
static uint32_t base_that_holds(const struct dict *d, uint32_t base, uint16_t shared)
{
	while (base && d->stacks.at[base - 1].shared >= shared)
		base = d->stacks.at[base - 1].base;
	return base;
}

static bool stack_is_sane(const struct dict *d, const struct dict_stack *s, const uint64_t *base)
{
	size_t room = (s->head.bytes - offsetof(struct dict_stack, frames)) / sizeof(*s->frames);
	if (!s->id || s->n > room || (uint32_t)s->shared + s->n > DICT_FRAMES_MOST)
		return false;
	if (!s->shared)
		return true;
	return base && d->stacks.at[*base].n + d->stacks.at[*base].shared >= s->shared;
}

void dict_add_stack(struct dict *d, const struct dict_stack *s)
{
	const uint64_t *base = s->shared ? map_find(&d->stack_of_id, s->base) : NULL;
	if (!stack_is_sane(d, s, base)) {
		d->n_damaged++;
		return;
	}
	uint32_t holder = base ? base_that_holds(d, (uint32_t)*base + 1, s->shared) : 0;
	bool is_new;
	uint64_t *at = map_at(&d->stack_of_id, s->id, &is_new);
	/* keep the first stack with this id, because other stacks may share its frames */
	if (!is_new) {
		d->n_damaged++;
		return;
	}
	*at = d->stacks.n;
	vec_push(&d->stacks, (struct stack_entry){
				     .first = d->stack_frames.n,
				     .base = holder,
				     .flags = s->flags,
				     .n = s->n,
				     .shared = s->shared,
			     });
	vec_reserve(&d->stack_frames, s->n);
	memcpy(d->stack_frames.at + d->stack_frames.n, s->frames, s->n * sizeof(*s->frames));
	d->stack_frames.n += s->n;
}

const struct module_entry *dict_module(const struct dict *d, uint32_t id)
{
	return id < d->modules.n && d->modules.at[id].is_known ? &d->modules.at[id] : NULL;
}

const struct code_entry *dict_code(const struct dict *d, uint32_t id)
{
	return id < d->codes.n && d->codes.at[id].is_known ? &d->codes.at[id] : NULL;
}

size_t dict_stack(const struct dict *d, uint32_t id, uint64_t out[static DICT_FRAMES_MOST],
		  uint32_t *flags)
{
	const uint64_t *at = map_find(&d->stack_of_id, id);
	*flags = at ? d->stacks.at[*at].flags : 0;
	if (!at)
		return 0;
	const struct stack_entry *s = &d->stacks.at[*at];
	/* `wanted`: how many of the outermost frames of *s are still to be copied */
	size_t n = 0, wanted = (size_t)s->n + s->shared;
	for (;;) {
		if (wanted > s->shared) {
			size_t own = wanted - s->shared;
			memcpy(out + n, d->stack_frames.at + s->first + (s->n - own),
			       own * sizeof(*out));
			n += own;
			wanted = s->shared;
		}
		if (!wanted)
			return n;
		s = &d->stacks.at[s->base - 1];
	}
}
