/* The settings of a run: PROF_* variables, read once. Rows stand in config.def. */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_BYTES 1024

enum config_type { CONFIG_TEXT, CONFIG_WORD, CONFIG_NUMBER, CONFIG_CHECKED };

struct config_row {
	const char *name;
	enum config_type type;
	const char *fallback; /* the default, as text */
	const char *range;
	const char *unit;
	const char *meaning;
};

/* A value as text: the default unless a valid one was set. `set`: the user chose it. */
struct config_value {
	char text[CONFIG_TEXT_BYTES];
	bool set;
};

struct config {
#define CONFIG(field, ...) struct config_value field;
#include "core/runtime/config.def"
#undef CONFIG
};

extern const struct config_row config_rows[];
extern const size_t config_n_rows;

/* Called once per bad or unknown variable with one line of text (no newline). */
typedef void config_complain(void *context, const char *line);

/*
 * Reads `environment` (as environ(7)) into `c`. Never fails: a bad value is reported to `complain`,
 * and the default is used.
 */
void config_read(struct config *c, char *const *environment, config_complain *complain,
		 void *context);

/*
 * Returns 0 if `text` is a valid value of the row called `name`; else -EINVAL (bad value) or
 * -ENOENT (no such row), and describes the error in `e`.
 */
int config_check(const char *name, const char *text, struct err *e);

/* The row whose name is nearest to `name`, NULL if none is near. */
const struct config_row *config_nearest(const char *name);

/* The number of a NUMBER row. */
long config_number(const struct config_value *value);

/*
 * A parsed PROF_STEP. `pattern` points into the value's text (kernel:REGEX, nvtx:NAME, python:).
 * `slice_ns` is for time:MS.
 */
struct config_step {
	int mode; /* enum step_mode of core/runtime/record.h */
	const char *pattern;
	bool wants_function;  /* python:FILE-SUFFIX:FUNCTION, which is `pattern` */
	bool wants_optimizer; /* optimizer: as auto, but only a step that an optimizer ends */
	unsigned long long slice_ns;
};

int config_parse_step(const char *text, struct config_step *out, struct err *e);

#endif
