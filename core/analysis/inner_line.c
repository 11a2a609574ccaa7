#include "core/analysis/inner_line.h"

#include <string.h>

uint32_t inner_line_site(const struct timeline *t)
{
	uint32_t n_sites = t->frames ? frames_n_sites(t->frames) : 0, found = 0;
	uint64_t *n = mem_zero((n_sites + 1) * sizeof(*n)), all = 0;
	for (size_t i = 0; i < t->calls.n; i++) {
		const struct timeline_call *c = &t->calls.at[i];
		if (!category_has_work(c->category) || c->site > n_sites)
			continue;
		n[c->site]++;
		all++;
	}
	for (uint32_t site = 1; site <= n_sites; site++) {
		const struct site *s = frames_site_at(t->frames, site);
		if (n[site] * 2 > all && s->is_user && !s->from)
			found = site;
	}
	free(n);
	return found;
}

const struct frame *inner_line_of(struct frames *f, uint32_t stack)
{
	struct frame_list list = frames_of(f, stack);
	for (size_t i = 0; i < list.n; i++) {
		if (list.at[i]->kind == FRAME_KIND_PYTHON && !list.at[i]->is_library)
			return NULL;
		if (frame_is_package_code(list.at[i]))
			return list.at[i];
	}
	return NULL;
}

bool inner_line_same(const struct frame *a, const struct frame *b)
{
	return a == b || (a && b && a->line == b->line && !strcmp(a->file, b->file));
}
