/*
 * The kinds of calls, copies, allocations and GPU work. The record format (core/runtime/record.h)
 * and the run model (core/model) both use these enums. This file does not depend on how either of
 * them stores data.
 */
#ifndef CORE_KINDS_H
#define CORE_KINDS_H

#include <stdint.h>

#define DEVICE_UNKNOWN 255u

/* The unit of a run's ticks: cycles of the time-stamp counter, or nanoseconds. */
enum journal_clock_kind { CLOCK_KIND_TSC = 1, CLOCK_KIND_MONOTONIC_NS = 2 };

/* ---- Categories of hooked functions, for the schedule, the pairing and the reports. ---- */

/*           id         name          1: CUPTI delivers GPU records for its calls */
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
	X(PROFILER, "profiler", 0) \
	X(NODE, "node", 0)

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

/* Bits of the categories whose calls become nodes of a CUDA graph if their stream captures. */
enum {
	RECORD_NODES = 1 << CAT_LAUNCH | 1 << CAT_GRAPH | 1 << CAT_MEMCPY | 1 << CAT_MEMSET |
		       1 << CAT_HOSTFUNC
};

/* Bits of the categories whose calls have tokens (token.h). */
enum { RECORD_TOKENS = 1 << CAT_LAUNCH | 1 << CAT_GRAPH | 1 << CAT_MEMCPY };

/* ---- Samples of threads between calls ---- */

/* What a sampled thread did. All states but the first two mean that the kernel has blocked it. */
enum sample_state {
	SAMPLE_UNKNOWN,
	SAMPLE_RUNNING, /* on a CPU, or ready to run */
	SAMPLE_LOCK,	/* waited for a lock, a condition or another thread */
	SAMPLE_GIL,	/* waited for Python's global interpreter lock */
	SAMPLE_POLL,	/* waited for a pipe or a socket */
	SAMPLE_IO,	/* read or wrote a file, or waited for a page of a file */
	SAMPLE_SLEEP,
	SAMPLE_BLOCKED, /* in another system call */
	SAMPLE_CHILD,	/* waited for a child process to end */
	SAMPLE_STATES
};

enum sample_flag {
	SAMPLE_COLLECTING = 1, /* Python's garbage collector was running */
	SAMPLE_FLAGS_ALL = SAMPLE_COLLECTING
};

/* The kind of memory that an ALLOC or FREE call concerns. */
enum record_space {
	SPACE_NONE,
	SPACE_DEVICE, /* cudaMalloc and its variants, including arrays */
	SPACE_POOL,   /* device memory of a pool, stream-ordered: cudaMallocAsync */
	SPACE_MANAGED,
	SPACE_HOST,	  /* host memory that is allocated as pinned */
	SPACE_REGISTERED, /* host memory that existed and was pinned later */
	/* virtual memory management (VMM): cuMemCreate and cuMemRelease, device memory that has a
	 * handle but no address */
	SPACE_PHYSICAL,
	SPACE_ADDRESS,	/* VMM: reservations and mappings of addresses, which allocate no memory */
	SPACE_IMPORTED, /* memory of another process */
};

enum record_entry_point { ENTRY_POINT_RUNTIME, ENTRY_POINT_DRIVER };

enum record_copy { COPY_UNKNOWN, COPY_H2D, COPY_D2H, COPY_D2D, COPY_H2H, COPY_P2P };

/*
 * What happens to a step: torch.profiler's actions, and SCHED_OPENING. An action includes all
 * actions before it.
 */
enum sched_action {
	SCHED_NONE,
	SCHED_WARMUP,
	SCHED_OPENING, /* recorded in the opening (preload/opening.h), not wanted by the schedule */
	SCHED_RECORD,
	SCHED_RECORD_AND_SAVE
};

/* Why steps are recorded that the schedule did not ask for. */
enum trigger_cause { TRIGGER_NONE, TRIGGER_FILE, TRIGGER_SIGNAL, TRIGGER_SLOW, TRIGGER_CAUSES };

enum gpu_flag {
	/* a forced flush delivered the record before the work ended: end_ticks is unknown */
	GPU_INCOMPLETE = 1,
	GPU_ASYNC = 2, /* an asynchronous copy */
	/* `correlation` is that of an earlier graph launch (a fault of CUPTI) */
	GPU_WRONG_ID = 4,
};

/* Libraries whose calls are recorded. */
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

/* What struct rec_library contains about a call besides its times. */
enum library_facts {
	FACTS_NONE,
	/* a matrix multiplication: rec_library.gemm is filled, `type` is a cudaDataType_t,
	 * `compute` is a cublasComputeType_t or 0 */
	FACTS_GEMM,
	/* a collective, which all ranks call: rec_library.nccl is filled, `type` is a
	 * ncclDataType_t */
	FACTS_COLLECTIVE,
	/* a message from or to `peer`: rec_library.nccl is filled, `type` is a ncclDataType_t */
	FACTS_MESSAGE,
	FACTS_GROUP_START,
	/* the end of an NCCL group, which launches the calls made since the group's start */
	FACTS_GROUP_END,
	FACTS_KINDS,
	/* not of a journal: a framework's operator whose arithmetic is known from its inputs;
	 * `type` is as for FACTS_GEMM */
	FACTS_OPERATOR = FACTS_KINDS
};

/* The values of cudaDataType_t that are used. */
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

/* Events of a framework's caching allocator. */
enum block_event {
	BLOCK_MADE, /* the allocator handed out a block */
	BLOCK_FREED,
	/* Recording begins at `ticks`. BLOCK_LIVE records list all live blocks; blocks known from
	 * earlier records are forgotten. */
	BLOCK_KNOWN,
	BLOCK_LIVE,	     /* the block was handed out before `ticks` and is still live */
	BLOCK_OUT_OF_MEMORY, /* an allocation of `bytes` failed */
};

/* A piece of GPU work. */
enum work_kind {
	WORK_KERNEL,
	WORK_MEMCPY,
	WORK_MEMSET,
	WORK_SYNC, /* not work, but what a synchronization waited for, as CUPTI reports it */
	WORK_KINDS
};

#endif
