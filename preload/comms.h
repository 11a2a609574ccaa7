/*
 * NCCL's communicators: this process's rank in each, and how many collectives it has called there.
 * All ranks of a communicator call the same collectives in the same order and compute the same name
 * for it. Name and number therefore match the calls of a collective across processes. Collectives
 * are counted from the start, recorded or not. Look-ups take no lock.
 */
#ifndef PRELOAD_COMMS_H
#define PRELOAD_COMMS_H

#include "core/runtime/record.h"

struct nccl_id;

/*
 * Called after the call that created a communicator. Do nothing if `status` is neither success nor
 * "in progress".
 */
void comms_learn(int status, void *const *comm, const struct nccl_id *id, int rank, int n_ranks);
void comms_learn_all(int status, void *const *comms, int n);
void comms_learn_split(int status, void *comm, int color, void *const *made);
void comms_forget(void *comm);

/* Counts a collective that is about to be called. */
void comms_count(void *comm);
/* Sets name, rank, number of ranks, and the number of the last collective. */
void comms_fill(struct rec_library *l, void *comm);

#endif
