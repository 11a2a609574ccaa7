/*
 * A table of NCCL's communicators. For each one it has a name, this process's rank, and the number
 * of collectives that the process has called there. All ranks of a communicator compute the same
 * name and call the same collectives in the same order. So name and number identify the calls that
 * belong to one collective in different processes. Collectives are counted from the start of the
 * process, recorded or not. Look-ups take no lock.
 */
#ifndef PRELOAD_COMMS_H
#define PRELOAD_COMMS_H

#include "core/runtime/record.h"

struct nccl_id;

/*
 * These functions are called after a call that created one communicator (comms_learn), one per
 * device (comms_learn_all) or a part of an existing one (comms_learn_split). They add no
 * communicator if `status` is neither success nor "in progress".
 */
void comms_learn(int status, void *const *comm, const struct nccl_id *id, int rank, int n_ranks);
void comms_learn_all(int status, void *const *comms, int n);
void comms_learn_split(int status, void *comm, int color, void *const *made);
/* Called before a communicator is destroyed. */
void comms_forget(void *comm);

/* Counts a collective that is about to be called. */
void comms_count(void *comm);
/*
 * Sets the fields of `l` that describe the communicator: its name, this process's rank, the number
 * of ranks, and the number of the last collective.
 */
void comms_fill(struct rec_library *l, void *comm);

#endif
