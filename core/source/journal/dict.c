/*
 * See dict.h. Accepts dictionary records in any order. Shows a kernel without a name by its
 * address.
 */
#include "core/source/journal/dict.h"

#include "core/source/journal/reader.h"
#include "core/util/demangle.h"
#include "core/util/kernel_name.h"

#include <ctype.h>
#include <stdio.h>
#include <strings.h>

static bool contains_word(const char *text, const char *word)
{
	return strcasestr(text, word) != NULL;
}

static void add_info(struct dict *d, const struct dict_head *record)
{
	const char *key = reader_dictionary_text(record, sizeof(*record));
	const char *value = key ? reader_dictionary_text(record, sizeof(*record) + strlen(key) + 1)
				: NULL;
	if (!value) {
		d->n_damaged++;
		return;
	}
	tables_set_fact(&d->t, key, value); /* a later value replaces an earlier one */
}

/* Returns the public name of a function. Stubs of CUDA 13 launch through __cudaLaunchKernel. */
static const char *public_name(const char *name)
{
	return strncmp(name, "__cuda", strlen("__cuda")) ? name : name + strlen("__");
}

static void add_hook(struct dict *d, const struct dict_hook *h)
{
	const char *name = reader_dictionary_text(&h->head, offsetof(struct dict_hook, name));
	if (!name) {
		d->n_damaged++;
		return;
	}
	d->t.entry_point_names[ENTRY_POINT_RUNTIME] = strtab_intern(&d->t.names, "runtime");
	d->t.entry_point_names[ENTRY_POINT_DRIVER] = strtab_intern(&d->t.names, "driver");
	while (d->hooks.n <= h->id)
		vec_push(&d->hooks, (struct hook_entry){ .category = CAT_COUNT });
	d->hooks.at[h->id] = (struct hook_entry){
		.name = strtab_intern(&d->t.names, public_name(name)),
		.category = h->category < CAT_COUNT ? h->category : (uint8_t)CAT_COUNT,
		.entry_point = h->entry_point == ENTRY_POINT_DRIVER ? ENTRY_POINT_DRIVER
								    : ENTRY_POINT_RUNTIME,
		.space = h->space,
		.is_known = true,
		.begins_capture = contains_word(name, "BeginCapture"),
		.ends_capture = contains_word(name, "EndCapture"),
		.resets_device = contains_word(name, "DeviceReset") ||
				 contains_word(name, "CtxReset"),
	};
}

static void add_library(struct dict *d, const struct dict_library *l)
{
	const char *name = reader_dictionary_text(&l->head, offsetof(struct dict_library, name));
	if (!name || l->family >= LIBRARIES || l->facts >= FACTS_KINDS) {
		d->n_damaged++;
		return;
	}
	vec_at_id(&d->libraries, l->id);
	d->libraries.at[l->id] = (struct library_entry){
		.name = strtab_intern(&d->t.names, name),
		.family = l->family,
		.facts = l->facts,
		.is_known = true,
	};
}

static void add_thread(struct dict *d, const struct dict_thread *t)
{
	struct run_thread entry = { .slot = t->slot, .tid = t->tid, .handle = t->handle };
	bool is_new;
	memcpy(entry.name, t->name, sizeof(entry.name) - 1);
	uint64_t *at = map_at(&d->t.thread_of_slot, t->slot, &is_new);
	if (is_new)
		*at = d->t.threads.n;
	vec_push(&d->t.threads, entry);
}

static void add_string(struct dict *d, const struct dict_string *s)
{
	const char *text = reader_dictionary_text(&s->head, offsetof(struct dict_string, text));
	if (!text || s->id >= DICT_IDS_MOST) {
		d->n_damaged++;
		return;
	}
	char *readable = demangle(text);
	vec_at_id(&d->strings, s->id);
	d->strings.at[s->id] = strtab_intern(&d->t.names, readable);
	free(readable);
}

static void add_launch(struct dict *d, const struct dict_launch *l)
{
	struct run_launch entry = {
		.token = l->token,
		.function = l->function,
		.name = dict_string(d, l->name),
		.shared_bytes = l->shared_bytes,
	};
	entry.is_named = entry.name != 0;
	if (!entry.is_named) {
		char text[40];
		snprintf(text, sizeof(text), "kernel 0x%llx", (unsigned long long)l->function);
		entry.name = strtab_intern(&d->t.names, text);
	}
	memcpy(entry.grid, l->grid, sizeof(entry.grid));
	memcpy(entry.block, l->block, sizeof(entry.block));
	entry.is_optimizer = kernel_is_optimizers(strtab_text(&d->t.names, entry.name));
	bool is_new;
	uint64_t *at = map_at(&d->t.launch_of_token, l->token, &is_new);
	if (!is_new) {
		d->t.launches.at[*at] = entry;
		return;
	}
	*at = d->t.launches.n;
	vec_push(&d->t.launches, entry);
}

static void add_kernel(struct dict *d, const struct dict_kernel *k)
{
	if (k->id >= DICT_IDS_MOST) {
		d->n_damaged++;
		return;
	}
	vec_at_id(&d->t.kernels, k->id);
	struct run_kernel *entry = &d->t.kernels.at[k->id];
	*entry = (struct run_kernel){
		.name = dict_string(d, k->name),
		.registers = k->registers,
		.static_shared_bytes = k->static_shared_bytes,
		.dynamic_shared_bytes = k->dynamic_shared_bytes,
		.local_bytes_per_thread = k->local_bytes_per_thread,
		.is_known = true,
	};
	memcpy(entry->block, k->block, sizeof(entry->block));
}

static void add_device(struct dict *d, const struct dict_device *device)
{
	struct run_device to = {
		.id = device->id,
		.multiprocessors = device->multiprocessors,
		.compute_major = device->compute_major,
		.compute_minor = device->compute_minor,
		.memory_bytes = device->memory_bytes,
	};
	_Static_assert(sizeof(to.name) == sizeof(device->name), "copied whole");
	memcpy(to.name, device->name, sizeof(to.name) - 1);
	vec_push(&d->t.devices, to);
}

void dict_add(struct dict *d, const struct dict_head *record)
{
	switch (record->kind) {
	case DICT_INFO:
		add_info(d, record);
		break;
	case DICT_HOOK:
		add_hook(d, (const struct dict_hook *)record);
		break;
	case DICT_THREAD:
		add_thread(d, (const struct dict_thread *)record);
		break;
	case DICT_STRING:
		add_string(d, (const struct dict_string *)record);
		break;
	case DICT_LAUNCH:
		add_launch(d, (const struct dict_launch *)record);
		break;
	case DICT_KERNEL:
		add_kernel(d, (const struct dict_kernel *)record);
		break;
	case DICT_DEVICE:
		add_device(d, (const struct dict_device *)record);
		break;
	case DICT_MODULE:
		dict_add_module(d, (const struct dict_module *)record);
		break;
	case DICT_CODE:
		dict_add_code(d, (const struct dict_code *)record);
		break;
	case DICT_STACK:
		dict_add_stack(d, (const struct dict_stack *)record);
		break;
	case DICT_LIBRARY:
		add_library(d, (const struct dict_library *)record);
		break;
	default: /* from a newer version */
		break;
	}
}

void dict_free(struct dict *d)
{
	tables_free(&d->t);
	vec_free(&d->hooks);
	vec_free(&d->strings);
	vec_free(&d->libraries);
	vec_free(&d->modules);
	vec_free(&d->codes);
	vec_free(&d->tables);
	vec_free(&d->stacks);
	vec_free(&d->stack_frames);
	map_free(&d->stack_of_id);
}

bool dict_waits_for_work(const struct dict *d, uint16_t hook)
{
	if (dict_category(d, hook) != CAT_SYNC)
		return false;
	const char *name = strtab_text(&d->t.names, d->hooks.at[hook].name);
	return strstr(name, "Synchronize") && !strstr(name, "Event");
}
