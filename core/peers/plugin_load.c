/* Reads a trace as the plugin does: trace.py, data.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>
#include <strings.h>

static bool is_one_of(const char *text, const char *const *list)
{
	for (; *list; list++)
		if (!strcmp(text, *list))
			return true;
	return false;
}

bool plugin_is_nccl(const char *name)
{
	static const char *const names[] = { "nccl:broadcast",	    "nccl:reduce",
					     "nccl:all_reduce",	    "nccl:all_gather",
					     "nccl:reduce_scatter", NULL };
	return is_one_of(name, names);
}

bool plugin_is_gloo(const char *name)
{
	static const char *const names[] = { "gloo:broadcast",	    "gloo:reduce",
					     "gloo:all_reduce",	    "gloo:all_gather",
					     "gloo:reduce_scatter", NULL };
	return is_one_of(name, names);
}

bool plugin_is_loader(const char *name)
{
	static const char loader[] = "enumerate(DataLoader)#", pipe[] = "enumerate(DataPipe)#",
			  next[] = ".__next__";
	size_t n = strlen(name);
	if (!strncmp(name, pipe, sizeof(pipe) - 1))
		return true;
	return !strncmp(name, loader, sizeof(loader) - 1) && n >= sizeof(next) - 1 &&
	       !strcmp(name + n - (sizeof(next) - 1), next);
}

static uint8_t type_of(const struct plugin_trace *t, const struct peer_row *row)
{
	static const struct {
		const char *category;
		uint8_t type;
	} types[] = {
		{ "trace", PLUGIN_TRACE },
		{ "cpu_op", PLUGIN_OPERATOR },
		{ "operator", PLUGIN_OPERATOR },
		{ "runtime", PLUGIN_RUNTIME },
		{ "cuda_runtime", PLUGIN_RUNTIME },
		{ "mtia_runtime", PLUGIN_RUNTIME },
		{ "glow_runtime", PLUGIN_RUNTIME },
		{ "xpu_runtime", PLUGIN_RUNTIME },
		{ "privateuse1_runtime", PLUGIN_RUNTIME },
		{ "kernel", PLUGIN_KERNEL },
		{ "memcpy", PLUGIN_MEMCPY },
		{ "gpu_memcpy", PLUGIN_MEMCPY },
		{ "memset", PLUGIN_MEMSET },
		{ "gpu_memset", PLUGIN_MEMSET },
		{ "python", PLUGIN_PYTHON },
		{ "python_function", PLUGIN_FUNCTION },
		{ "user_annotation", PLUGIN_ANNOTATION },
		{ "gpu_user_annotation", PLUGIN_ANNOTATION },
	};
	const char *category = peer_text(&t->rows, row->category),
		   *name = peer_text(&t->rows, row->name);
	uint8_t type = PLUGIN_IGNORED;
	for (size_t i = 0; !type && i < sizeof(types) / sizeof(*types); i++)
		if (!strcasecmp(types[i].category, category))
			type = types[i].type;
	if ((type == PLUGIN_ANNOTATION || type == PLUGIN_OPERATOR) &&
	    !strncmp(name, "ProfilerStep#", 13))
		return PLUGIN_STEP;
	if (type == PLUGIN_OPERATOR && t->rows.is_lightning) {
		if (!strncmp(name, "[pl][profile]", 13))
			return PLUGIN_IGNORED; /* only in a view of its own */
		if (!strncmp(name, "[pl][module]", 12))
			return PLUGIN_LIGHTNING;
	}
	if (type == PLUGIN_FUNCTION && t->rows.is_lightning)
		return PLUGIN_IGNORED;
	if (type == PLUGIN_FUNCTION && row->module != PEER_NONE)
		return PLUGIN_MODULE;
	return type;
}

static int by_begin(const void *a, const void *b)
{
	const struct plugin_event *x = a, *y = b;
	if (x->row->ts < y->row->ts || x->row->ts > y->row->ts)
		return x->row->ts < y->row->ts ? -1 : 1;
	return (x->row->index > y->row->index) - (x->row->index < y->row->index);
}

int plugin_load(struct plugin_trace *t, const char *path, struct err *e)
{
	memset(t, 0, sizeof(*t));
	int error = peer_rows_read(&t->rows, path, e);
	for (size_t i = 0; i < t->rows.at.n; i++) {
		const struct peer_row *row = &t->rows.at.at[i];
		uint8_t type = row->phase == 'X' ? type_of(t, row) : PLUGIN_IGNORED;
		if (type)
			vec_push(&t->events, (struct plugin_event){ row, type });
	}
	if (t->events.n)
		qsort(t->events.at, t->events.n, sizeof(*t->events.at), by_begin);
	return error;
}

void plugin_free(struct plugin_trace *t)
{
	for (size_t i = 0; i < t->calls.n; i++)
		vec_free(&t->calls.at[i].works);
	for (size_t i = 0; i < t->nodes.n; i++)
		vec_free(&t->nodes.at[i].calls);
	for (size_t i = 0; i < t->threads.n; i++)
		vec_free(&t->threads.at[i].nodes);
	for (size_t i = 0; i < PLUGIN_ROLE_OTHER; i++)
		vec_free(&t->roles[i]);
	vec_free(&t->events);
	vec_free(&t->works);
	vec_free(&t->calls);
	vec_free(&t->nodes);
	vec_free(&t->threads);
	vec_free(&t->operators);
	vec_free(&t->kernels);
	vec_free(&t->steps);
	map_free(&t->communication);
	peer_rows_free(&t->rows);
}
