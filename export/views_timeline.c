/* See views_timeline.h. */
#include "export/views_timeline.h"

#include "core/util/text.h"
#include "export/kernel_words.h"
#include "export/report_json.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	SLICES_MOST = 12000, /* about 300 KB of JSON */
	BINS = 4096,
	DETAIL_BYTES = 1500,
	NAME_BYTES = 400,
};

/* ---- How much of the step fits ---- */

struct counting {
	uint64_t begin_ns, ns;
	uint64_t bins[BINS]; /* slices by their begin */
};

static void count_slice(void *context, const struct trace_slice *s)
{
	struct counting *c = context;
	uint64_t at = s->begin_ns > c->begin_ns ? s->begin_ns - c->begin_ns : 0;
	double share = c->ns ? (double)at / (double)c->ns : 0;
	size_t bin = (size_t)(share * BINS);
	c->bins[bin < BINS ? bin : BINS - 1]++;
}

/* Returns up to which time the step has no more than SLICES_MOST slices. */
static uint64_t fitting_ns(const struct analyzed_step *step)
{
	static const struct trace_visitor visitor = { .slice = count_slice };
	struct counting *c = mem_zero(sizeof(*c));
	uint64_t n = 0;
	size_t bin = 0;
	c->begin_ns = step->model->begin_ns;
	c->ns = step->model->end_ns - step->model->begin_ns;
	trace_walk(step, &visitor, c);
	while (bin < BINS && (n += c->bins[bin]) <= SLICES_MOST)
		bin++;
	uint64_t ns = bin == BINS ? c->ns : (uint64_t)((double)c->ns / BINS * (double)bin);
	free(c);
	return ns;
}

/* ---- One walk ---- */

struct taking {
	struct views_timeline *t;
	const struct trace_words *words;
	uint64_t begin_ns;
	bool is_shown; /* the track is one of the timeline's */
	uint32_t device;
};

/* Arguments that the timeline shows. Numbers that differ from call to call, such as handles, would
 * only make the page large. */
static bool is_shown(const struct trace_arg *arg)
{
	static const bool shown[TRACE_ARG_NAMES] = {
		[TRACE_ARG_LINE] = true,       [TRACE_ARG_FUNCTION] = true,
		[TRACE_ARG_OPERATOR] = true,   [TRACE_ARG_CAUSE] = true,
		[TRACE_ARG_AFTER] = true,      [TRACE_ARG_API] = true,
		[TRACE_ARG_KERNEL] = true,     [TRACE_ARG_GRID] = true,
		[TRACE_ARG_BLOCK] = true,      [TRACE_ARG_BYTES] = true,
		[TRACE_ARG_GB_PER_S] = true,   [TRACE_ARG_FROM] = true,
		[TRACE_ARG_TO] = true,	       [TRACE_ARG_CAPTURED_AT] = true,
		[TRACE_ARG_MODULE] = true,     [TRACE_ARG_SAMPLES] = true,
		[TRACE_ARG_TFLOPS] = true,     [TRACE_ARG_COUNT] = true,
		[TRACE_ARG_UNPAIRED] = true,   [TRACE_ARG_BEGINS_BEFORE] = true,
		[TRACE_ARG_ENDS_AFTER] = true, [TRACE_ARG_BUS_GB_PER_S] = true,
		[TRACE_ARG_RANKS] = true,      [TRACE_ARG_DOMAIN] = true,
		[TRACE_ARG_SEQUENCE] = true,   [TRACE_ARG_CAPTURED] = true,
	};
	return arg->name < TRACE_ARG_NAMES && shown[arg->name];
}

static void write_value(const struct taking *k, const struct trace_arg *a, char *to, size_t bytes)
{
	switch ((enum trace_arg_kind)a->kind) {
	case TRACE_UINT:
		snprintf(to, bytes, "%" PRIu64, a->uint);
		break;
	case TRACE_POINTER:
		snprintf(to, bytes, "0x%" PRIx64, a->uint);
		break;
	case TRACE_DOUBLE:
		snprintf(to, bytes, "%.4g", a->real);
		break;
	case TRACE_TEXT:
		snprintf(to, bytes, "%s", a->text);
		break;
	case TRACE_WORD:
		snprintf(to, bytes, "%s", trace_word_text(k->words, a->word));
		break;
	case TRACE_TRIPLE:
		snprintf(to, bytes, "%u x %u x %u", a->triple[0], a->triple[1], a->triple[2]);
		break;
	}
}

static uint32_t detail_of(const struct taking *k, const struct trace_slice *s)
{
	char detail[DETAIL_BYTES] = "", value[300];
	for (size_t i = 0; i < s->n_args; i++) {
		if (!is_shown(&s->args[i]))
			continue;
		write_value(k, &s->args[i], value, sizeof(value));
		if (*value)
			text_append(detail, sizeof(detail), "%s%s: %s", *detail ? "\n" : "",
				    trace_arg_names[s->args[i].name], value);
	}
	return strtab_intern(&k->t->texts, detail);
}

static void process(void *context, const struct trace_process *p)
{
	struct taking *k = context;
	k->words = p->words;
	k->t->step = p->step;
}

static void track(void *context, const struct trace_track *t)
{
	struct taking *k = context;
	char name[200];
	k->is_shown = !t->is_group && t->kind != TRACE_TRACK_COUNTER &&
		      t->kind != TRACE_TRACK_STEPS && t->kind != TRACE_TRACK_NOTES;
	if (!k->is_shown)
		return;
	snprintf(name, sizeof(name), "%.90s%s%.90s", t->parent ? t->parent->name : "",
		 t->parent ? " / " : "", t->name);
	vec_push(&k->t->tracks, (struct views_track){ .name = strtab_intern(&k->t->texts, name),
						      .kind = (uint8_t)t->kind,
						      .first = k->t->slices.n });
}

static struct views_arrow *arrow(struct views_timeline *t, uint32_t number)
{
	uint64_t *index = map_at(&t->arrow_of, number, NULL);
	if (!*index) {
		vec_push(&t->arrows, (struct views_arrow){ UINT32_MAX, UINT32_MAX });
		*index = t->arrows.n;
	}
	return &t->arrows.at[*index - 1];
}

static void slice(void *context, const struct trace_slice *s)
{
	struct taking *k = context;
	struct views_timeline *t = k->t;
	uint64_t begin_ns = s->begin_ns > k->begin_ns ? s->begin_ns - k->begin_ns : 0,
		 end_ns = s->end_ns > k->begin_ns ? s->end_ns - k->begin_ns : 0;
	if (!k->is_shown || begin_ns > t->shown_ns)
		return;
	uint32_t index = (uint32_t)t->slices.n;
	const char *name = s->text ? s->text : trace_word_text(k->words, s->word);
	char shorter[NAME_BYTES];
	if (s->category == TRACE_CATEGORY_KERNEL)
		name = kernel_short(shorter, sizeof(shorter), name);
	vec_push(&t->slices, (struct views_slice){ begin_ns, end_ns, strtab_intern(&t->texts, name),
						   detail_of(k, s), (uint8_t)s->category });
	t->tracks.at[t->tracks.n - 1].n++;
	for (size_t i = 0; i < s->n_flows_out; i++)
		arrow(t, s->flows_out[i])->from = index;
	if (s->has_flow_in)
		arrow(t, s->flow_in)->to = index;
}

void views_timeline_take(struct views_timeline *t, const struct analyzed_step *step)
{
	static const struct trace_visitor visitor = {
		.process = process, .track = track, .slice = slice, .instant = slice
	};
	views_timeline_free(t);
	t->ns = step->model->end_ns - step->model->begin_ns;
	t->shown_ns = fitting_ns(step);
	trace_walk(step, &visitor, &(struct taking){ .t = t, .begin_ns = step->model->begin_ns });
}

void views_timeline_free(struct views_timeline *t)
{
	strtab_free(&t->texts);
	vec_free(&t->tracks);
	vec_free(&t->slices);
	map_free(&t->arrow_of);
	vec_free(&t->arrows);
	*t = (struct views_timeline){ 0 };
}

/* ---- JSON ---- */

static void append(json_t *list, uint64_t value)
{
	json_array_append_new(list, json_integer((json_int_t)value));
}

static json_t *describe_track(const struct views_timeline *t, const struct views_track *track)
{
	json_t *slices = json_array();
	uint64_t last_ns = 0;
	for (size_t i = track->first; i < track->first + track->n; i++) {
		const struct views_slice *s = &t->slices.at[i];
		json_array_append_new(slices,
				      json_integer((json_int_t)s->begin_ns - (json_int_t)last_ns));
		append(slices, s->end_ns > s->begin_ns ? s->end_ns - s->begin_ns : 0);
		append(slices, s->name);
		append(slices, s->category);
		append(slices, s->detail);
		last_ns = s->begin_ns;
	}
	static const char *const kinds[] = {
		[TRACE_TRACK_THREAD] = "thread",     [TRACE_TRACK_STREAM] = "stream",
		[TRACE_TRACK_RANGES] = "ranges",     [TRACE_TRACK_PHASES] = "phases",
		[TRACE_TRACK_MODULES] = "modules",   [TRACE_TRACK_IDLE] = "idle",
		[TRACE_TRACK_SAMPLES] = "samples",   [TRACE_TRACK_OVERHEAD] = "overhead",
		[TRACE_TRACK_CRITICAL] = "critical",
	};
	const char *kind = track->kind < sizeof(kinds) / sizeof(*kinds) ? kinds[track->kind] : NULL;
	return json_pack("{s:o, s:s, s:o}", "name",
			 report_json_text(strtab_text(&t->texts, track->name)), "kind",
			 kind ? kind : "other", "slices", slices);
}

json_t *views_timeline_json(const struct views_timeline *t)
{
	json_t *tracks = json_array(), *arrows = json_array(), *texts = json_array(),
	       *categories = json_array();
	for (size_t i = 0; i < t->tracks.n; i++)
		if (t->tracks.at[i].n)
			json_array_append_new(tracks, describe_track(t, &t->tracks.at[i]));
	for (size_t i = 0; i < t->arrows.n; i++) {
		const struct views_arrow *a = &t->arrows.at[i];
		if (a->from == UINT32_MAX || a->to == UINT32_MAX)
			continue;
		append(arrows, a->from);
		append(arrows, a->to);
	}
	json_array_append_new(texts, json_string(""));
	for (uint32_t i = 1; i < t->texts.texts.n; i++)
		json_array_append_new(texts, report_json_text(strtab_text(&t->texts, i)));
	for (unsigned i = 0; i < TRACE_CATEGORY_NAMES; i++)
		json_array_append_new(categories, report_json_text(trace_category_names[i]
									   ? trace_category_names[i]
									   : ""));
	return json_pack("{s:I, s:I, s:I, s:o, s:o, s:o, s:o}", "step", (json_int_t)t->step, "ns",
			 (json_int_t)t->ns, "shown_ns", (json_int_t)t->shown_ns, "texts", texts,
			 "categories", categories, "tracks", tracks, "arrows", arrows);
}
