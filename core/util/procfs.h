/* Reads facts about processes from /proc. Pids are those of the caller's pid namespace, unless a
 * comment says otherwise. */
#ifndef CORE_PROCFS_H
#define CORE_PROCFS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns when the process started: field 22 of /proc/PID/stat, in clock ticks since boot. Returns
 * 0 if there is no such process or it is a zombie.
 */
uint64_t procfs_start(uint32_t pid);

/*
 * Returns true if the process that started at `start` is alive. `start` is a result of
 * procfs_start(); 0: not known, and any process with this pid counts. If /proc cannot be read, any
 * process with this pid counts, too.
 */
bool procfs_is_alive(uint32_t pid, uint64_t start);

/*
 * Finds a process that may run in another pid namespace, as with unshare, bubblewrap or Apptainer.
 * `pid` is its pid in its own namespace, and `wanted_namespace` is the inode of this namespace.
 * Returns the pid of the process in the caller's namespace; 0: not found. Returns `pid` if
 * `wanted_namespace` is the caller's, or if a namespace or `start` is not known (0).
 */
uint32_t procfs_number_here(uint32_t pid, uint64_t start, uint64_t wanted_namespace);

struct procfs_family {
	VEC(uint32_t) pids;
};

/* Adds `pid` and all its descendants to `family`, which must be empty. Descendants whose parent has
 * ended are not found. The caller frees `pids`. */
void procfs_family(uint32_t pid, struct procfs_family *family);

/* Adds all processes of the user `uid` to `family`, which must be empty. The caller frees `pids`.
 */
void procfs_of_user(uint32_t uid, struct procfs_family *family);

/* Finds the run's folder from the journal that the process has mapped, and copies it to `to`.
 * Returns false if the process has no journal mapped. */
bool procfs_journal_folder(uint32_t pid, char *to, size_t bytes);

#endif
