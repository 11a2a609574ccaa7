/*
 * Reads the environment variables that concern profrun. Returns a variable's current value. If the
 * application has removed the variable (os.environ.clear(), a process title written over it),
 * returns the value at process start. A value that the application has set or changed takes
 * precedence, because launchers of several processes set a process's rank in this way. No locks, no
 * malloc.
 */
#ifndef PRELOAD_START_ENV_H
#define PRELOAD_START_ENV_H

/* Copies profrun's own variables, those that contain a rank, and CUDA_VISIBLE_DEVICES. Called by
 * the library's constructor. */
void start_env_keep(void);

/* Returns the value of a variable, NULL if it has none. The value belongs to the environment or
 * lives as long as the process. */
const char *start_env_get(const char *name);

/* Calls start_env_get. Has the type ranks_lookup (core/runtime/ranks.h). */
const char *start_env_lookup(void *unused, const char *name);

/* Returns all PROF_ entries as "NAME=VALUE", ended by NULL. The array is valid until the next
 * call. */
char *const *start_env_entries(void);

#endif
