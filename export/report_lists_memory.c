/* Lists of the report: memory, and what happened once. */
#include "export/report_list_parts.h"

#define AT(m) offsetof(struct report_block, m)

/* Writes the line that allocated the memory, or, if there is none, what the memory is. */
static void cell_maker(const struct row *r, size_t member)
{
	if (*list_text(r, member))
		list_cell_text(r, member);
	else
		list_cell_place(r, AT(place));
}

static const struct list_column blocks_columns[] = {
	{ "bytes", COLUMN_NUMBER, list_cell_bytes, AT(bytes) },
	{ "line", COLUMN_PLACE, cell_maker, AT(what) },
};
TABLE(blocks, report_block);

#undef AT
#define AT(m) offsetof(struct report_blocks, m)

static const struct list_column by_kind_columns[] = {
	{ "at the peak", COLUMN_NUMBER, list_cell_bytes, AT(bytes) },
	{ "peak of this kind", COLUMN_NUMBER, list_cell_bytes, AT(peak_bytes) },
	{ "blocks/step", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "kind", COLUMN_TEXT, list_cell_text, AT(name) },
};
TABLE(by_kind, report_blocks);

static const struct list_column by_phase_columns[] = {
	{ "at the peak", COLUMN_NUMBER, list_cell_bytes, AT(bytes) },
	{ "peak of this phase", COLUMN_NUMBER, list_cell_bytes, AT(peak_bytes) },
	{ "blocks/step", COLUMN_NUMBER, list_cell_number, AT(per_step) },
	{ "phase", COLUMN_TEXT, list_cell_text, AT(name) },
};
TABLE(by_phase, report_blocks);

#undef AT
#define AT(m) offsetof(struct report_once, m)

static const struct list_column once_columns[] = {
	{ "ms", COLUMN_NUMBER, list_cell_ms, AT(ms) },
	{ "what", COLUMN_NAME, list_cell_text, AT(what) },
	{ "line", COLUMN_PLACE, list_cell_place_or_dash, AT(place) },
};
TABLE(once, report_once);
