/* Modules: module_op.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

enum { DEEPEST = 1000, NONE = -1 }; /* Python's limit of recursion */

/* A Python id, as an event or as a parent of one. */
struct function {
	const struct peer_row *row; /* the last event with the id; NULL: none */
	bool has_child, is_module;
	bool is_listed;	     /* in `modules` */
	int64_t parent;	     /* of a module: the module around it; NONE: it is a root */
	int64_t first, last; /* of a module: its children; NONE: none */
	int64_t next;
};

struct hierarchy {
	struct map of_id; /* Python id -> index in `functions` */
	VEC(struct function) functions;
	VEC(uint32_t) modules; /* in the order in which they were found */
};

struct stats {
	double n, operators, host, self_host, device, self_device;
};

struct totals {
	struct map of_module; /* name and module id -> index in `at` */
	VEC(struct stats) at;
};

static size_t function_of(struct hierarchy *h, int64_t id)
{
	bool is_new;
	uint64_t *at = map_at(&h->of_id, (uint64_t)id, &is_new);
	if (is_new) {
		*at = h->functions.n;
		vec_push(&h->functions,
			 (struct function){
				 .parent = NONE, .first = NONE, .last = NONE, .next = NONE });
	}
	return *at;
}

static void read_events(struct hierarchy *h, const struct plugin_trace *t)
{
	for (size_t i = 0; i < t->events.n; i++) {
		const struct plugin_event *e = &t->events.at[i];
		if (e->type != PLUGIN_FUNCTION && e->type != PLUGIN_MODULE)
			continue;
		size_t own = function_of(h, e->row->python),
		       parent = function_of(h, e->row->python_parent);
		h->functions.at[own].row = e->row;
		h->functions.at[own].is_module = e->type == PLUGIN_MODULE;
		h->functions.at[parent].has_child = true;
	}
}

/* Returns the function's parent; NONE: there is none, or it has no event. */
static int64_t parent_of(const struct hierarchy *h, size_t function)
{
	int64_t id = h->functions.at[function].row->python_parent;
	const uint64_t *at = map_find(&h->of_id, (uint64_t)id);
	return at && h->functions.at[*at].row ? (int64_t)*at : NONE;
}

/* Walks from each function that calls no other one to the outermost one. */
static void find_parents(struct hierarchy *h)
{
	struct map seen = { 0 };
	for (size_t i = 0; i < h->functions.n; i++) {
		int64_t inner = NONE;
		bool is_new = true;
		if (h->functions.at[i].has_child || !h->functions.at[i].row)
			continue;
		for (int64_t at = (int64_t)i; at != NONE && is_new; at = parent_of(h, (size_t)at)) {
			struct function *f = &h->functions.at[at];
			if (f->is_module) {
				if (inner != NONE)
					h->functions.at[inner].parent = at;
				inner = at;
				if (!f->is_listed)
					vec_push(&h->modules, (uint32_t)at);
				f->is_listed = true;
			}
			map_at(&seen, (uint64_t)at << 32 | (uint32_t)(inner + 1), &is_new);
		}
	}
	map_free(&seen);
	for (size_t i = 0; i < h->modules.n; i++) {
		int64_t child = h->modules.at[i], parent = h->functions.at[child].parent;
		if (parent == NONE)
			continue;
		struct function *p = &h->functions.at[parent];
		if (p->last == NONE)
			p->first = child;
		else
			h->functions.at[p->last].next = child;
		p->last = child;
	}
}

static uint64_t key_of(const struct peer_row *row)
{
	return (uint64_t)row->name << 32 | (uint32_t)row->module;
}

static void sum_up(struct totals *s, const struct plugin_trace *t)
{
	for (size_t i = 0; i < t->nodes.n; i++) {
		const struct plugin_node *node = &t->nodes.at[i];
		bool is_new;
		if (node->type != PLUGIN_MODULE || node->is_gone)
			continue;
		uint64_t *at = map_at(&s->of_module, key_of(node->row), &is_new);
		if (is_new) {
			*at = s->at.n;
			vec_push(&s->at, (struct stats){ 0 });
		}
		struct stats *to = &s->at.at[*at];
		to->n++;
		for (uint32_t c = node->first; c != PLUGIN_NO_NODE; c = t->nodes.at[c].next)
			to->operators += t->nodes.at[c].is_operator;
		to->host += node->end - node->start;
		to->self_host += node->self_host_us;
		to->device += node->device_us;
		to->self_device += node->self_device_us;
	}
}

/* ---- Trees of the same form are one ---- */

struct text {
	VEC(char) bytes;
};

static void describe(const struct hierarchy *h, int64_t module, struct text *to, unsigned depth)
{
	const struct function *f = &h->functions.at[module];
	char own[64];
	int n = snprintf(own, sizeof(own), "%u %lld(", f->row->name, (long long)f->row->module);
	for (int i = 0; i < n; i++)
		vec_push(&to->bytes, own[i]);
	for (int64_t c = f->first; c != NONE && depth < DEEPEST; c = h->functions.at[c].next)
		describe(h, c, to, depth + 1);
	vec_push(&to->bytes, ')');
}

struct root {
	int64_t module;
	const char *name;
	size_t number;
};

static int by_name(const void *a, const void *b)
{
	const struct root *x = a, *y = b;
	int names = strcmp(x->name, y->name);
	return names ? names : (x->number > y->number) - (x->number < y->number);
}

static const char *short_name(const struct plugin_trace *t, const struct peer_row *row)
{
	static const char prefix[] = "nn.Module: ";
	const char *name = plugin_name(t, row);
	return strncmp(name, prefix, sizeof(prefix) - 1) ? name : name + sizeof(prefix) - 1;
}

static void put(const struct plugin_view *v, struct peer_table *table, const struct hierarchy *h,
		const struct totals *s, int64_t module, unsigned depth)
{
	const struct peer_row *row = h->functions.at[module].row;
	const uint64_t *at = map_find(&s->of_module, key_of(row));
	if (!at || !s->at.at)
		return;
	const struct stats *m = &s->at.at[*at];
	double mean = m->device > 0 ? m->device / m->n : m->host / m->n;
	peer_number(table, v->worker);
	peer_number(table, depth);
	peer_word(v->to, table, short_name(v->trace, row));
	peer_number(table, (double)row->module);
	peer_number(table, m->n);
	peer_number(table, m->operators);
	peer_number(table, m->host);
	peer_number(table, m->self_host);
	peer_number(table, m->device);
	peer_number(table, m->self_device);
	peer_number(table, mean);
	for (int64_t c = h->functions.at[module].first; c != NONE && depth < DEEPEST;
	     c = h->functions.at[c].next)
		put(v, table, h, s, c, depth + 1);
}

static void put_roots(const struct plugin_view *v, struct peer_table *table,
		      const struct hierarchy *h, const struct totals *s)
{
	VEC(struct root) roots = { 0 };
	struct strtab forms = { 0 };
	struct text form = { 0 };
	for (size_t i = 0; i < h->modules.n; i++) {
		int64_t module = h->modules.at[i];
		if (h->functions.at[module].parent != NONE)
			continue;
		size_t known = forms.texts.n;
		form.bytes.n = 0;
		describe(h, module, &form, 0);
		vec_push(&form.bytes, 0);
		strtab_intern(&forms, form.bytes.at);
		if (forms.texts.n > known)
			vec_push(&roots,
				 (struct root){ module,
						short_name(v->trace, h->functions.at[module].row),
						known });
	}
	if (roots.n)
		qsort(roots.at, roots.n, sizeof(*roots.at), by_name);
	for (size_t i = 0; i < roots.n; i++)
		put(v, table, h, s, roots.at[i].module, 0);
	vec_free(&roots);
	vec_free(&form.bytes);
	strtab_free(&forms);
}

void plugin_add_modules(const struct plugin_view *v)
{
	static const char *const columns[] = { "worker",
					       "level",
					       "name",
					       "id",
					       "occurrences",
					       "operators",
					       "host_total_duration",
					       "host_self_duration",
					       "device_total_duration",
					       "device_self_duration",
					       "avg_duration" };
	struct peer_table *table = PLUGIN_TABLE(v, "modules", columns);
	struct hierarchy h = { 0 };
	struct totals s = { 0 };
	read_events(&h, v->trace);
	find_parents(&h);
	sum_up(&s, v->trace);
	put_roots(v, table, &h, &s);
	map_free(&h.of_id);
	vec_free(&h.functions);
	vec_free(&h.modules);
	map_free(&s.of_module);
	vec_free(&s.at);
}
