/*
 * Settings, clock and waiting of the simulated GPU; see sim_common.h. Any thread.
 */
#include "test/sim/sim_common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

/* How long a wait spins at its end. A sleep takes up to 50 us too long because of timer slack, and
 * a few us more for the wake-up. */
#define SPIN_NS 90000

void sim_log(const char *format, ...)
{
	char line[512];
	va_list args;
	va_start(args, format);
	int n = snprintf(line, sizeof(line), "profsim: ");
	n += vsnprintf(line + n, sizeof(line) - n - 1, format, args);
	va_end(args);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* a closed stderr is not an error */
	if (write(STDERR_FILENO, line, n) < 0)
		return;
}

void sim_sleep_until(int64_t ns)
{
	struct timespec t = { ns / 1000000000, ns % 1000000000 };
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		continue;
}

void sim_wait_until(int64_t ns)
{
	if (ns - sim_now_ns() > SPIN_NS + 10000)
		sim_sleep_until(ns - SPIN_NS);
	while (sim_now_ns() < ns)
		__builtin_ia32_pause();
}

static void number_read(double *value, const char *name, double standard, double least, double most)
{
	const char *text = getenv(name);
	*value = standard;
	if (!text || !*text)
		return;
	char *end;
	double number = strtod(text, &end);
	if (*end || !(number >= least && number <= most))
		sim_log("%s=%s is not a number from %g to %g; %g is used", name, text, least, most,
			standard);
	else
		*value = number;
}

static bool cupti_mode_valid(const char *text)
{
	static const char *const words[] = {
		"ok",	    "busy", "missing", "no-device-sync", "disable-hangs", "flush-crashes",
		"graph-ids"
	};
	static const char *const numbers[] = { "drop:", "full:", "zero-times:" };
	for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(text, words[i]))
			return true;
	for (unsigned i = 0; i < sizeof(numbers) / sizeof(*numbers); i++) {
		char *end;
		size_t length = strlen(numbers[i]);
		if (!strncmp(text, numbers[i], length))
			return strtol(text + length, &end, 10) > 0 && !*end;
	}
	return false;
}

/* Skips ":1", ":2", ":4", ":8" or nothing. Returns NULL if any other text follows the colon. */
static const char *bytes_skipped(const char *text)
{
	if (*text != ':')
		return text;
	return text[1] && strchr("1248", text[1]) ? text + 2 : NULL;
}

/* Checks the form TEXT=NUMBER[,...], or with `has_bytes` TEXT=NUMBER[:BYTES][,...]. */
static bool kernel_numbers_valid(const char *text, bool has_bytes)
{
	while (*text) {
		const char *equals = strchr(text, '=');
		char *end;
		if (!equals || equals == text || strtod(equals + 1, &end) < 0 || end == equals + 1)
			return false;
		text = has_bytes ? bytes_skipped(end) : end;
		if (!text || (*text && *text++ != ','))
			return false;
	}
	return true;
}

static bool graph_ids_valid(const char *text)
{
	static const char *const words[] = { "from-1", "gaps", "shuffled", "bodies-apart" };
	while (*text) {
		size_t length = strcspn(text, ",");
		bool known = false;
		for (unsigned i = 0; i < sizeof(words) / sizeof(*words); i++)
			known |= strlen(words[i]) == length && !strncmp(text, words[i], length);
		if (!known)
			return false;
		text += length + (text[length] == ',');
	}
	return true;
}

static const char *const setting_names[] = {
#define NUMBER(field, name, ...) name,
#define TEXT(field, name, ...)	 name,
#include "test/sim/sim_settings.def"
#undef NUMBER
#undef TEXT
};

static void unknown_report(void)
{
	for (char **e = environ; *e; e++) {
		size_t length = strcspn(*e, "=");
		bool known = strncmp(*e, "PROFSIM_", 8) != 0;
		for (unsigned i = 0; !known && i < sizeof(setting_names) / sizeof(*setting_names);
		     i++)
			known = strlen(setting_names[i]) == length &&
				!strncmp(*e, setting_names[i], length);
		if (!known)
			sim_log("unknown setting %.*s is ignored; test/sim/README.md lists them",
				(int)length, *e);
	}
}

void sim_settings_read(struct sim_settings *s)
{
#define NUMBER(field, name, standard, least, most, ...) \
	number_read(&s->field, name, standard, least, most);
#define TEXT(field, name, standard, ...) s->field = getenv(name) ?: standard;
#include "test/sim/sim_settings.def"
#undef NUMBER
#undef TEXT
	if (!cupti_mode_valid(s->cupti)) {
		sim_log("PROFSIM_CUPTI=%s is unknown; ok is used (see test/sim/README.md)",
			s->cupti);
		s->cupti = "ok";
	}
	if (!kernel_numbers_valid(s->kernel_times, false)) {
		sim_log("PROFSIM_KERNEL_TIMES=%s is not TEXT=US[,...]; it is ignored",
			s->kernel_times);
		s->kernel_times = "";
	}
	if (!kernel_numbers_valid(s->kernel_results, true)) {
		sim_log("PROFSIM_KERNEL_RESULTS=%s is not TEXT=N[:BYTES][,...]; it is ignored",
			s->kernel_results);
		s->kernel_results = "";
	}
	if (!graph_ids_valid(s->graph_ids)) {
		sim_log("PROFSIM_GRAPH_IDS=%s is unknown; it is ignored (see test/sim/README.md)",
			s->graph_ids);
		s->graph_ids = "";
	}
	unknown_report();
}

bool sim_say_once(struct sim_said *said, const char *name)
{
	for (int i = 0; i < said->count; i++)
		if (!strcmp(said->names[i], name))
			return false;
	if (said->count == sizeof(said->names) / sizeof(*said->names))
		return false;
	said->names[said->count++] = name;
	return true;
}
