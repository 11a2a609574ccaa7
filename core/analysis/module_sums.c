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

void module_sums_add_thread(struct module_sums *s, const struct module_list *list,
			    struct strtab *texts)
{
	for (size_t i = 0; i < list->at.n; i++) {
		const struct module_span *span = &list->at.at[i];
		uint32_t outer = span->depth ? s->open.at[span->depth - 1] : 0;
		uint32_t row = row_of(s, outer, strtab_intern(texts, span->name));
		s->at.at[row - 1].n++;
		s->at.at[row - 1].host_ns += span->end_ns - span->begin_ns;
		s->open.n = span->depth;
		vec_push(&s->open, row);
	}
}
