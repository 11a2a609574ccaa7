/*
 * Chooses the layout of this process's Python: the table's row for its version. Where the
 * interpreter describes itself (_Py_DebugOffsets, 3.13 and later), that description takes
 * precedence over the table.
 */
#include "preload/python_layout.h"

#include <stddef.h>

static const struct python_layout layouts[] = {
#define LAYOUT(minor_, ft, top, cframe, cf_frame, cf_prev, f_prev, f_code, f_pos, meaning,   \
	       f_owner, f_entry, f_tlbc, c_file, c_name, c_first, c_lines, kind, c_except,   \
	       c_start, c_tlbc, c_id0, c_id1, o_type, o_size, b_data, t_len, t_state, t_bit, \
	       t_ascii, t_wide)                                                              \
	{ .minor = (minor_),                                                                 \
	  .is_free_threaded = (ft),                                                          \
	  .thread_top = (top),                                                               \
	  .thread_cframe = (cframe),                                                         \
	  .cframe_frame = (cf_frame),                                                        \
	  .cframe_previous = (cf_prev),                                                      \
	  .frame_previous = (f_prev),                                                        \
	  .frame_code = (f_code),                                                            \
	  .frame_position = (f_pos),                                                         \
	  .position = (meaning),                                                             \
	  .frame_owner = (f_owner),                                                          \
	  .frame_is_entry = (f_entry),                                                       \
	  .frame_tlbc = (f_tlbc),                                                            \
	  .code_file = (c_file),                                                             \
	  .code_name = (c_name),                                                             \
	  .code_first_line = (c_first),                                                      \
	  .code_lines = (c_lines),                                                           \
	  .lines = (kind),                                                                   \
	  .code_exceptions = (c_except),                                                     \
	  .code_start = (c_start),                                                           \
	  .code_tlbc = (c_tlbc),                                                             \
	  .code_identity = { (c_id0), (c_id1) },                                             \
	  .object_type = (o_type),                                                           \
	  .object_size = (o_size),                                                           \
	  .bytes_data = (b_data),                                                            \
	  .text_length = (t_len),                                                            \
	  .text_state = (t_state),                                                           \
	  .text_kind_bit = (t_bit),                                                          \
	  .text_ascii = (t_ascii),                                                           \
	  .text_wide = (t_wide) },
#include "preload/python_layout.def"
#undef LAYOUT
};

/* _PyRuntime begins with _Py_DebugOffsets, an array of 64-bit words: [0] a mark, [1] the version,
 * [2] whether the build is free-threaded, then groups of words. The first word of a group is a
 * size. Where a group begins depends on the minor version; positions within a group do not. */
enum group { THREAD_STATE, FRAME, CODE, OBJECT, BYTES, TEXT, GROUPS };

static const uint8_t group_begins[][GROUPS] = {
	[13] = { [THREAD_STATE] = 19,
		 [FRAME] = 28,
		 [CODE] = 34,
		 [OBJECT] = 44,
		 [BYTES] = 64,
		 [TEXT] = 67 },
	[14] = { [THREAD_STATE] = 22,
		 [FRAME] = 31,
		 [CODE] = 39,
		 [OBJECT] = 50,
		 [BYTES] = 74,
		 [TEXT] = 77 },
	[15] = { [THREAD_STATE] = 22,
		 [FRAME] = 39,
		 [CODE] = 47,
		 [OBJECT] = 58,
		 [BYTES] = 86,
		 [TEXT] = 89 },
};

static const struct word {
	uint8_t group, at;
	uint8_t minor; /* the first minor version that has this word */
	uint16_t field;
} words[] = {
	{ THREAD_STATE, 4, 13, offsetof(struct python_layout, thread_top) },
	{ FRAME, 1, 13, offsetof(struct python_layout, frame_previous) },
	{ FRAME, 2, 13, offsetof(struct python_layout, frame_code) },
	{ FRAME, 3, 13, offsetof(struct python_layout, frame_position) },
	{ FRAME, 5, 13, offsetof(struct python_layout, frame_owner) },
	{ FRAME, 7, 14, offsetof(struct python_layout, frame_tlbc) },
	{ CODE, 1, 13, offsetof(struct python_layout, code_file) },
	{ CODE, 3, 13, offsetof(struct python_layout, code_name) },
	{ CODE, 4, 13, offsetof(struct python_layout, code_lines) },
	{ CODE, 5, 13, offsetof(struct python_layout, code_first_line) },
	{ CODE, 9, 13, offsetof(struct python_layout, code_start) },
	{ CODE, 10, 14, offsetof(struct python_layout, code_tlbc) },
	{ OBJECT, 1, 13, offsetof(struct python_layout, object_type) },
	{ BYTES, 1, 13, offsetof(struct python_layout, object_size) },
	{ BYTES, 2, 13, offsetof(struct python_layout, bytes_data) },
	{ TEXT, 1, 13, offsetof(struct python_layout, text_state) },
	{ TEXT, 2, 13, offsetof(struct python_layout, text_length) },
	{ TEXT, 3, 13, offsetof(struct python_layout, text_ascii) },
};

enum { FIRST_WITH_WORDS = 13, OFFSET_MOST = 4096 };

static bool is_runtime(const uint64_t *runtime)
{
	return runtime && !memcmp(runtime, "xdebugpy", 8);
}

/* Uses the line fields as identity words. A build that moved the code object's fields has moved
 * co_version and the exception table, too, and _Py_DebugOffsets does not contain their offsets. */
static void identify_by_lines(struct python_layout *l)
{
	l->code_exceptions = ABSENT;
	l->code_identity[0] = l->code_first_line;
	l->code_identity[1] = l->code_lines;
}

static const char *apply_words(const struct python_api *api, struct python_layout *l)
{
	const uint64_t *runtime = api->runtime;
	bool is_code_moved = false;
	if (!is_runtime(runtime))
		return "the interpreter has no _Py_DebugOffsets";
	if (runtime[1] != api->version)
		return "the interpreter's _Py_DebugOffsets are for another version";
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		const struct word *w = &words[i];
		uint16_t *field = (uint16_t *)((char *)l + w->field);
		if (l->minor < w->minor || *field == ABSENT)
			continue;
		uint64_t offset = runtime[group_begins[l->minor][w->group] + w->at];
		if (offset >= OFFSET_MOST)
			return "the interpreter's _Py_DebugOffsets have implausible values";
		l->is_moved |= offset != *field;
		is_code_moved |= w->group == CODE && offset != *field;
		*field = (uint16_t)offset;
	}
	if (is_code_moved)
		identify_by_lines(l);
	return NULL;
}

const struct python_layout *python_layout_row(unsigned minor, bool is_free_threaded)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(*layouts); i++)
		if (layouts[i].minor == minor && layouts[i].is_free_threaded == is_free_threaded)
			return &layouts[i];
	return NULL;
}

const char *python_layout_choose(const struct python_api *api, struct python_layout *to)
{
	unsigned minor = api->version >> 16 & 0xff, release = api->version >> 4 & 15;
	bool has_words = minor >= FIRST_WITH_WORDS;
	bool free_threaded = has_words && is_runtime(api->runtime) && api->runtime[2] == 1;
	const struct python_layout *row = python_layout_row(minor, free_threaded);
	if (api->version >> 24 != 3 || !row ||
	    (release != PYTHON_FINAL && release != PYTHON_CANDIDATE))
		return "profrun does not know the frame layout of this version";
	*to = *row;
	return has_words ? apply_words(api, to) : NULL;
}
