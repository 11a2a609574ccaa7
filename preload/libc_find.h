/*
 * Finds functions of glibc by name, in its tables of symbols. The result is glibc's own function,
 * even if other preloaded libraries define the same name. It is also found on an older glibc, where
 * the function lies in another of glibc's libraries than on a newer one.
 */
#ifndef PRELOAD_LIBC_FIND_H
#define PRELOAD_LIBC_FIND_H

/*
 * Returns the newest version of glibc's function `name`. Returns NULL if no mapped library of glibc
 * has it. Takes no lock and allocates nothing: glibc's libraries are in the list of objects before
 * those that may be unloaded. Any thread, even before constructors run.
 */
void *libc_find(const char *name);

struct dl_find_object;

/*
 * Calls glibc's _dl_find_object, which finds the object that contains `address` without a lock.
 * Returns 0, or -1 if there is no such object. Returns LIBC_TOO_OLD before glibc 2.35.
 */
enum { LIBC_TOO_OLD = 1 };
int libc_find_object(void *address, struct dl_find_object *result);

#endif
