/* See trigger.h. Runs once in the application, at startup, and in the tools. */
#include "core/runtime/trigger.h"

#include "core/runtime/spelling.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* With a factor below SLOW_LEAST about every second step would be slow. With a factor above
 * SLOW_MOST no step would be. */
#define SLOW_LEAST 1.1
#define SLOW_MOST  1000.0

#define TRIGGERS "file, signal, slow:FACTOR (for example slow:3) or none"

static const char *const words[] = { "file", "signal", "slow", "none" };

static int parse_slow(const char *factor, struct trigger_config *out, struct err *e)
{
	char *end;
	double value = strtod(factor, &end);
	if (out->slow > 0)
		return err_set(e, -EINVAL, "slow:FACTOR is given twice");
	if (end == factor || *end || !(value >= SLOW_LEAST) || !(value <= SLOW_MOST))
		return err_set(e, -EINVAL, "slow:%.40s: expected a factor from %.1f to %.0f",
			       factor, SLOW_LEAST, SLOW_MOST);
	out->slow = value;
	return 0;
}

static int refuse(const char *word, struct err *e)
{
	const char *near = NULL;
	unsigned least = 4; /* a larger distance is not a typing error */
	char plain[16];
	snprintf(plain, sizeof(plain), "%.*s", (int)strcspn(word, ":"), word);
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++) {
		unsigned d = spelling_distance(plain, words[i]);
		if (d < least) {
			least = d;
			near = words[i];
		}
	}
	return err_set(e, -EINVAL, "'%.40s' is not a trigger%s%s%s; accepted: " TRIGGERS, word,
		       near ? " (did you mean " : "", near ? near : "",
		       !near		       ? ""
		       : !strcmp(near, "slow") ? ":FACTOR?)"
					       : "?)");
}

static int lacks_factor(struct err *e)
{
	return err_set(e, -EINVAL,
		       "slow needs a factor: slow:FACTOR, for example slow:3, starts a recording "
		       "when a "
		       "step takes FACTOR times the median; accepted: " TRIGGERS);
}

static int parse_word(const char *word, struct trigger_config *out, struct err *e)
{
	if (!strcmp(word, "file"))
		out->file = true;
	else if (!strcmp(word, "signal"))
		out->signal = true;
	else if (!strcmp(word, "slow") || !strcmp(word, "slow:"))
		return lacks_factor(e);
	else if (!strncmp(word, "slow:", 5))
		return parse_slow(word + 5, out, e);
	else if (!strcmp(word, "none"))
		return err_set(e, -EINVAL,
			       "none cannot be combined with other triggers; accepted: " TRIGGERS);
	else
		return refuse(word, e);
	return 0;
}

int trigger_parse(const char *text, struct trigger_config *out, struct err *e)
{
	struct trigger_config parsed = { 0 };
	if (!strcmp(text, "none")) {
		*out = parsed;
		return 0;
	}
	for (const char *at = text;; at++) {
		char word[64];
		size_t length, kept;
		at += strspn(at, " ");
		length = kept = strcspn(at, ",");
		while (kept && at[kept - 1] == ' ')
			kept--;
		snprintf(word, sizeof(word), "%.*s", (int)kept, at);
		int error = parse_word(word, &parsed, e);
		if (error)
			return error;
		at += length;
		if (!*at)
			break;
	}
	*out = parsed;
	return 0;
}
