/* The settings of a run: PROF_* variables, which are read once. The table is in config.def. */
#ifndef CORE_CONFIG_H
#define CORE_CONFIG_H

#include "core/runtime/err.h"

#include <stdbool.h>
#include <stddef.h>

#define CONFIG_TEXT_BYTES 1024

enum { HOST_HZ_LEAST = 10, HOST_HZ_MOST = 10000 }; /* range of PROF_HOST */

enum config_type { CONFIG_TEXT, CONFIG_WORD, CONFIG_NUMBER, CONFIG_CHECKED };

/* A row of config.def. */
struct config_row {
	const char *name; /* of the variable, such as "PROF_STEP" */
	enum config_type type;
	const char *fallback; /* the default, as text */
	const char *range;
	const char *unit; /* "" if there is no unit */
	const char *meaning;
};

/* The value of a setting as text. If the user has set no valid value, it is the default. */
struct config_value {
	char text[CONFIG_TEXT_BYTES];
	bool set; /* the user has set the value */
};

struct config {
#define CONFIG(field, ...) struct config_value field;
#include "core/runtime/config.def"
#undef CONFIG
};

extern const struct config_row config_rows[];
extern const size_t config_n_rows;

/* A callback of config_read(): gets one line of text (no newline) per bad or unknown variable. */
typedef void config_complain(void *context, const char *line);

/*
 * Reads `environment`, which has the form of environ(7), into `c`. Never fails. If a value is bad,
 * `complain` (may be NULL) is called and the default is used. `context` is passed to `complain`.
 */
void config_read(struct config *c, char *const *environment, config_complain *complain,
		 void *context);

/*
 * Returns 0 if `text` is a valid value of the setting `name`. Otherwise returns -EINVAL (bad value)
 * or -ENOENT (no such setting) and describes the error in `e` (may be NULL).
 */
int config_check(const char *name, const char *text, struct err *e);

/* Returns the row whose name is the most similar to `name`, NULL if no name is similar enough. */
const struct config_row *config_nearest(const char *name);

/* Returns the value of a setting of type CONFIG_NUMBER. */
long config_number(const struct config_value *value);

/* Returns the value of PROF_HOST in Hz, 0 for "off". Returns -1 if the text is not valid, with one
 * line in `e` (may be NULL). */
int config_parse_host(const char *text, struct err *e);

/* A parsed value of PROF_STEP. */
struct config_step {
	int mode; /* enum step_mode of core/runtime/record.h */
	/* REGEX of kernel:REGEX, NAME of nvtx:NAME, or FILE:FUNCTION of python:FILE:FUNCTION; else
	 * NULL. Points into the text that was parsed. */
	const char *pattern;
	bool wants_function;  /* python:FILE:FUNCTION */
	bool wants_optimizer; /* optimizer: like auto, but only steps that an optimizer ends */
	unsigned long long slice_ns; /* time:MS, in nanoseconds; else 0 */
};

/* Parses a value of PROF_STEP. Returns 0, or -EINVAL with one line in `e` (may be NULL). */
int config_parse_step(const char *text, struct config_step *out, struct err *e);

#endif
