/*
 * The environment variables that concern profrun: their current values or, if the application has
 * removed them since (os.environ.clear(), a process title written over them), those at process
 * start. What the application has set or changed since then takes precedence: launchers of several
 * processes set a process's rank that way. No locks, no malloc.
 */
#ifndef PRELOAD_START_ENV_H
#define PRELOAD_START_ENV_H

/* Copies profrun's own variables and those that contain a rank. Called by the library's
 * constructor. */
void start_env_keep(void);

/* Like getenv. The value is the environment's own or lives as long as the process. */
const char *start_env_get(const char *name);

/* start_env_get as a ranks_lookup (core/runtime/ranks.h). */
const char *start_env_lookup(void *unused, const char *name);

/* Returns all PROF_ entries, "NAME=VALUE", ended by NULL; valid until the next call. */
char *const *start_env_entries(void);

#endif
