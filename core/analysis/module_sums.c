#include "core/analysis/module_sums.h"

#include "core/symbols/phase_rules.h"

void module_sums_free(struct module_sums *s)
{
	map_free(&s->place);
	vec_free(&s->at);
	vec_free(&s->open);
}

static uint32_t row_of(struct module_sums *s, uint32_t outer, uint32_t name)
{
	bool is_new;
	uint64_t *at = map_at(&s->place, (uint64_t)outer << 32 | name, &is_new);
	if (is_new) {
		vec_push(&s->at, (struct module_row){ .outer = outer, .name = name });
		*at = s->at.n;
	}
	return (uint32_t)*at;
}

uint32_t module_sums_of_stack(struct module_sums *s, struct frames *frames, uint32_t stack,
			      struct strtab *texts)
{
	struct frame_list list = frames_of(frames, stack);
	uint32_t row = 0;
	for (size_t i = list.n; i-- > 0;) {
		const char *name = phase_rules_module(&list, i);
		if (*name)
			row = row_of(s, row, strtab_intern(texts, name));
	}
	return row;
}

/* Rows around a row have lower numbers. */
uint32_t module_sums_common(const struct module_sums *s, uint32_t a, uint32_t b)
{
	while (a != b) {
		uint32_t *inner = a > b ? &a : &b;
		*inner = s->at.at[*inner - 1].outer;
	}
	return a;
}

const char *module_sums_chain(struct module_sums *s, struct strtab *texts, uint32_t row)
{
	char text[1024];
	size_t at = sizeof(text) - 1;
	if (!row)
		return "";
	struct module_row *first = &s->at.at[row - 1];
	text[at] = 0;
	while (row && !first->chain) {
		const struct module_row *r = &s->at.at[row - 1];
		const char *name = strtab_text(texts, r->name);
		size_t n = strlen(name);
		if (n + 1 > at)
			break;
		if (text[at])
			text[--at] = '.';
		at -= n;
		memcpy(text + at, name, n);
		row = r->outer;
	}
	if (!first->chain)
		first->chain = strtab_intern(texts, text + at);
	return strtab_text(texts, first->chain);
}

void module_sums_add_gpu(struct module_sums *s, uint32_t row, uint32_t tied, uint64_t ns,
			 bool is_graph)
{
	if (row)
		s->at.at[row - 1].own_gpu_ns += ns;
	if (tied)
		s->at.at[tied - 1].own_backward_ns += ns;
	if (is_graph && row)
		s->at.at[row - 1].own_graph_ns += ns;
	if (is_graph && tied)
		s->at.at[tied - 1].own_graph_ns += ns;
}

void module_sums_add_thread(struct module_sums *s, const struct module_list *list,
			    const uint64_t *n_works, struct strtab *texts)
{
	for (size_t i = 0; i < list->at.n; i++) {
		const struct module_span *span = &list->at.at[i];
		uint32_t outer = span->depth ? s->open.at[span->depth - 1] : 0;
		uint32_t row = row_of(s, outer, strtab_intern(texts, span->name));
		s->at.at[row - 1].n += n_works ? n_works[span->first_call] : 1;
		s->at.at[row - 1].host_ns += n_works ? 0 : span->end_ns - span->begin_ns;
		s->open.n = span->depth;
		vec_push(&s->open, row);
	}
}
