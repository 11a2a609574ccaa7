/* Kernels by name, and by name and operator: kernel_parser.py, op_agg.py. */
#include "core/peers/plugin_parts.h"

#include "core/peers/numpy.h"

#include <string.h>

struct timed {
	const struct peer_row *row;
	const char *name;
	size_t number;
};

/* By name, and in each group by time. */
static int by_name(const void *a, const void *b)
{
	const struct timed *x = a, *y = b;
	int names = strcmp(x->name, y->name);
	return names ? names : (x->number > y->number) - (x->number < y->number);
}

struct kernel {
	const char *name;
	double n, sum, most, least, blocks, occupancy;
};
typedef VEC(struct kernel) kernels;
typedef VEC(double) doubles;

/* numpy.average(): NAN counts as 0. */
static double weighted(const doubles *values, const doubles *weights)
{
	double *products = mem_resize(NULL, values->n * sizeof(*products)),
	       sum = numpy_sum(weights->at, weights->n);
	for (size_t i = 0; i < values->n; i++)
		products[i] = (isnan(values->at[i]) ? 0 : values->at[i]) * weights->at[i];
	double all = numpy_sum(products, values->n);
	free(products);
	return sum == 0 ? 0 : all / sum;
}

static struct kernel sum_up(const struct timed *at, size_t n)
{
	struct kernel k = { .name = at->name, .most = -INFINITY, .least = INFINITY };
	doubles durations = { 0 }, blocks = { 0 }, occupancies = { 0 };
	for (size_t i = 0; i < n; i++) {
		const struct peer_row *row = at[i].row;
		k.n++;
		k.sum += row->duration;
		k.most = fmax(k.most, row->duration);
		k.least = fmin(k.least, row->duration);
		vec_push(&durations, row->duration);
		vec_push(&blocks, row->blocks_per_sm);
		vec_push(&occupancies, row->occupancy);
	}
	k.blocks = weighted(&blocks, &durations);
	k.occupancy = weighted(&occupancies, &durations);
	vec_free(&durations);
	vec_free(&blocks);
	vec_free(&occupancies);
	return k;
}

static kernels collect(const struct plugin_trace *t)
{
	VEC(struct timed) all = { 0 };
	kernels found = { 0 };
	for (size_t i = 0; i < t->events.n; i++) {
		const struct plugin_event *e = &t->events.at[i];
		if (e->type == PLUGIN_KERNEL)
			vec_push(&all, (struct timed){ e->row, plugin_name(t, e->row), i });
	}
	if (all.n)
		qsort(all.at, all.n, sizeof(*all.at), by_name);
	for (size_t i = 0, end; i < all.n; i = end) {
		for (end = i; end < all.n && !strcmp(all.at[end].name, all.at[i].name);)
			end++;
		vec_push(&found, sum_up(&all.at[i], end - i));
	}
	vec_free(&all);
	return found;
}

double plugin_used_ratio(const struct plugin_trace *t)
{
	kernels list = collect(t);
	double all = 0, used = 0;
	for (size_t i = 0; i < list.n; i++) {
		all += list.at[i].sum;
		used += plugin_uses_tensor_cores(list.at[i].name) ? list.at[i].sum : 0;
	}
	double ratio = !list.n ? NAN : all > 0 ? used / all : 0;
	vec_free(&list);
	return ratio;
}

static void find_arguments(const struct plugin_trace *t, bool *has_blocks, bool *has_occupancy)
{
	*has_blocks = *has_occupancy = false;
	for (size_t i = 0; i < t->events.n; i++) {
		const struct peer_row *row = t->events.at[i].row;
		if (t->events.at[i].type != PLUGIN_KERNEL || row->device == PEER_NONE)
			continue;
		*has_blocks |= row->blocks_per_sm > 0;
		*has_occupancy |= row->occupancy >= 0;
	}
}

static void add_by_name(const struct plugin_view *v, bool has_blocks, bool has_occupancy)
{
	static const char *const columns[] = { "worker",       "name",	   "tensor_cores",
					       "calls",	       "sum (us)", "mean (us)",
					       "max (us)",     "min (us)", "blocks_per_sm",
					       "occupancy_pct" };
	struct peer_table *table = PLUGIN_TABLE(v, "kernels", columns);
	kernels list = collect(v->trace);
	double *sums = mem_resize(NULL, list.n * sizeof(*sums));
	size_t *order = mem_resize(NULL, list.n * sizeof(*order));
	for (size_t i = 0; i < list.n; i++)
		sums[i] = list.at[i].sum;
	numpy_argsort_descending(order, sums, list.n);
	for (size_t i = 0; i < list.n; i++) {
		const struct kernel *k = &list.at[order[i]];
		peer_number(table, v->worker);
		peer_word(v->to, table, k->name);
		peer_word(v->to, table, plugin_uses_tensor_cores(k->name) ? "Yes" : "No");
		peer_number(table, k->n);
		peer_number(table, plugin_round(k->sum, 0));
		peer_number(table, plugin_round(k->sum / k->n, 0));
		peer_number(table, plugin_round(k->most, 0));
		peer_number(table, plugin_round(k->least, 0));
		peer_number(table, has_blocks ? plugin_round(k->blocks, 2) : NAN);
		peer_number(table, has_occupancy ? plugin_round(k->occupancy, 2) : NAN);
	}
	free(sums);
	free(order);
	vec_free(&list);
}

/* ---- By operator ---- */

struct launched {
	const struct plugin_work *first;
	double n, sum, most, least, blocks, occupancy;
	size_t number;
};

static int by_sum(const void *a, const void *b)
{
	const struct launched *x = a, *y = b;
	if (x->sum < y->sum || x->sum > y->sum)
		return x->sum > y->sum ? -1 : 1;
	return (x->number > y->number) - (x->number < y->number);
}

static double or_zero(double value)
{
	return isnan(value) ? 0 : value;
}

/* Returns a text that is the same for kernels that are one row. */
static uint32_t key_of(struct strtab *keys, const struct plugin_work *w)
{
	char key[120];
	snprintf(key, sizeof(key), "%u %u %u %u %u %u", w->row->name, w->operator_name,
		 w->row->grid, w->row->block, w->row->registers, w->row->shared);
	return strtab_intern(keys, key);
}

static const char *or_else(const struct plugin_trace *t, uint32_t text, const char *other)
{
	const char *found = peer_text(&t->rows, text);
	return *found ? found : other;
}

static void put_launched(const struct plugin_view *v, struct peer_table *table,
			 const struct launched *l, bool has_blocks, bool has_occupancy)
{
	const struct plugin_trace *t = v->trace;
	const struct peer_row *row = l->first->row;
	peer_number(table, v->worker);
	peer_word(v->to, table, plugin_name(t, row));
	peer_word(v->to, table, or_else(t, l->first->operator_name, "N/A"));
	peer_word(v->to, table, or_else(t, row->grid, "None"));
	peer_word(v->to, table, or_else(t, row->block, "None"));
	peer_word(v->to, table, or_else(t, row->registers, "0"));
	peer_word(v->to, table, or_else(t, row->shared, "0"));
	peer_word(v->to, table, l->first->has_tensor_cores ? "Yes" : "No");
	peer_word(v->to, table, l->first->is_eligible ? "Yes" : "No");
	peer_number(table, l->n);
	peer_number(table, l->sum);
	peer_number(table, plugin_round(l->sum / l->n, 0));
	peer_number(table, l->most);
	peer_number(table, l->least);
	peer_number(table, has_blocks ? plugin_round(l->sum > 0 ? l->blocks / l->sum : 0, 2) : NAN);
	peer_number(table,
		    has_occupancy ? plugin_round(l->sum > 0 ? l->occupancy / l->sum : 0, 2) : NAN);
}

static void add_by_operator(const struct plugin_view *v, bool has_blocks, bool has_occupancy)
{
	static const char *const columns[] = {
		"worker",	 "name",	 "operator",
		"grid",		 "block",	 "registers_per_thread",
		"shared_memory", "tensor_cores", "operator_eligible",
		"calls",	 "sum (us)",	 "mean (us)",
		"max (us)",	 "min (us)",	 "blocks_per_sm",
		"occupancy_pct"
	};
	struct peer_table *table = PLUGIN_TABLE(v, "kernels_by_operator", columns);
	const struct plugin_trace *t = v->trace;
	struct strtab keys = { 0 };
	VEC(struct launched) rows = { 0 };
	for (size_t i = 0; i < t->kernels.n; i++) {
		const struct plugin_work *w = &t->works.at[t->kernels.at[i]];
		double us = plugin_end(w->row) - w->row->ts;
		uint32_t key = key_of(&keys, w);
		if (!key) /* the empty text; a key has numbers */
			continue;
		if (key > rows.n)
			vec_push(&rows, (struct launched){
						.first = w, .least = PLUGIN_NEVER, .number = key });
		struct launched *l = &rows.at[key - 1];
		l->n++;
		l->sum += us;
		l->most = fmax(l->most, us);
		l->least = fmin(l->least, us);
		l->blocks += or_zero(w->row->blocks_per_sm) * us;
		l->occupancy += or_zero(w->row->occupancy) * us;
	}
	if (rows.n)
		qsort(rows.at, rows.n, sizeof(*rows.at), by_sum);
	for (size_t i = 0; i < rows.n; i++)
		put_launched(v, table, &rows.at[i], has_blocks, has_occupancy);
	vec_free(&rows);
	strtab_free(&keys);
}

void plugin_add_kernels(const struct plugin_view *v)
{
	bool has_blocks, has_occupancy;
	find_arguments(v->trace, &has_blocks, &has_occupancy);
	add_by_name(v, has_blocks, has_occupancy);
	add_by_operator(v, has_blocks, has_occupancy);
}
