/* Reads the rows that are compared from the reports. See diff.h. */
#include "export/diff.h"

#include "core/util/map.h"
#include "core/util/strtab.h"
#include "export/report_words.h"

#include <math.h>

const struct diff_kind diff_kinds[DIFF_LISTS_N] = {
#define X(id, field_, title_, measures_, flags_) \
	[DIFF_##id] = {                          \
		.field = (field_),               \
		.title = (title_),               \
		.measures = (measures_),         \
		.flags = (flags_),               \
	},
	DIFF_LISTS(X)
#undef X
};

/* ---- One row of each list ---- */

static struct diff_item read_idle(const struct report_idle *from)
{
	return (struct diff_item){ .name = from->cause, .ms = { [DIFF_IDLE_MS] = from->ms } };
}

static struct diff_item read_kernel(const struct report_kernel *from)
{
	return (struct diff_item){ .name = from->name,
				   .per_step = from->per_step,
				   .ms = { [DIFF_GPU_MS] = from->gpu_ms } };
}

static struct diff_item read_copy(const struct report_copy *from, struct strtab *texts)
{
	char name[200];
	double ms = from->gb_per_s > 0 ? from->bytes / from->gb_per_s / 1e6 : 0;
	snprintf(name, sizeof(name), "%.40s (%.100s)", from->kind, from->memory);
	return (struct diff_item){ .name = strtab_text(texts, strtab_intern(texts, name)),
				   .place = from->place,
				   .per_step = from->per_step,
				   .bytes = from->bytes,
				   .ms = { [DIFF_GPU_MS] = ms } };
}

static struct diff_item read_collective(const struct report_collective *from)
{
	return (struct diff_item){ .name = from->name,
				   .place = from->place,
				   .per_step = from->per_step,
				   .bytes = from->bytes,
				   .ms = { [DIFF_GPU_MS] = from->gpu_ms } };
}

static struct diff_item read_sync(const struct report_sync *from)
{
	return (struct diff_item){ .name = from->api,
				   .place = from->place,
				   .per_step = from->per_step,
				   .ms = { [DIFF_HOST_MS] = from->blocked_ms } };
}

static struct diff_item read_host(const struct report_host *from)
{
	bool has_place = *from->place.file || *from->place.function;
	return (struct diff_item){ .name = has_place ? "" : "(line unknown)",
				   .place = from->place,
				   .ms = { [DIFF_HOST_MS] = from->self_ms } };
}

static struct diff_item read_line(const struct report_line *from)
{
	return (struct diff_item){ .name = "",
				   .place = from->place,
				   .per_step = from->launches,
				   .ms = { from->gpu_ms, from->host_ms } };
}

static struct diff_item read_operator(const struct report_operator *from)
{
	return (struct diff_item){ .name = from->name,
				   .per_step = from->per_step,
				   .ms = { from->self_gpu_ms, from->self_host_ms } };
}

static struct diff_item read_module(const struct report_module *from)
{
	return (struct diff_item){ .name = from->name,
				   .per_step = from->per_step,
				   .ms = { from->gpu_ms + report_or_zero(from->backward_gpu_ms),
					   from->host_ms } };
}

static struct diff_item read_phase(const struct report_phase *from)
{
	return (struct diff_item){ .name = from->name, .ms = { from->gpu_ms, from->host_ms } };
}

static struct diff_item read_call(const struct report_call *from)
{
	return (struct diff_item){ .name = from->name,
				   .per_step = from->per_step,
				   .ms = { [DIFF_HOST_MS] = from->host_ms } };
}

/* ---- The mean of several processes ---- */

struct reading {
	diff_items *to;
	const struct diff_side *side;
	bool has_places;
	struct strtab keys;
	struct map place; /* id of the key -> index in `to` */
};

static void add(struct reading *r, struct diff_item item)
{
	char key[4096];
	bool is_new;
	double n = (double)r->side->compared.n;
	if (!item.place.file || (!r->has_places && *item.name))
		item.place = (struct report_place){ "", -1, "" };
	snprintf(key, sizeof(key), "%s\x1f%s\x1f%lld\x1f%s", item.name, item.place.file,
		 (long long)item.place.line, item.place.function);
	uint64_t *at = map_at(&r->place, strtab_intern(&r->keys, key), &is_new);
	if (is_new) {
		*at = r->to->n;
		vec_push(r->to, item);
		struct diff_item *new = &r->to->at[*at];
		new->per_step = new->bytes = 0;
		memset(new->ms, 0, sizeof(new->ms));
		new->source = diff_text_of_line(r->side, &new->place);
	}
	struct diff_item *sum = &r->to->at[*at];
	sum->per_step += item.per_step / n;
	sum->bytes += item.bytes / n;
	for (int i = 0; i < DIFF_MEASURES; i++)
		sum->ms[i] += report_or_zero(item.ms[i]) / n;
}

#define READ(list, call)                       \
	for (size_t i = 0; i < p->list.n; i++) \
		add(r, call(&p->list.at[i]));  \
	break

static void read_process(struct reading *r, const struct report_process *p, enum diff_list_id list,
			 struct strtab *texts)
{
	switch (list) {
	case DIFF_IDLE:
		READ(idle, read_idle);
	case DIFF_KERNELS:
		READ(kernels, read_kernel);
	case DIFF_COPIES:
		for (size_t i = 0; i < p->copies.n; i++)
			add(r, read_copy(&p->copies.at[i], texts));
		break;
	case DIFF_COLLECTIVES:
		READ(collectives, read_collective);
	case DIFF_SYNCS:
		READ(syncs, read_sync);
	case DIFF_HOST:
		READ(host, read_host);
	case DIFF_LINES:
		READ(lines, read_line);
	case DIFF_OPERATORS:
		READ(operators, read_operator);
	case DIFF_MODULES:
		READ(modules, read_module);
	case DIFF_PHASES:
		READ(phases, read_phase);
	case DIFF_CALLS:
		READ(calls, read_call);
	case DIFF_LISTS_N:
		break;
	}
}

void diff_items_read(diff_items *to, const struct diff_side *s, enum diff_list_id list,
		     bool has_places, struct strtab *texts)
{
	struct reading r = { .to = to, .side = s, .has_places = has_places };
	for (size_t i = 0; i < s->compared.n; i++)
		read_process(&r, s->compared.at[i], list, texts);
	strtab_free(&r.keys);
	map_free(&r.place);
}
