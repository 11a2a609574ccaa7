/* The settings of a run and the application's environment. Options override environment variables.
 * A bad value in an option ends the run; a bad value in the environment is reported and ignored. */
#include "core/runtime/config.h"
#include "export/command.h"
#include "export/print.h"
#include "export/run.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

extern char **environ;

static const char *value_in(char *const *list, size_t n, const char *name)
{
	size_t length = strlen(name);
	const char *found = NULL;
	for (size_t i = 0; i < n && list[i]; i++)
		if (!strncmp(list[i], name, length) && list[i][length] == '=')
			found = list[i] + length + 1;
	return found;
}

const char *run_setting(const struct run *r, const char *name)
{
	const char *value = value_in(r->settings.at, r->settings.n, name);
	return value ? value : value_in(environ, SIZE_MAX, name);
}

static void say(void *context, const char *line)
{
	(void)context;
	print_err("profrun: %s\n", line);
}

static bool is_set_by_option(const struct run *r, const char *entry)
{
	char name[64];
	snprintf(name, sizeof(name), "%.*s", (int)strcspn(entry, "="), entry);
	return value_in(r->settings.at, r->settings.n, name);
}

/* Reports bad values in the environment, except for settings that an option overrides. The parser
 * has already refused bad values in options. Sets `is_sim`. Returns 0. */
int run_check_settings(struct run *r)
{
	struct config *c = mem_zero(sizeof(*c));
	VEC(char *) used = { 0 };
	for (char **entry = environ; *entry; entry++)
		if (!is_set_by_option(r, *entry))
			vec_push(&used, *entry);
	vec_push(&used, NULL);
	config_read(c, used.at, say, NULL);
	vec_free(&used);
	const char *sim = value_in(r->settings.at, r->settings.n, "PROF_SIM");
	r->is_sim = !strcmp(sim ? sim : c->sim.text, "1");
	free(c);
	return 0;
}

/* Appends `part` to the colon-separated list `to`, unless `part` is NULL or empty. */
static void append_path(char *to, size_t bytes, const char *part)
{
	size_t used = strlen(to);
	if (part && *part)
		snprintf(to + used, bytes - used, "%s%s", used ? ":" : "", part);
}

static void set(struct run *r, const char *name, const char *value)
{
	size_t length = strlen(name), bytes = length + strlen(value) + 2;
	char *entry = mem_resize(NULL, bytes);
	snprintf(entry, bytes, "%s=%s", name, value);
	for (size_t i = 0; i < r->environment.n; i++) {
		if (strncmp(r->environment.at[i], entry, length + 1))
			continue;
		free(r->environment.at[i]);
		r->environment.at[i] = entry;
		return;
	}
	vec_push(&r->environment, entry);
}

/*
 * Preloads the simulated libraries under their real names. A program may have its own search path
 * for libcudart (RPATH), but the dynamic linker does not search for a library that is already
 * loaded.
 */
static void add_sim(struct run *r, char *preload, size_t bytes)
{
	static const char *const names[] = { "libcudart.so.13", "libcudart.so.12", "libcupti.so.13",
					     "libcupti.so.12", "libprofsim_libs.so" };
	char path[PATH_MAX + 64], libraries[8192] = "";
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		snprintf(path, sizeof(path), "%s/sim/%s", r->home, names[i]);
		if (!access(path, R_OK) &&
		    !strpbrk(path, ": ")) /* such a path goes to LD_LIBRARY_PATH only */
			append_path(preload, bytes, path);
	}
	snprintf(path, sizeof(path), "%s/sim", r->home);
	append_path(libraries, sizeof(libraries), path);
	append_path(libraries, sizeof(libraries), value_in(environ, SIZE_MAX, "LD_LIBRARY_PATH"));
	set(r, "LD_LIBRARY_PATH", libraries);
}

/* Makes NVTX load our library, unless the user has set NVTX_INJECTION64_PATH or PROF_NVTX=off. */
static void add_nvtx(struct run *r, const char *library)
{
	const char *setting = run_setting(r, "PROF_NVTX");
	const char *own = value_in(environ, SIZE_MAX, "NVTX_INJECTION64_PATH");
	if (!(own && *own) && !(setting && !strcmp(setting, "off")))
		set(r, "NVTX_INJECTION64_PATH", library);
}

/*
 * Turns off AddressSanitizer's check of the link order. Where the sanitizer's runtime is a shared
 * library (as with gcc), it ends a program in which another library is loaded before it.
 * libprofrun.so may be loaded first, because it replaces no function of the runtime. Preloading the
 * runtime first is no solution, because every child process would load it, too.
 */
static void tell_sanitizer(struct run *r)
{
	static const char option[] = "verify_asan_link_order=";
	char options[4096] = "";
	const char *own = value_in(environ, SIZE_MAX, "ASAN_OPTIONS");
	if (own && (strstr(own, option) || strlen(own) + sizeof(option) + 2 > sizeof(options)))
		return;
	append_path(options, sizeof(options), own);
	append_path(options, sizeof(options), "verify_asan_link_order=0");
	set(r, "ASAN_OPTIONS", options);
}

static void add_settings(struct run *r)
{
	struct err e;
	for (size_t i = 0; i < config_n_rows; i++) {
		const char *name = config_rows[i].name, *value = run_setting(r, name);
		if (value && *value && config_check(name, value, &e))
			value = config_rows[i].fallback; /* run_check_settings() has reported it */
		if (value)
			set(r, name, value);
	}
	set(r, "PROF_OUT", r->folder);
	set(r, "PROF_LAUNCHED", "1");
}

void run_make_environment(struct run *r)
{
	char preload[16384] = "", library[PATH_MAX + 64];
	for (char **entry = environ; *entry; entry++)
		vec_push(&r->environment, mem_text(*entry));
	if (r->profiles) {
		snprintf(library, sizeof(library), "%s/libprofrun.so", r->home);
		append_path(preload, sizeof(preload), library);
		add_settings(r);
		add_nvtx(r, library);
	}
	if (r->is_sim)
		add_sim(r, preload, sizeof(preload));
	append_path(preload, sizeof(preload), value_in(environ, SIZE_MAX, "LD_PRELOAD"));
	if (*preload) {
		set(r, "LD_PRELOAD", preload);
		tell_sanitizer(r);
	}
	vec_push(&r->environment, NULL);
}
