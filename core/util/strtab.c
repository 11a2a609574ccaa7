/* A hash table with open addressing, which contains the ids of the texts. Texts never move in
 * memory, so pointers from strtab_text() stay valid. */
#include "core/util/strtab.h"

static uint64_t hash(const char *text)
{
	uint64_t h = 0xcbf29ce484222325ull;
	for (; *text; text++)
		h = (h ^ (uint8_t)*text) * 0x100000001b3ull;
	return h ^ h >> 29;
}

/* Stores the id in the first unused slot from its hash on. */
static void place(struct strtab *t, uint32_t id)
{
	size_t i = hash(t->texts.at[id]) & (t->room - 1);
	while (t->slots[i])
		i = (i + 1) & (t->room - 1);
	t->slots[i] = id + 1;
}

static uint32_t add(struct strtab *t, const char *text)
{
	vec_push(&t->texts, mem_text(text));
	if (t->texts.n * 2 > t->room) {
		t->room = t->room ? t->room * 2 : 64;
		free(t->slots);
		t->slots = mem_zero(t->room * sizeof(*t->slots));
		for (uint32_t id = 0; id < t->texts.n; id++)
			place(t, id);
	} else {
		place(t, (uint32_t)t->texts.n - 1);
	}
	return (uint32_t)t->texts.n - 1;
}

uint32_t strtab_intern(struct strtab *t, const char *text)
{
	if (!t->texts.n)
		add(t, "");
	for (size_t i = hash(text) & (t->room - 1); t->slots[i]; i = (i + 1) & (t->room - 1))
		if (!strcmp(t->texts.at[t->slots[i] - 1], text))
			return t->slots[i] - 1;
	return add(t, text);
}

const char *strtab_text(const struct strtab *t, uint32_t id)
{
	return id < t->texts.n ? t->texts.at[id] : "";
}

void strtab_free(struct strtab *t)
{
	for (size_t i = 0; i < t->texts.n; i++)
		free(t->texts.at[i]);
	vec_free(&t->texts);
	free(t->slots);
	*t = (struct strtab){ 0 };
}
