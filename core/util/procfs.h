/* What /proc says about processes. */
#ifndef CORE_PROCFS_H
#define CORE_PROCFS_H

#include "core/util/vec.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Returns when the process began (field 22 of its stat); 0 if there is none, or it has ended and
 * only waits for its parent.
 */
uint64_t procfs_start(uint32_t pid);

/*
 * Whether the process `pid` that began at `start` is alive. `start` 0: its begin is not known.
 * Where /proc cannot be read, any process with that number counts.
 */
bool procfs_is_alive(uint32_t pid, uint64_t start);

/*
 * Returns the number here of the process that is `pid` in its own pid namespace; 0: there is none.
 * The number differs from `pid` if that namespace is not ours (unshare, bubblewrap, Apptainer).
 * `wanted_namespace`: the namespace's inode; 0: not known.
 */
uint32_t procfs_number_here(uint32_t pid, uint64_t start, uint64_t wanted_namespace);

struct procfs_family {
	VEC(uint32_t) pids;
};

/* `pid` and all that it and its children started, as far as they are still its: to be freed. */
void procfs_family(uint32_t pid, struct procfs_family *family);

/* The run's folder whose journal the process has mapped; false: it has none. */
bool procfs_journal_folder(uint32_t pid, char *to, size_t bytes);

#endif
