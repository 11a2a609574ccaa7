/*
 * What calls, copies, allocations and GPU work are: the words that the record format and the run
 * model share. Knows nothing of how they are stored.
 */
#ifndef CORE_KINDS_H
#define CORE_KINDS_H

#include <stdint.h>

#define DEVICE_UNKNOWN 255u

/* What a run's ticks are. */
enum journal_clock_kind { CLOCK_KIND_TSC = 1, CLOCK_KIND_MONOTONIC_NS = 2 };

/* ---- Categories of hooked functions, for the schedule, the pairing and the reports. ---- */

/*           id         name          records GPU work */
#define RECORD_CATEGORIES(X)       \
	X(LAUNCH, "launch", 1)     \
	X(GRAPH, "graph", 1)       \
	X(MEMCPY, "memcpy", 1)     \
	X(MEMSET, "memset", 1)     \
	X(PREFETCH, "prefetch", 0) \
	X(HOSTFUNC, "hostfunc", 0) \
	X(ALLOC, "alloc", 0)       \
	X(FREE, "free", 0)         \
	X(SYNC, "sync", 0)         \
	X(QUERY, "query", 0)       \
	X(EVENT, "event", 0)       \
	X(STREAM, "stream", 0)     \
	X(CAPTURE, "capture", 0)   \
	X(CONTROL, "control", 0)   \
	X(PROFILER, "profiler", 0)

enum record_category {
#define X(id, name, gpu) CAT_##id,
	RECORD_CATEGORIES(X)
#undef X
		CAT_COUNT
};

/* Bits of the categories for whose calls CUPTI delivers GPU records. */
static const uint32_t record_gpu_work =
#define X(id, name, gpu) (uint32_t)(gpu) << CAT_##id |
	RECORD_CATEGORIES(X)
#undef X
		0;

/* The subset that makes tokens (token.h). */
enum { RECORD_TOKENS = 1 << CAT_LAUNCH | 1 << CAT_GRAPH | 1 << CAT_MEMCPY };

/* The kind of memory that an ALLOC or FREE call concerns. */
enum record_space {
	SPACE_NONE,
	SPACE_DEVICE, /* cudaMalloc and its variants, including arrays */
	SPACE_POOL,   /* stream-ordered: cudaMallocAsync */
	SPACE_MANAGED,
	SPACE_HOST,	  /* pinned */
	SPACE_REGISTERED, /* existing memory, pinned later */
	SPACE_PHYSICAL,	  /* VMM: cuMemCreate/cuMemRelease, device memory without an address */
	SPACE_ADDRESS,	  /* VMM: reservations and mappings, no memory of their own */
	SPACE_IMPORTED,	  /* another process's memory */
};

enum record_entry_point { ENTRY_POINT_RUNTIME, ENTRY_POINT_DRIVER };

enum record_copy { COPY_UNKNOWN, COPY_H2D, COPY_D2H, COPY_D2D, COPY_H2H, COPY_P2P };

enum sched_action { SCHED_NONE, SCHED_WARMUP, SCHED_RECORD, SCHED_RECORD_AND_SAVE };

/* What requested steps, other than the schedule. */
enum trigger_cause { TRIGGER_NONE, TRIGGER_FILE, TRIGGER_SIGNAL, TRIGGER_SLOW, TRIGGER_CAUSES };

enum gpu_flag {
	GPU_INCOMPLETE = 1, /* delivered by a forced flush before it ended: end_ticks is unknown */
	GPU_ASYNC = 2,	    /* memcpy */
};

/* Libraries whose calls are recorded, as spans around their launches. */
#define RECORD_LIBRARIES(X)   \
	X(NCCL, "nccl")       \
	X(BLAS, "cublas")     \
	X(BLASLT, "cublasLt") \
	X(DNN, "cudnn")

enum record_library {
#define X(id, name) LIB_##id,
	RECORD_LIBRARIES(X)
#undef X
		LIBRARIES
};

/* What a library call's record contains besides its times. */
enum library_facts {
	FACTS_NONE,
	/* rec_library.gemm; `type` is a cudaDataType_t, `compute` a cublasComputeType_t or 0 */
	FACTS_GEMM,
	FACTS_COLLECTIVE, /* .nccl; `type` is a ncclDataType_t; all ranks call it */
	FACTS_MESSAGE,	  /* .nccl; `type` likewise; from or to `peer` */
	FACTS_GROUP_START,
	FACTS_GROUP_END, /* launches what was called since the group's start */
	FACTS_KINDS
};

/* The cudaDataType_t values that are needed. */
enum library_type {
	LIBRARY_F32 = 0,
	LIBRARY_F64 = 1,
	LIBRARY_F16 = 2,
	LIBRARY_I8 = 3,
	LIBRARY_C32 = 4,
	LIBRARY_C64 = 5,
	LIBRARY_BF16 = 14,
	LIBRARY_F8_E4M3 = 28,
	LIBRARY_F8_E5M2 = 29,
};

enum block_event {
	BLOCK_MADE,
	BLOCK_FREED,
	/* recording begins at `ticks`: BLOCK_LIVE records list all live blocks, earlier ones are
	 * void */
	BLOCK_KNOWN,
	BLOCK_LIVE,	     /* handed out before `ticks` and still live */
	BLOCK_OUT_OF_MEMORY, /* an allocation of `bytes` failed */
};

/* A piece of GPU work. */
enum work_kind {
	WORK_KERNEL,
	WORK_MEMCPY,
	WORK_MEMSET,
	WORK_SYNC, /* no work: what a synchronization waited for, as CUPTI saw it */
	WORK_KINDS
};

#endif
