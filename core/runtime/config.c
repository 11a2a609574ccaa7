/*
 * Reads the settings. Runs once in the application, at its first CUDA call, and in the tools. No
 * function here keeps memory allocated after it returns.
 */
#include "core/runtime/config.h"

#include "core/runtime/formats.h"
#include "core/runtime/opening.h"
#include "core/runtime/pattern.h"
#include "core/runtime/ranks.h"
#include "core/runtime/record.h"
#include "core/runtime/schedule.h"
#include "core/runtime/spelling.h"
#include "core/runtime/trigger.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

const struct config_row config_rows[] = {
#define CONFIG(field, name, type, fallback, range, unit, meaning) \
	{ #name, CONFIG_##type, fallback, range, unit, meaning },
#include "core/runtime/config.def"
#undef CONFIG
};
const size_t config_n_rows = sizeof(config_rows) / sizeof(*config_rows);

static const size_t value_offsets[] = {
#define CONFIG(field, ...) offsetof(struct config, field),
#include "core/runtime/config.def"
#undef CONFIG
};

/* PROF_ variables that are not user settings: the launcher sets them for the library. */
static const char *const companions[] = { "PROF_LAUNCHED" };

static int check_schedule(const char *text, struct err *e)
{
	struct schedule parsed;
	return schedule_parse(text, &parsed, e);
}

static int check_step(const char *text, struct err *e)
{
	struct config_step parsed;
	return config_parse_step(text, &parsed, e);
}

static int check_trigger(const char *text, struct err *e)
{
	struct trigger_config parsed;
	return trigger_parse(text, &parsed, e);
}

static int check_opening(const char *text, struct err *e)
{
	struct opening_limits parsed;
	return opening_parse(text, &parsed, e);
}

int config_parse_host(const char *text, struct err *e)
{
	char *end;
	long hz = strtol(text, &end, 10);
	if (!strcmp(text, "off"))
		return 0;
	if (end != text && !*end && hz >= HOST_HZ_LEAST && hz <= HOST_HZ_MOST)
		return (int)hz;
	err_set(e, -EINVAL, "'%.60s' is not 'off' or a whole number in the range %d..%d", text,
		HOST_HZ_LEAST, HOST_HZ_MOST);
	return -1;
}

static int check_host(const char *text, struct err *e)
{
	return config_parse_host(text, e) < 0 ? -EINVAL : 0;
}

static int refuse_format(const char *at, size_t n, struct err *e)
{
#define X(format, what) "|" #format
	static const char known[] = FORMATS(X);
#undef X
#define X(format, what) " " #format
	const char *list = FORMATS(X);
#undef X
	char name[61], meant[SPELLING_MEANT_BYTES];
	snprintf(name, sizeof(name), "%.*s", (int)n, at);
	return err_set(e, -EINVAL, "unknown format '%s'%s; supported formats:%s", name,
		       spelling_did_you_mean(meant, sizeof(meant), name, known + 1), list);
}

static bool is_format(const char *at, size_t n)
{
#define X(format, what) #format,
	static const char *const known[] = { FORMATS(X) };
#undef X
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		if (strlen(known[i]) == n && !strncmp(known[i], at, n))
			return true;
	return false;
}

static int check_format(const char *text, struct err *e)
{
	for (const char *at = text;; at++) {
		size_t n = strcspn(at, ",");
		if (!is_format(at, n))
			return refuse_format(at, n, e);
		at += n;
		if (!*at)
			return 0;
	}
}

static const struct {
	const char *name;
	int (*check)(const char *text, struct err *e);
} checkers[] = {
	{ "PROF_SCHEDULE", check_schedule }, { "PROF_STEP", check_step },
	{ "PROF_TRIGGER", check_trigger },   { "PROF_FORMAT", check_format },
	{ "PROF_RANKS", ranks_check },	     { "PROF_OPENING", check_opening },
	{ "PROF_HOST", check_host },
};

/*
 * Returns whether the text looks like a library's path. Any other text that is not one of the
 * setting's words is probably a typing error, not a path.
 */
static bool is_library_path(const char *text)
{
	return strchr(text, '/') || strstr(text, ".so");
}

static int check_word(const struct config_row *row, const char *text, struct err *e)
{
	size_t length = strlen(text);
	for (const char *word = row->range; *word;) {
		size_t n = strcspn(word, "|");
		bool takes_path = !strcmp(word, "path");
		if (takes_path ? is_library_path(text) : n == length && !strncmp(word, text, n))
			return 0;
		word += n + (word[n] == '|');
	}
	char meant[SPELLING_MEANT_BYTES];
	return err_set(e, -EINVAL, "'%.60s' is not one of %s%s", text, row->range,
		       spelling_did_you_mean(meant, sizeof(meant), text, row->range));
}

static int check_number(const struct config_row *row, const char *text, struct err *e)
{
	char *end;
	long low = strtol(row->range, &end, 10), high = strtol(end + 2, NULL, 10);
	errno = 0;
	long value = strtol(text, &end, 10);
	if (errno || end == text || *end || value < low || value > high)
		return err_set(e, -EINVAL, "'%.60s' is not a whole number in the range %s %s", text,
			       row->range, row->unit);
	return 0;
}

static int check_value(const struct config_row *row, const char *text, struct err *e)
{
	if (strlen(text) >= CONFIG_TEXT_BYTES)
		return err_set(e, -EINVAL, "the value is longer than %d bytes",
			       CONFIG_TEXT_BYTES - 1);
	switch (row->type) {
	case CONFIG_TEXT:
		return 0;
	case CONFIG_WORD:
		return check_word(row, text, e);
	case CONFIG_NUMBER:
		return check_number(row, text, e);
	case CONFIG_CHECKED:
		break;
	}
	for (size_t i = 0; i < sizeof(checkers) / sizeof(*checkers); i++)
		if (!strcmp(checkers[i].name, row->name))
			return checkers[i].check(text, e);
	return err_set(e, -EINVAL, "no parser for %s", row->name);
}

static const struct config_row *find_row(const char *name, size_t length)
{
	for (size_t i = 0; i < config_n_rows; i++)
		if (strlen(config_rows[i].name) == length &&
		    !strncmp(config_rows[i].name, name, length))
			return &config_rows[i];
	return NULL;
}

int config_check(const char *name, const char *text, struct err *e)
{
	const struct config_row *row = find_row(name, strlen(name));
	if (!row)
		return err_set(e, -ENOENT, "no setting is named %.60s", name);
	return check_value(row, text, e);
}

const struct config_row *config_nearest(const char *name)
{
	enum { TRANSPOSED = 2 }; /* distance of two names that differ by two swapped letters */
	size_t prefix = strlen("PROF_"); /* always matches, so it adds nothing to the tolerance */
	const struct config_row *best = NULL;
	unsigned least = strlen(name) > prefix ? spelling_tolerance(name + prefix) : 0;
	least = (least < TRANSPOSED ? TRANSPOSED : least) + 1;
	for (size_t i = 0; i < config_n_rows; i++) {
		unsigned d = spelling_distance(name, config_rows[i].name);
		if (d < least) {
			least = d;
			best = &config_rows[i];
		}
	}
	return best;
}

static bool is_companion(const char *name, size_t length)
{
	for (size_t i = 0; i < sizeof(companions) / sizeof(*companions); i++)
		if (strlen(companions[i]) == length && !strncmp(companions[i], name, length))
			return true;
	return false;
}

static void complain_unknown(const char *entry, size_t length, config_complain *complain,
			     void *context)
{
	char name[64], line[240];
	snprintf(name, sizeof(name), "%.*s", (int)length, entry);
	const struct config_row *near = config_nearest(name);
	snprintf(line, sizeof(line),
		 "unknown setting %s is ignored%s%s%s; `profrun env` lists the settings", name,
		 near ? " (did you mean " : "", near ? near->name : "", near ? "?)" : "");
	complain(context, line);
}

static void take_value(struct config *c, const struct config_row *row, const char *text,
		       config_complain *complain, void *context)
{
	struct config_value *value = (void *)((char *)c + value_offsets[row - config_rows]);
	struct err e;
	/* an empty value counts as not set, because shell users write `PROF_STEP= command` to unset
	 * a variable */
	if (!*text)
		return;
	if (!check_value(row, text, &e)) {
		snprintf(value->text, sizeof(value->text), "%s", text);
		value->set = true;
		return;
	}
	if (complain) {
		char line[600];
		snprintf(line, sizeof(line), "%s: %s; using the default%s%s", row->name, e.text,
			 *row->fallback ? " " : "", row->fallback);
		complain(context, line);
	}
}

void config_read(struct config *c, char *const *environment, config_complain *complain,
		 void *context)
{
	for (size_t i = 0; i < config_n_rows; i++) {
		struct config_value *value = (void *)((char *)c + value_offsets[i]);
		snprintf(value->text, sizeof(value->text), "%s", config_rows[i].fallback);
		value->set = false;
	}
	for (char *const *entry = environment; entry && *entry; entry++) {
		if (strncmp(*entry, "PROF_", 5))
			continue;
		size_t length = strcspn(*entry, "=");
		const struct config_row *row = find_row(*entry, length);
		if (row)
			take_value(c, row, *entry + length + ((*entry)[length] == '='), complain,
				   context);
		else if (complain && !is_companion(*entry, length))
			complain_unknown(*entry, length, complain, context);
	}
}

long config_number(const struct config_value *value)
{
	return strtol(value->text, NULL, 10);
}

static int parse_kernel(const char *pattern, struct config_step *out, struct err *e)
{
	regex_t compiled;
	char why[120];
	if (!*pattern)
		return err_set(e, -EINVAL,
			       "kernel: needs a regular expression, for example kernel:softmax");
	int error = pattern_compile(&compiled, pattern);
	if (error) {
		pattern_why(error, why, sizeof(why));
		return err_set(e, -EINVAL, "'%.60s' is not a valid regular expression: %s", pattern,
			       why);
	}
	regfree(&compiled);
	out->pattern = pattern;
	return 0;
}

static int parse_nvtx(const char *name, struct config_step *out, struct err *e)
{
	if (!*name)
		return err_set(e, -EINVAL,
			       "nvtx: needs the name of a range, for example nvtx:train_step or "
			       "nvtx:train_step@DOMAIN");
	out->pattern = name;
	return 0;
}

static int parse_time(const char *text, struct config_step *out, struct err *e)
{
	char *end;
	double ms = strtod(text, &end);
	if (end == text || *end || !(ms >= 0.01) || !(ms <= 86400e3))
		return err_set(e, -EINVAL,
			       "time:%.60s: expected a number of milliseconds from 0.01 to "
			       "86400000",
			       text);
	out->slice_ns = (unsigned long long)(ms * 1e6 + 0.5);
	return 0;
}

static int parse_python(const char *where, struct config_step *out, struct err *e)
{
	const char *colon = strrchr(where, ':');
	if (!colon || colon == where || !colon[1])
		return err_set(e, -EINVAL,
			       "python:%.60s: expected python:FILE:FUNCTION, where FILE is the end "
			       "of the file's path, for example python:train.py:train_step",
			       where);
	out->wants_function = true;
	out->pattern = where;
	return 0;
}

static int parse_loop(const char *where, struct config_step *out, struct err *e)
{
	const char *colon = strrchr(where, ':');
	char *end = NULL;
	if (!colon || colon == where || strtol(colon + 1, &end, 10) <= 0 || *end)
		return err_set(e, -EINVAL,
			       "loop:%.60s: expected loop:FILE:LINE, where FILE is the end of the "
			       "file's path, for example loop:train.py:31",
			       where);
	out->pattern = where;
	return 0;
}

static int parse_optimizer(const char *rest, struct config_step *out, struct err *e)
{
	if (*rest)
		return err_set(e, -EINVAL, "'optimizer%.60s': optimizer takes no argument", rest);
	out->wants_optimizer = true;
	return 0;
}

static int refuse_step(const char *text, struct err *e)
{
	char meant[SPELLING_MEANT_BYTES], mode[32];
	size_t n = strcspn(text, ":");
	snprintf(mode, sizeof(mode), "%.*s", (int)(n + (text[n] == ':')), text);
	return err_set(e, -EINVAL,
		       "'%.60s' is not one of "
		       "auto|optimizer|loop:FILE:LINE|python:FILE:FUNCTION|kernel:REGEX|nvtx:NAME|"
		       "graph|sync|time:MS|api%s",
		       text,
		       spelling_did_you_mean(meant, sizeof(meant), mode,
					     "auto|optimizer|loop:|python:|kernel:|nvtx:|graph|"
					     "sync|time:|api"));
}

int config_parse_step(const char *text, struct config_step *out, struct err *e)
{
	static const struct {
		const char *word;
		int mode;
		int (*parse)(const char *rest, struct config_step *out, struct err *e);
	} modes[] = {
		{ "auto", STEP_MODE_AUTO, NULL },
		{ "optimizer", STEP_MODE_AUTO, parse_optimizer },
		{ "loop:", STEP_MODE_AUTO, parse_loop },
		{ "python:", STEP_MODE_AUTO, parse_python },
		{ "kernel:", STEP_MODE_KERNEL, parse_kernel },
		{ "nvtx:", STEP_MODE_NVTX, parse_nvtx },
		{ "graph", STEP_MODE_GRAPH, NULL },
		{ "sync", STEP_MODE_SYNC, NULL },
		{ "time:", STEP_MODE_TIME, parse_time },
		{ "api", STEP_MODE_API, NULL },
	};
	*out = (struct config_step){ 0 };
	for (size_t i = 0; i < sizeof(modes) / sizeof(*modes); i++) {
		size_t n = strlen(modes[i].word);
		if (modes[i].parse ? strncmp(text, modes[i].word, n) : strcmp(text, modes[i].word))
			continue;
		out->mode = modes[i].mode;
		return modes[i].parse ? modes[i].parse(text + n, out, e) : 0;
	}
	return refuse_step(text, e);
}
