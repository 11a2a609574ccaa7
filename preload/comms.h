/*
 * NCCL's communicators: which rank this process is in each, and how many collectives it has called. All ranks of a communicator call
 * the same collectives in the same order, and know it by the same name, so the numbers say across processes which calls belong together.
 * They are counted from the start, recorded or not. Look-ups take no lock.
 */
#ifndef PRELOAD_COMMS_H
#define PRELOAD_COMMS_H

#include "core/runtime/record.h"

struct nccl_id;

/* After the call that made it; a status that is neither success nor "in progress" is no communicator. */
void comms_learn(int status, void *const *comm, const struct nccl_id *id, int rank, int n_ranks);
void comms_learn_all(int status, void *const *comms, int n);
void comms_learn_split(int status, void *comm, int color, void *const *made);
void comms_forget(void *comm);

/* One collective more is called. */
void comms_count(void *comm);
/* Name, rank, number of ranks, the number of the last collective. */
void comms_fill(struct rec_library *l, void *comm);

#endif
