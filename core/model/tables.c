/* See tables.h. */
#include "core/model/tables.h"

static const struct {
	const char *name;
	bool has_work;
} categories[CAT_COUNT + 1] = {
#define X(id, text, gpu) [CAT_##id] = { text, gpu },
	RECORD_CATEGORIES(X)
#undef X
		[CAT_COUNT] = { "other", false },
};

bool category_has_work(uint8_t category)
{
	return category < CAT_COUNT && categories[category].has_work;
}

const char *category_name(uint8_t category)
{
	return categories[category < CAT_COUNT ? category : CAT_COUNT].name;
}

void tables_free(struct tables *t)
{
	for (size_t i = 0; i < t->facts.n; i++) {
		free(t->facts.at[i].key);
		free(t->facts.at[i].value);
	}
	strtab_free(&t->names);
	vec_free(&t->facts);
	vec_free(&t->threads);
	map_free(&t->thread_of_slot);
	vec_free(&t->launches);
	map_free(&t->launch_of_token);
	vec_free(&t->kernels);
	vec_free(&t->devices);
}

static struct run_fact *find_fact(const struct tables *t, const char *key)
{
	for (size_t i = 0; i < t->facts.n; i++)
		if (!strcmp(t->facts.at[i].key, key))
			return &t->facts.at[i];
	return NULL;
}

void tables_set_fact(struct tables *t, const char *key, const char *value)
{
	struct run_fact *fact = find_fact(t, key);
	if (!fact) {
		vec_push(&t->facts, (struct run_fact){ mem_text(key), mem_text(value) });
		return;
	}
	free(fact->value);
	fact->value = mem_text(value);
}

const char *tables_fact(const struct tables *t, const char *key)
{
	const struct run_fact *fact = find_fact(t, key);
	return fact ? fact->value : NULL;
}

bool tables_fact_is(const struct tables *t, const char *key, const char *value)
{
	const char *found = tables_fact(t, key);
	return found && !strcmp(found, value);
}

const struct run_thread *tables_thread(const struct tables *t, uint32_t slot)
{
	const uint64_t *at = map_find(&t->thread_of_slot, slot);
	return at ? &t->threads.at[*at] : NULL;
}

const struct run_device *tables_device(const struct tables *t, uint32_t id)
{
	for (size_t i = 0; i < t->devices.n; i++)
		if (t->devices.at[i].id == id)
			return &t->devices.at[i];
	return NULL;
}
