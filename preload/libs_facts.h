/*
 * Functions for the `facts` column of libs.def. They copy a call's facts into its record, after the
 * real call.
 */
#ifndef PRELOAD_LIBS_FACTS_H
#define PRELOAD_LIBS_FACTS_H

#include "preload/comms.h"
#include "preload/libs.h"

static inline void take_gemm(struct rec_library *l, int64_t m, int64_t n, int64_t k, int64_t batch,
			     int type, int compute)
{
	l->type = (uint8_t)type;
	l->compute = (uint8_t)compute;
	l->gemm.m = (uint64_t)m;
	l->gemm.n = (uint64_t)n;
	l->gemm.k = (uint64_t)k;
	l->gemm.batch = (uint32_t)batch;
}

/*
 * Records a collective. comms_fill() also sets the collective's number, which comms_count() has
 * counted.
 */
static inline void take_collective(struct rec_library *l, size_t count, int type, int root,
				   void *comm, void *stream)
{
	l->type = (uint8_t)type;
	l->stream = (uint64_t)(uintptr_t)stream;
	l->nccl.count = count;
	l->nccl.peer = root;
	comms_fill(l, comm);
}

/*
 * Records a message to or from `peer`. Only two ranks take part, so the message has no number among
 * the communicator's collectives.
 */
static inline void take_message(struct rec_library *l, size_t count, int type, int peer, void *comm,
				void *stream)
{
	take_collective(l, count, type, peer, comm, stream);
	l->nccl.sequence = 0;
}

/*
 * Records a matrix product of cuBLASLt. Reads the sizes from cuBLASLt's opaque layouts: A is m by k
 * or k by m, D is m by n. Defined in libs_layouts.c.
 */
void take_layouts(struct rec_library *l, void *a, void *d, void *stream);

#endif
