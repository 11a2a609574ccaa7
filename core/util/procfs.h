/* What /proc says about processes. */
#ifndef CORE_PROCFS_H
#define CORE_PROCFS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* When the process began (field 22 of its stat), 0 if there is none or it has ended and only waits for its parent. */
uint64_t procfs_start(uint32_t pid);

/* Whether the process that began then is alive; `start` 0: it could not tell when that was. Where there is no /proc that can be read, whatever
 * has that number is it. */
bool procfs_is_alive(uint32_t pid, uint64_t start);

/* The number that a process has here which calls itself `pid` in its own namespace of pids (`wanted_namespace`: an inode, 0: not known): another one where that is
 * not ours (unshare, bubblewrap, Apptainer). 0: there is none. */
uint32_t procfs_number_here(uint32_t pid, uint64_t start, uint64_t wanted_namespace);

struct procfs_family {
	VEC(uint32_t) pids;
};

/* `pid` and all that it and its children started, as far as they are still its: to be freed. */
void procfs_family(uint32_t pid, struct procfs_family *family);

/* The run's folder whose journal the process has mapped; false: it has none. */
bool procfs_journal_folder(uint32_t pid, char *to, size_t bytes);

#endif
