/* Lists of the report: the device, and synchronization. */
#include "export/report_list_parts.h"

#include "export/kernel_words.h"
#include "export/report_words.h"

#include <string.h>

enum { CALLERS_SAID = 4 };

#define AT(m) offsetof(struct report_gpu, m)

static void cell_device(const struct row *r, size_t member)
{
	const struct process_facts *facts = &r->v->process->facts;
	for (size_t i = 0; i < facts->devices.n; i++)
		if (facts->devices.at[i].id == list_integer(r, member)) {
			table_cell(r->t, "%s", facts->devices.at[i].name);
			return;
		}
	table_cell(r->t, "%s", "");
}

static const struct list_column gpu_columns[] = {
	{ "GPU", COLUMN_NUMBER, list_cell_integer, AT(device) },
	{ "", COLUMN_TEXT, cell_device, AT(device) },
	{ "util", COLUMN_NUMBER, list_cell_percent, AT(busy_pct) },
	{ "busy ms", COLUMN_NUMBER, list_cell_ms, AT(busy_ms) },
	{ "idle ms", COLUMN_NUMBER, list_cell_ms, AT(idle_ms) },
	{ "kernels", COLUMN_NUMBER, list_cell_number, AT(kernels) },
	{ "tensor cores", COLUMN_NUMBER, list_cell_percent, AT(tensor_core_pct) },
};
TABLE(gpu, report_gpu);

static const struct list_column sm_columns[] = {
	{ "GPU", COLUMN_NUMBER, list_cell_integer, AT(device) },
	{ "SM efficiency", COLUMN_NUMBER, list_cell_percent, AT(sm_efficiency_pct) },
	{ "occupancy", COLUMN_NUMBER, list_cell_percent, AT(occupancy_pct) },
	{ "tensor cores", COLUMN_NUMBER, list_cell_percent, AT(tensor_core_pct) },
};
TABLE(sm, report_gpu,
      .legend = "SM efficiency: share of the steps and of the multiprocessors with blocks; "
		"occupancy: share of the threads that fit, while kernels run. Estimates.");

#undef AT
#define AT(m) offsetof(struct report_use, m)

static const struct list_column use_columns[] = {
	{ "GPU", COLUMN_NUMBER, list_cell_integer, AT(device) },
	{ "ms", COLUMN_NUMBER, list_cell_ms, AT(ms) },
	{ "of the steps", COLUMN_NUMBER, list_cell_percent, AT(pct) },
	{ "what runs", COLUMN_TEXT, list_cell_text, AT(what) },
};
TABLE(use, report_use);

#undef AT
#define AT(m) offsetof(struct report_launches, m)

static const struct list_column launches_columns[] = {
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "call us", COLUMN_NUMBER, list_cell_number, AT(call_us.mean) },
	{ "delay us", COLUMN_NUMBER, list_cell_number, AT(delay_us.p50) },
	{ "95 %", COLUMN_NUMBER, list_cell_number, AT(delay_us.p95) },
	{ "short", COLUMN_NUMBER, list_cell_percent, AT(short_pct) },
	{ "function", COLUMN_NAME, list_cell_text, AT(name) },
};
TABLE(launches, report_launches,
      .legend = "delay: from the end of the call to the begin of its work, the median and the 95th "
		"percentile; short: calls whose work takes less time than they do");

#undef AT
#define AT(m) offsetof(struct report_queue, m)

static const struct list_column queues_columns[] = {
	{ "GPU", COLUMN_NUMBER, list_cell_integer, AT(device) },
	{ "stream", COLUMN_NUMBER, list_cell_integer, AT(stream) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "mean length", COLUMN_NUMBER, list_cell_number, AT(mean) },
	{ "longest", COLUMN_NUMBER, list_cell_number, AT(most) },
	{ "wait us", COLUMN_NUMBER, list_cell_number, AT(wait_us) },
};
TABLE(queues, report_queue);

#undef AT
#define AT(m) offsetof(struct report_delay, m)

static const struct list_column delays_columns[] = {
	{ "runs", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "to launch us", COLUMN_NUMBER, list_cell_known_number, AT(to_launch_us) },
	{ "launch to work", COLUMN_NUMBER, list_cell_number, AT(launch_to_work_us) },
	{ "to work us", COLUMN_NUMBER, list_cell_known_number, AT(to_work_us) },
	{ "operator", COLUMN_NAME, list_cell_text, AT(name) },
};
TABLE(delays, report_delay,
      .legend = "From the begin of the operator to that of the first launch that it makes itself, "
		"from there to the begin of the launch's GPU work, and both. Means of the runs.");

#undef AT
#define AT(m) offsetof(struct report_sequence, m)

static const struct report_sequence *sequence_of(const struct row *r)
{
	return (const struct report_sequence *)(const void *)r->item;
}

/* Writes the kernels below the row, one that follows itself once. */
static void note_of_sequence(const struct row *r)
{
	char note[TEXT_BYTES] = "", name[TEXT_BYTES], times[NUMBER_BYTES];
	const struct report_sequence *x = sequence_of(r);
	for (size_t i = 0, n; i < x->kernels.n; i += n) {
		n = 1;
		while (i + n < x->kernels.n && !strcmp(x->kernels.at[i + n], x->kernels.at[i]))
			n++;
		snprintf(times, sizeof(times), n > 1 ? " x%zu" : "", n);
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "%s%s%s", used ? " > " : "",
			 kernel_short(name, sizeof(name), x->kernels.at[i]), times);
	}
	if ((size_t)x->n_kernels > x->kernels.n)
		text_append(note, sizeof(note), " > ...");
	table_note(r->t, note);
}

static const struct list_column sequences_columns[] = {
	{ "operator", COLUMN_NAME, list_cell_text, AT(name) },
	{ "runs", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "kernels", COLUMN_NUMBER, list_cell_integer, AT(n_kernels) },
	{ "GPU ms", COLUMN_NUMBER, list_cell_ms, AT(gpu_ms) },
	{ "CPU ms", COLUMN_NUMBER, list_cell_ms, AT(host_ms) },
};
TABLE(sequences, report_sequence, .note = note_of_sequence, .sorted_by_ms = AT(gpu_ms),
      .legend = "kernels: with copies and memsets; CPU ms: from the begin to the end of the "
		"operator.");

#undef AT
#define AT(m) offsetof(struct report_idle, m)

static void cell_cause(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", report_cause_noun(list_text(r, member)));
}

static void cell_cause_meaning(const struct row *r, size_t member)
{
	table_cell(r->t, "%s", report_cause_words(list_text(r, member)));
}

/* Writes below a gap inside a graph which line captured the work before it. */
static void note_of_idle(const struct row *r)
{
	const struct report_idle *x = (const struct report_idle *)(const void *)r->item;
	char place[PLACE_BYTES], note[PLACE_BYTES + 8];
	if (!x->after)
		return;
	snprintf(note, sizeof(note), "after %s",
		 report_place(place, sizeof(place), x->after, r->v->cwd));
	table_note(r->t, note);
}

static const struct list_column idle_columns[] = {
	{ "cause", COLUMN_WORD, cell_cause, AT(cause) },
	{ "ms", COLUMN_NUMBER, list_cell_ms, AT(ms) },
	{ "of step", COLUMN_NUMBER, list_cell_percent, AT(pct) },
	{ "line", COLUMN_PLACE, list_cell_place_or_dash, AT(place) },
	{ "meaning", COLUMN_WORD, cell_cause_meaning, AT(cause) },
};
TABLE(idle, report_idle, .note = note_of_idle, .sorted_by_ms = AT(ms));

/* ---- Synchronization ---- */

#undef AT
#define AT(m) offsetof(struct report_sync, m)

static const struct report_sync *sync_of(const struct row *r)
{
	return (const struct report_sync *)(const void *)r->item;
}

static void cell_sync_kind(const struct row *r, size_t member)
{
	const char *words = report_sync_noun(list_text(r, member));
	table_cell(r->t, "%s", *words ? words : sync_of(r)->api);
}

/* Writes the library's line below the user's line in the stack, the source text of the user's line,
 * the user's functions in the stack, and the call that waits if nothing else names it. */
static void note_of_sync(const struct row *r)
{
	char note[TEXT_BYTES];
	const struct report_sync *s = sync_of(r);
	const char *kind = report_sync_noun(s->kind);
	unsigned said = 0;
	report_inner(note, sizeof(note), s->inner);
	if (s->called_from)
		snprintf(note, sizeof(note), "in %s", s->place.function);
	snprintf(note + strlen(note), sizeof(note) - strlen(note), "%s%s", *note ? " < " : "",
		 s->source);
	for (size_t i = 0; i < s->stack.n && said < CALLERS_SAID; i++) {
		const struct report_frame *frame = &s->stack.at[i];
		size_t used = strlen(note);
		if (frame->is_library || !*frame->place.file)
			continue;
		snprintf(note + used, sizeof(note) - used, "%s%s",
			 said	 ? " < "
			 : *note ? "   in "
				 : "in ",
			 frame->place.function);
		said++;
	}
	if (*kind && strcmp(kind, s->api) != 0 && !strstr(s->source, s->api)) {
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "%swaits in %s", *note ? "   " : "",
			 s->api);
	}
	if (s->called_from) {
		size_t used = strlen(note);
		snprintf(note + used, sizeof(note) - used, "   ");
		report_called_from(note + used + 3, sizeof(note) - used - 3, s->called_from);
	}
	table_note(r->t, note);
}

static const struct list_column syncs_columns[] = {
	{ "line", COLUMN_PLACE, list_cell_place, AT(place) },
	{ "kind", COLUMN_TEXT, cell_sync_kind, AT(kind) },
	{ "calls", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "blocked", COLUMN_NUMBER, list_cell_ms, AT(blocked_ms) },
	{ "GPU idle", COLUMN_NUMBER, list_cell_ms, AT(gpu_idle_ms) },
	{ "saved", COLUMN_NUMBER, list_cell_ms, AT(recoverable_ms) },
	{ "w/o line", COLUMN_NUMBER, list_cell_ms, AT(line_ms) },
};
TABLE(syncs, report_sync, .note = note_of_sync,
      .legend = "saved: ms saved if the wait is removed; w/o line: ms saved if the whole line is "
		"removed; both per typical step, or averaged over all steps if only a few wait");
