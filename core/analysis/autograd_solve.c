/*
 * The nodes of a pass are matched to a set of operators. Three sets are tried one after the other:
 * the operators since the previous pass, the operators that no earlier pass matched, and all
 * operators. The first set in which all nodes find a match is used.
 *
 * Some nodes have no operator of their kind, such as nodes of views, which launch nothing in the
 * forward pass. A node of this sort gets the line of its neighbours, if both neighbours have the
 * same line and the program did not leave that line between them.
 */
#include "core/analysis/autograd_map.h"
#include "core/analysis/autograd_match.h"

#include <string.h>

enum region { SINCE_LAST_PASS, NOT_TAKEN, ALL, REGIONS };

static void begin_kinds(struct autograd_map *t)
{
	vec_reserve(&t->is_wanted, t->kinds.texts.n);
	t->is_wanted.n = t->kinds.texts.n;
	memset(t->is_wanted.at, 0, t->is_wanted.n);
}

/*
 * Collects the pass's nodes whose kind occurs among the operators of this level: their indexes in
 * `match_nodes`, their kinds in `node_kinds`. Returns false if there are none, or if the pass's
 * nodes ran on several threads, because then their order proves nothing.
 */
static bool gather_nodes(struct autograd_map *t, const struct autograd_map_pass *pass,
			 uint32_t level)
{
	begin_kinds(t);
	for (size_t i = 0; i < t->ops.n; i++)
		if (t->ops.at[i].level == level - 1)
			t->is_wanted.at[t->ops.at[i].kind] = 1;
	t->match_nodes.n = t->node_kinds.n = 0;
	for (size_t i = 0; i < pass->nodes.n; i++) {
		const struct autograd_map_node *node = &t->nodes.at[pass->nodes.at[i]];
		if (node->thread != t->nodes.at[pass->nodes.at[0]].thread)
			return false;
		if (!node->kind || !t->is_wanted.at[node->kind])
			continue;
		vec_push(&t->match_nodes, pass->nodes.at[i]);
		vec_push(&t->node_kinds, node->kind);
	}
	return t->match_nodes.n > 0;
}

/* Collects the operators whose kind is in `node_kinds`. An operator inside another collected
 * operator is left out, because it runs below autograd and creates no node. */
static void gather_ops(struct autograd_map *t, size_t from, uint32_t level, enum region region)
{
	uint64_t end_ns = 0;
	begin_kinds(t);
	for (size_t i = 0; i < t->node_kinds.n; i++)
		t->is_wanted.at[t->node_kinds.at[i]] = 1;
	t->match_ops.n = t->op_kinds.n = 0;
	for (size_t i = region == SINCE_LAST_PASS ? from : 0; i < t->ops.n; i++) {
		const struct autograd_map_op *op = &t->ops.at[i];
		if (op->level != level - 1 || !t->is_wanted.at[op->kind] || op->begin_ns < end_ns)
			continue;
		end_ns = op->end_ns;
		if (region == NOT_TAKEN && op->is_taken)
			continue;
		vec_push(&t->match_ops, (uint32_t)i);
		vec_push(&t->op_kinds, op->kind);
	}
}

static bool match(struct autograd_map *t)
{
	vec_reserve(&t->latest, t->match_nodes.n);
	vec_reserve(&t->earliest, t->match_nodes.n);
	return autograd_match(t->node_kinds.at, t->node_kinds.n, t->op_kinds.at, t->op_kinds.n,
			      t->latest.at, t->earliest.at);
}

/*
 * Sets the line of the node's place if all operators that the node may match have the same line.
 * Sets the module in the same way. If only one operator is possible, links the node and the
 * operator.
 */
static void tie(struct autograd_map *t, size_t i)
{
	struct autograd_map_node *node = &t->nodes.at[t->match_nodes.at[i]];
	struct autograd_map_place place = t->ops.at[t->match_ops.at[t->latest.at[i]]].place;
	for (uint32_t k = t->earliest.at[i]; k < t->latest.at[i]; k++) {
		const struct autograd_map_op *op = &t->ops.at[t->match_ops.at[k]];
		if (op->kind != node->kind)
			continue;
		place.site = op->place.site == place.site ? place.site : 0;
		place.module = op->place.module == place.module ? place.module : 0;
	}
	node->place = place;
	if (t->earliest.at[i] != t->latest.at[i])
		return;
	node->op = t->match_ops.at[t->latest.at[i]];
	t->ops.at[node->op].is_taken = true;
}

/* ---- Nodes without an operator of their kind ---- */

static void note_first_seen(struct autograd_map *t, uint32_t level)
{
	map_free(&t->first_seen);
	for (size_t i = 0; i < t->ops.n; i++) {
		bool is_new;
		if (t->ops.at[i].level != level - 1)
			continue;
		uint64_t *at = map_at(&t->first_seen, t->ops.at[i].stack, &is_new);
		if (is_new)
			*at = i;
	}
}

/*
 * Returns true if the program went from the earlier operator to the later one without passing the
 * same place twice: the later operator's stack first occurred after the earlier operator's stack.
 */
static bool follows(const struct autograd_map *t, const struct autograd_map_op *later,
		    const struct autograd_map_op *earlier)
{
	return *map_find(&t->first_seen, later->stack) > *map_find(&t->first_seen, earlier->stack);
}

static void tie_view(const struct autograd_map *t, struct autograd_map_node *node,
		     const struct autograd_map_op *later, const struct autograd_map_op *earlier)
{
	if (later->place.site != earlier->place.site || !follows(t, later, earlier))
		return;
	node->place.site = later->place.site;
	if (later->place.module == earlier->place.module)
		node->place.module = later->place.module;
}

/* Returns true if the operator may broadcast its inputs. */
static bool broadcasts(const struct autograd_map *t, const struct autograd_map_op *op)
{
	static const char *const kinds[] = {
		"add",	      "sub",	 "rsub",    "mul",     "div",	 "pow",	  "where",
		"maximum",    "minimum", "addcmul", "addcdiv", "lerp",	 "atan2", "hypot",
		"maskedfill", "addmm",	 "baddbmm", "addmv",   "addbmm", "addr",
	};
	const char *kind = strtab_text(&t->kinds, op->kind);
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(kinds[i], kind))
			return true;
	return false;
}

/*
 * Sets the place of a reduction. A reduction belongs to the previous node, or to one of the next
 * nodes if these launched nothing. The operators of all these nodes lie from `first` to `later` in
 * `ops`. The place is set if the broadcasting operators among them have the same line.
 */
static void tie_reduction(const struct autograd_map *t, struct autograd_map_node *node,
			  size_t first, uint32_t later)
{
	struct autograd_map_place place = { 0 };
	for (size_t i = first; i <= later; i++) {
		const struct autograd_map_op *op = &t->ops.at[i];
		if (op->level != node->level - 1 || !broadcasts(t, op))
			continue;
		if (place.site && place.site != op->place.site)
			return;
		place.module = !place.site || place.module == op->place.module ? op->place.module
									       : 0;
		place.site = op->place.site;
	}
	node->place = place;
}

static void tie_between(struct autograd_map *t, const struct autograd_map_pass *pass)
{
	uint32_t later = AUTOGRAD_MAP_NO_OP;
	for (size_t i = 0; i < pass->nodes.n; i++) {
		struct autograd_map_node *node = &t->nodes.at[pass->nodes.at[i]];
		if (node->op != AUTOGRAD_MAP_NO_OP)
			later = node->op;
		if (node->op != AUTOGRAD_MAP_NO_OP || node->place.site ||
		    later == AUTOGRAD_MAP_NO_OP)
			continue;
		size_t next = i;
		while (next < pass->nodes.n &&
		       t->nodes.at[pass->nodes.at[next]].op == AUTOGRAD_MAP_NO_OP)
			next++;
		bool is_last = next == pass->nodes.n;
		uint32_t earlier = is_last ? 0 : t->nodes.at[pass->nodes.at[next]].op;
		if (node->is_reduction)
			tie_reduction(t, node, is_last ? pass->from : earlier + 1, later);
		else if (!is_last)
			tie_view(t, node, &t->ops.at[later], &t->ops.at[earlier]);
	}
}

void autograd_solve(struct autograd_map *t, uint32_t level)
{
	struct autograd_map_pass *pass = &t->passes[level - 1];
	if (pass->nodes.n && gather_nodes(t, pass, level)) {
		bool is_found = false;
		for (int region = 0; region < REGIONS && !is_found; region++) {
			gather_ops(t, pass->from, level, (enum region)region);
			is_found = match(t);
		}
		for (size_t i = 0; is_found && i < t->match_nodes.n; i++)
			tie(t, i);
		note_first_seen(t, level);
		tie_between(t, pass);
	}
	if (pass->nodes.n)
		pass->from = t->ops.n;
	pass->nodes.n = 0;
}
