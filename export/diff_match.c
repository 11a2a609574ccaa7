/*
 * Finds the rows of two runs that belong together. See diff.h.
 *
 * Rows with the same name and without a place belong together. So do lines of one file and function
 * that have the same text, if the text is known in both runs: lines move when code above them
 * changes. Equal texts are paired in the order of their lines if both runs have equally many.
 * Otherwise it isn't known which became which, and they are compared as one row. If the text of a
 * file is not known in both runs, lines with the same number belong together.
 */
#include "export/diff.h"

#include "core/util/map.h"
#include "core/util/strtab.h"
#include "export/report_words.h"

enum { KEY_BYTES = 4096 };

struct matching {
	const diff_items *items; /* of both sides */
	const char *const *cwd;
	struct strtab texts; /* files and keys */
	struct map sides;    /* file -> bit of each side that has it */
	struct map has_text; /* file -> bit of each side that knows a text of it */
	struct map alias;    /* file of B -> the same file of A */
	struct map place;    /* key -> index in groups */
	VEC(struct diff_match) groups;
};

/* ---- Files ---- */

static uint32_t file_id(struct matching *m, int side, const struct diff_item *item)
{
	uint32_t id = strtab_intern(&m->texts, report_short_path(item->place.file, m->cwd[side]));
	const uint64_t *same = side == DIFF_B ? map_find(&m->alias, id) : NULL;
	return same ? (uint32_t)*same : id;
}

/* Returns whether two paths may be of the same file: the shorter one is the end of the other, or
 * both end with the same folder and name. */
static bool is_same_end(const char *a, const char *b)
{
	size_t i = strlen(a), k = strlen(b);
	unsigned n_slashes = 0;
	while (i && k && a[i - 1] == b[k - 1]) {
		i--;
		k--;
		n_slashes += a[i] == '/';
	}
	if (!i || !k)
		return (!i || a[i - 1] == '/') && (!k || b[k - 1] == '/');
	return n_slashes >= 2;
}

/* Returns the only file of `side` alone that may be the same; 0: none, or several. */
static uint32_t only_same(const struct matching *m, uint32_t file, unsigned side)
{
	const char *path = strtab_text(&m->texts, file);
	uint32_t found = 0;
	for (uint32_t i = 1; i < m->texts.texts.n; i++) {
		const uint64_t *sides = map_find(&m->sides, i);
		if (!sides || *sides != 1u << side || !is_same_end(path, strtab_text(&m->texts, i)))
			continue;
		if (found)
			return 0;
		found = i;
	}
	return found;
}

static void find_files(struct matching *m)
{
	for (int side = 0; side < DIFF_SIDES; side++)
		for (size_t i = 0; i < m->items[side].n; i++)
			if (*m->items[side].at[i].place.file)
				*map_at(&m->sides, file_id(m, side, &m->items[side].at[i]), NULL) |=
					1u << side;
	for (uint32_t i = 1; i < m->texts.texts.n; i++) {
		const uint64_t *sides = map_find(&m->sides, i);
		uint32_t same = sides && *sides == 1u << DIFF_B ? only_same(m, i, DIFF_A) : 0;
		if (same && only_same(m, same, DIFF_B) == i)
			*map_at(&m->alias, i, NULL) = same;
	}
	for (int side = 0; side < DIFF_SIDES; side++)
		for (size_t i = 0; i < m->items[side].n; i++)
			if (*m->items[side].at[i].source)
				*map_at(&m->has_text, file_id(m, side, &m->items[side].at[i]),
					NULL) |= 1u << side;
}

/* ---- Rows ---- */

/* Returns the function without its class: tools name it with the class or without. */
static const char *short_function(const char *function)
{
	const char *dot = strrchr(function, '.');
	return dot && dot[1] ? dot + 1 : function;
}

static void write_key(struct matching *m, char *key, int side, const struct diff_item *item)
{
	const char *function = short_function(item->place.function);
	if (!*item->place.file) {
		snprintf(key, KEY_BYTES, "%s\x1f%s", item->name, item->place.function);
		return;
	}
	uint32_t file = file_id(m, side, item);
	const uint64_t *known = map_find(&m->has_text, file);
	bool by_text = *item->source && known && *known == ((1u << DIFF_SIDES) - 1);
	size_t used =
		(size_t)snprintf(key, KEY_BYTES, "%s\x1f%u\x1f%s\x1f", item->name, file, function);
	if (used >= KEY_BYTES)
		return;
	if (by_text)
		snprintf(key + used, KEY_BYTES - used, "=%s", item->source);
	else
		snprintf(key + used, KEY_BYTES - used, "%lld", (long long)item->place.line);
}

static struct diff_match *group_of(struct matching *m, int side, const struct diff_item *item)
{
	char key[KEY_BYTES];
	bool is_new;
	write_key(m, key, side, item);
	uint64_t *at = map_at(&m->place, strtab_intern(&m->texts, key), &is_new);
	if (is_new) {
		*at = m->groups.n;
		vec_push(&m->groups, (struct diff_match){ 0 });
	}
	return &m->groups.at[*at];
}

/* Inserts by the number of the line. */
static void insert(struct diff_match *g, int side, size_t index, const diff_items *items)
{
	vec_push(&g->of[side], index);
	size_t *all = g->of[side].at, k = g->of[side].n - 1;
	for (; k && items->at[all[k - 1]].place.line > items->at[index].place.line; k--)
		all[k] = all[k - 1];
	all[k] = index;
}

static void add_pair(struct diff_matches *m, const struct diff_match *g, size_t i)
{
	struct diff_match pair = { 0 };
	for (int side = 0; side < DIFF_SIDES; side++)
		if (g->of[side].n)
			vec_push(&pair.of[side], g->of[side].at[i]);
	vec_push(&m->at, pair);
}

/* Splits a group into pairs. Rows of one side alone are new or gone, each of them. Takes the
 * group. */
static void split(struct diff_matches *m, struct diff_match *g)
{
	size_t n_a = g->of[DIFF_A].n, n_b = g->of[DIFF_B].n;
	if (n_a && n_b && n_a != n_b) {
		vec_push(&m->at, *g);
		return;
	}
	for (size_t i = 0; i < (n_a ? n_a : n_b); i++)
		add_pair(m, g, i);
	for (int side = 0; side < DIFF_SIDES; side++)
		vec_free(&g->of[side]);
}

void diff_match(struct diff_matches *m, const diff_items items[DIFF_SIDES],
		const char *const cwd[DIFF_SIDES])
{
	struct matching x = { .items = items, .cwd = cwd };
	find_files(&x);
	for (int side = 0; side < DIFF_SIDES; side++)
		for (size_t i = 0; i < items[side].n; i++)
			insert(group_of(&x, side, &items[side].at[i]), side, i, &items[side]);
	for (size_t i = 0; i < x.groups.n; i++)
		split(m, &x.groups.at[i]);
	vec_free(&x.groups);
	strtab_free(&x.texts);
	map_free(&x.sides);
	map_free(&x.has_text);
	map_free(&x.alias);
	map_free(&x.place);
}

void diff_matches_free(struct diff_matches *m)
{
	for (size_t i = 0; i < m->at.n; i++)
		for (int side = 0; side < DIFF_SIDES; side++)
			vec_free(&m->at.at[i].of[side]);
	vec_free(&m->at);
}
