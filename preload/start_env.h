/*
 * The environment that concerns profrun: as it is now, and for what the application has taken out of it (os.environ.clear(), a title
 * written over it), as it was when the process began. What the application has set or changed since counts: launchers of several processes
 * say a process's rank in it. No locks, no malloc.
 */
#ifndef PRELOAD_START_ENV_H
#define PRELOAD_START_ENV_H

/* In the library's constructor: keeps a copy of what is profrun's, and of what says a rank. */
void start_env_keep(void);

/* getenv; the value is the environment's own, or lasts as long as the process. */
const char *start_env_get(const char *name);

/* The same as a ranks_lookup (core/runtime/ranks.h). */
const char *start_env_lookup(void *unused, const char *name);

/* All PROF_ entries, "NAME=VALUE", ended by NULL; lasts until the next call. */
char *const *start_env_entries(void);

#endif
