/* What /proc says about processes. */
#ifndef CORE_PROCFS_H
#define CORE_PROCFS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns when the process started (field 22 of its stat), 0 if there is none or it is a zombie.
 */
uint64_t procfs_start(uint32_t pid);

/*
 * Returns whether the process that started at `start` (0: unknown) is alive. If /proc cannot be
 * read, any process with that pid counts.
 */
bool procfs_is_alive(uint32_t pid, uint64_t start);

/*
 * Returns the pid in our pid namespace of the process that has `pid` in its own
 * (`wanted_namespace`: an inode, 0: unknown); 0 if there is none. The two differ if it runs in
 * another namespace (unshare, bubblewrap, Apptainer).
 */
uint32_t procfs_number_here(uint32_t pid, uint64_t start, uint64_t wanted_namespace);

struct procfs_family {
	VEC(uint32_t) pids;
};

/* Lists `pid` and its descendants that were not reparented; free `pids`. */
void procfs_family(uint32_t pid, struct procfs_family *family);

/* Returns false if the process has no journal mapped, else the folder of its run in `to`. */
bool procfs_journal_folder(uint32_t pid, char *to, size_t bytes);

#endif
