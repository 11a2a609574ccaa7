/*
 * The binary format of a journal. It is the only contract between the library in the application
 * (preload/) and the tools (export/). A journal is one file. While the application runs, both sides
 * map it MAP_SHARED:
 *
 *   struct journal_header | chunk directory | dictionary | chunks...
 *
 * - Each chunk holds part of one thread's records, in order. When a chunk is full, its thread takes
 *   a new chunk. A thread publishes a record by a release store to `committed_bytes` in the chunk's
 *   directory entry.
 * - The dictionary holds records that are written once (hooks, names, threads, launch shapes). Its
 *   space is never reused. A thread publishes a dictionary record by a release store of the
 *   record's first eight bytes.
 * - All times are ticks of the clock that the header names (see struct journal_clock), except those
 *   whose name ends in `_ns`.
 *
 * The reader never trusts mapped data. If a file is torn or foreign, the reader returns an error or
 * fewer records.
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include "core/runtime/kinds.h"
#include "core/runtime/step_state.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define JOURNAL_MAGIC	"PROFRUN\n"
#define JOURNAL_VERSION 4u

/*
 * 64 KiB hold 1,365 calls. So the cost of taking a chunk, spread over its calls, is well under a
 * nanosecond per call.
 */
#define JOURNAL_CHUNK_BYTES 65536u

/* ---- Chunk records. Kind and size come first, so that a reader can skip unknown kinds. ---- */

enum record_kind {
	REC_NONE,
	REC_CALL,      /* struct rec_call: one call of a hooked CUDA function */
	REC_STEP,      /* struct rec_step: a step boundary, or a change in how steps are counted */
	REC_DROPPED,   /* struct rec_dropped: records are missing here */
	REC_GPU_STATE, /* struct rec_gpu_state: GPU timing was switched on or off */
	REC_EXTERNAL,  /* struct rec_external: maps a CUPTI correlation id to a call */
	REC_API,       /* struct rec_api: CUPTI's own record of an API call */
	REC_KERNEL,    /* struct rec_gpu */
	REC_MEMCPY,    /* struct rec_gpu */
	REC_MEMSET,    /* struct rec_gpu */
	REC_GPU_SYNC,  /* struct rec_gpu: what a synchronization waited for, from CUPTI */
	REC_OVERHEAD,  /* struct rec_overhead: time that CUPTI spent on its own work */
	REC_POOL,      /* struct rec_pool: memory pool sizes */
	REC_RANGE,     /* struct rec_range: the application's own NVTX ranges and marks */
	/* struct rec_library: a call of NCCL, cuBLAS, cuBLASLt or cuDNN, which made CUDA calls */
	REC_LIBRARY,
	REC_BLOCK,    /* struct rec_block: a framework's allocator handed out a block or freed it */
	REC_MEMORY,   /* struct rec_memory: the totals of a framework's allocator */
	REC_SAMPLE,   /* struct rec_sample: where a thread was between two calls */
	REC_THREAD,   /* struct rec_thread: a thread was created or joined, or began */
	REC_CPU_WAIT, /* struct rec_cpu_wait: a thread was ready to run, but not on a CPU */
	REC_NODE,     /* struct rec_node: a call became a node of a CUDA graph */
	REC_GRAPH, /* struct rec_graph: a CUDA graph was made, instantiated, changed or destroyed */
	REC_KINDS
};

struct rec_head {
	uint8_t kind;
	uint8_t words; /* size of the whole record in units of 8 bytes */
	uint16_t u16;
	uint32_t u32;
};

/*
 * One call of a hooked CUDA function. `arg`, `bytes`, `detail` and `stream` depend on the category
 * of the function:
 *   LAUNCH    arg = launch token, described by a DICT_LAUNCH
 *   GRAPH     arg = graph exec handle
 *   MEMCPY    arg = bytes, detail = enum record_copy
 *   MEMSET    arg = bytes
 *   PREFETCH  arg = bytes
 *   ALLOC     arg = address or handle, bytes = size        (no seq)
 *   FREE      arg = address or handle, bytes = 0 unless known
 *   EVENT, SYNC, QUERY   arg = event handle; 0 if the function takes no event
 *   LAUNCH, GRAPH, MEMCPY, MEMSET, HOSTFUNC   `detail` has REC_CALL_CAPTURED if the call became a
 *             node of a CUDA graph
 *   QUERY     detail = number of queries of the same object that returned "not ready" directly
 *             before this one, with no other record of the thread in between; seq = ticks since the
 *             first of these queries returned, >> REC_POLLED_SHIFT
 *   STREAM    stream = the handle
 *   NODE      arg = as in struct rec_node if the call adds a node, else the node; detail = enum
 *             node_type
 *
 * `seq` numbers the calls of a thread that make GPU work, from 1 (mod 2^32). Calls that were not
 * recorded are counted, too. So a gap between the numbers of two records means that calls were
 * dropped, or were made between two windows. The pair (thread slot, seq) is the external
 * correlation id of CUPTI that struct rec_external contains.
 */
struct rec_call {
	uint8_t kind, words;
	uint16_t hook;	/* id of the function's DICT_HOOK */
	uint32_t stack; /* id of a DICT_STACK; 0: no stack was taken */
	uint64_t begin_ticks;
	uint64_t duration : 40; /* packed, see record_duration() */
	uint64_t status : 10;	/* result code that the call returned, 0: success */
	/* number of the context that the program created, see devices_context(); 0: primary */
	uint64_t context : 6;
	uint64_t device : 8; /* 255: unknown */
	union {
		struct {
			uint32_t seq, detail;
		};
		uint64_t bytes;
	};
	uint64_t stream;
	uint64_t arg;
};

/* in `detail` of a struct rec_call */
#define REC_CALL_CAPTURED 0x80000000u

/*
 * Returns whether the call became a node of a CUDA graph. It then made no GPU work. The ingest
 * changes the kind of such calls.
 */
static inline bool record_is_captured(const struct rec_call *c, unsigned category)
{
	return c->kind == REC_NODE ||
	       (RECORD_NODES >> category & 1 && c->detail & REC_CALL_CAPTURED);
}

/* 1,024 cycles of a time-stamp counter of 2 GHz or more are half a microsecond at most. */
#define REC_POLLED_SHIFT 10

/*
 * Packs a duration into 40 bits. Up to 39 bits (about 3 minutes) are stored in ticks. Longer
 * durations are stored in units of 4,096 ticks, with bit 39 set, so that the length of a hung call
 * is kept.
 */
static inline uint64_t record_pack_duration(uint64_t ticks)
{
	if (__builtin_expect(ticks < (1ull << 39), 1))
		return ticks;
	ticks >>= 12;
	return (ticks < (1ull << 39) ? ticks : (1ull << 39) - 1) | 1ull << 39;
}

/* Returns the call's duration in ticks. */
static inline uint64_t record_duration(const struct rec_call *c)
{
	return c->duration >> 39 ? (c->duration & ((1ull << 39) - 1)) << 12 : c->duration;
}

/*
 * What a struct rec_step reports. The events from STEP_COUNTED on, except STEP_TRIGGERED, are only
 * written in mode auto. The section on step detection, before struct journal_steps, explains
 * anchor, generation, base and backup.
 */
enum step_event {
	/* step `number` begins at `ticks`; `detail` not 0: it is a time slice of `detail` ms */
	STEP_BEGIN,
	/* there is no step from `ticks` on: the last step has ended, or cudaProfilerStop() was
	 * called (PROF_STEP=api) */
	STEP_OUTSIDE,
	/* a step begins at `ticks`: the anchor has occurred `number` times since it was adopted;
	 * the absolute step number is not known yet */
	STEP_COUNTED,
	/* steps were requested: `action` = enum trigger_cause; `generation` = number of the
	 * request; `number` = first step that is recorded for the request; `detail` = number of
	 * steps. Written before the STEP_BEGIN of the step that begins at `ticks`. */
	STEP_TRIGGERED,
	/* an anchor was locked: `detail` = its hash; `number` = its base; `action` = enum
	 * step_numbered */
	STEP_NUMBERED,
	/* follows STEP_NUMBERED if the anchor has a backup: `detail` = hash of the backup;
	 * `number` = `within` of struct iteration_anchors, with `apart` in the upper 32 bits */
	STEP_BACKUP,
	/* the anchor stopped occurring; work from `ticks` on is outside the step */
	STEP_CUT,
	/* the steps that the anchor of generation `detail` counted are void; the anchor of
	 * generation `generation` replaces it */
	STEP_CORRECTED,
	/* the opening ended (preload/opening.h); if a limit ended it, this may be inside a step */
	STEP_OPENING_ENDED,
	/* follows STEP_NUMBERED if not every anchor ends a step: `number` = `every` of struct
	 * iteration_anchors, with anchor_lead of struct journal_steps in the upper 32 bits */
	STEP_EVERY,
};

/* Bits of `action` in a STEP_NUMBERED. */
enum step_numbered {
	/* an optimizer ends the steps of this anchor, but did not end earlier steps */
	NUMBERED_TRAINING = 1,
	NUMBERED_LATE = 2, /* see is_late in struct journal_steps */
};

/* A step boundary, or a change in how steps are counted. If enum step_event does not say what
 * `number` is, it is the number of the current step. */
struct rec_step {
	uint8_t kind, words;
	uint8_t event;	     /* enum step_event */
	uint8_t action;	     /* enum sched_action of the step that begins */
	uint32_t generation; /* generation of the anchor, if enum step_event says nothing else */
	uint64_t ticks;
	uint64_t number;
	uint64_t detail;
};

/* Written in place of records that were dropped because the journal was full. */
struct rec_dropped {
	uint8_t kind, words;
	uint16_t reserved;
	uint32_t lost_kind; /* enum record_kind of the dropped records; 0: several kinds */
	uint64_t count;
	uint64_t first_ticks, last_ticks; /* when the first and the last record were dropped */
};

enum gpu_state {
	/* Calls from `ticks` on may have no GPU records. GPU records of earlier calls may still
	 * arrive. */
	GPU_OFF,
	GPU_ON,	     /* calls from `ticks` on have GPU records */
	GPU_FLUSHED, /* the GPU records of all work launched before `ticks` have arrived */
	/* GPU timing does not work: `detail` = CUPTI's result or -errno; DICT_INFO "cupti" contains
	 * the reason as text */
	GPU_UNAVAILABLE,
	GPU_LOST,    /* CUPTI dropped `detail` records */
	GPU_YIELDED, /* like GPU_OFF: the application's own profiler uses CUPTI */
	/* like GPU_ON, but copies have no GPU records; DICT_INFO "copies" contains the reason */
	GPU_ON_BUT_COPIES,
	/*
	 * The journal was full: the GPU records of `detail` & 0xffffffff correlation ids from
	 * first_id to `detail` >> 32 were dropped. Written before the next record of GPU work.
	 */
	GPU_DROPPED,
};

/* A change of GPU timing. */
struct rec_gpu_state {
	uint8_t kind, words;
	uint16_t state; /* enum gpu_state */
	/* GPU_DROPPED: see there. GPU_ON, GPU_ON_BUT_COPIES: first correlation id of the CUPTI
	 * session. Work launched from
	 * `ticks` on has this id or a higher one. Work of earlier sessions has lower ids. If
	 * first_id is the same as in the previous GPU_ON, CUPTI kept recording in between.
	 * Otherwise CUPTI recorded nothing in between. */
	uint32_t first_id;
	uint64_t ticks;
	uint64_t detail; /* see enum gpu_state */
};

/* Maps a CUPTI correlation id to the call with number `seq` (struct rec_call) of a thread. */
struct rec_external {
	uint8_t kind, words;
	uint16_t reserved;
	uint32_t correlation;
	uint32_t seq;
	uint32_t thread; /* `slot` of the thread's DICT_THREAD */
};

/* CUPTI's own record of an API call. */
struct rec_api {
	uint8_t kind, words;
	uint16_t is_driver; /* 1: of the driver API, 0: of the runtime API */
	uint32_t correlation;
	uint64_t begin_ticks, end_ticks;
	/* CUPTI's id of the thread: `handle` of struct dict_thread, or `tid` if another tool has
	 * switched CUPTI to Linux thread ids */
	uint32_t tid;
	uint32_t cbid; /* CUPTI's number of the API function */
};

/*
 * One piece of GPU work as CUPTI timed it. `name`, `node` and the union depend on the kind:
 *   KERNEL   name = DICT_KERNEL id, dims = grid
 *   MEMCPY   name = copy kind (CUpti_ActivityMemcpyKind) | source memory kind << 8
 *            | destination << 16, bytes; peer = other device
 *   MEMSET   name = value, memory kind << 8 in `extra`, bytes
 *   GPU_SYNC name = CUpti_ActivitySynchronizationType, node = CUPTI's id of the CUDA event
 */
struct rec_gpu {
	uint8_t kind, words;
	uint8_t device;
	uint8_t flags; /* enum gpu_flag */
	uint32_t name;
	uint64_t begin_ticks, end_ticks;
	uint32_t correlation;
	uint32_t stream; /* CUPTI's stream id */
	union {
		uint32_t grid[3];
		struct {
			uint32_t bytes_low, bytes_high, extra; /* halves of `bytes` */
		};
	};
	uint32_t context;
	uint64_t node; /* id of the graph node; 0: the work is not from a graph */
	uint32_t graph;
	uint32_t peer;
};

/* Returns the CUpti_ActivityMemoryKind of the memory that a REC_MEMSET sets. */
static inline uint32_t record_memset_memory(const struct rec_gpu *g)
{
	return g->extra >> 8 & 0xff;
}

/* Time that CUPTI or the driver spent on its own work. */
struct rec_overhead {
	uint8_t kind, words;
	uint16_t what; /* CUpti_ActivityOverheadKind >> 16; 0: the driver compiled code */
	uint32_t tid;
	uint64_t begin_ticks, end_ticks;
};

/* A change of a memory pool, with its sizes after the change. */
struct rec_pool {
	uint8_t kind, words;
	uint16_t operation; /* CUpti_ActivityMemoryPoolOperationType */
	uint32_t device;
	uint64_t ticks, address, size_bytes, utilized_bytes;
};

enum range_event {
	RANGE_PUSH, /* begins a range on this thread, inside the thread's open ranges */
	RANGE_POP,  /* ends the range of the RANGE_PUSH with the same `id` on this thread */
	RANGE_START,
	RANGE_END, /* ends the range of the RANGE_START with the same `id` on any thread */
	RANGE_MARK,
};

struct rec_range {
	uint8_t kind, words;
	uint16_t event; /* enum range_event */
	uint32_t name;	/* id of a DICT_STRING; 0: no name, or unknown (POP, END) */
	uint64_t ticks;
	uint64_t id;	 /* of the range; of PUSH and POP unique only within the thread */
	uint32_t domain; /* id of the DICT_STRING with the domain's name; 0: the default domain */
	uint32_t color;	 /* ARGB; 0: no color */
};

enum { REC_SHAPES_MOST = 0xFFFF };

/* One call of a library. Written when the call returns. */
struct rec_library {
	uint8_t kind, words;
	uint16_t function;     /* id of a DICT_LIBRARY */
	uint16_t status;       /* the library's result code, 0: success */
	uint8_t type, compute; /* see enum library_facts */
	uint64_t begin_ticks, end_ticks;
	uint64_t stream; /* 0: the default stream, or unknown */
	union {
		struct {
			uint64_t m, n, k;
			/* `shape`: not 0: this is no call, but describes the products whose
			 * captured calls have this number, at most REC_SHAPES_MOST */
			uint32_t batch, shape;
		} gemm; /* C (m by n) = A (m by k) * B (k by n), `batch` times */
		struct {
			uint64_t count; /* elements, as the function counts them */
			/* the communicator's id, the same in all ranks; 0: unknown */
			uint64_t comm;
			/* number of the collective on its communicator, from 1; 0: not counted */
			uint32_t sequence;
			int32_t peer; /* root of a collective, partner of a message; -1: none */
			/* this process's rank and the number of ranks in the communicator;
			 * 65535 and 0: unknown */
			uint16_t rank, n_ranks;
			uint32_t reserved;
		} nccl;
	};
};

/*
 * An event of PyTorch's caching allocator, as the allocator reports it to PyTorch's own profiler.
 * Written only while steps are recorded; struct rec_memory is written in other steps, too.
 */
struct rec_block {
	uint8_t kind, words;
	uint8_t event; /* enum block_event */
	uint8_t device;
	uint32_t stack; /* MADE, LIVE: DICT_STACK id of the allocation; 0: no stack was taken */
	uint64_t ticks;
	uint64_t address, bytes; /* `bytes`: the size as rounded by the allocator */
	union {
		struct {
			/* the device's totals after the event */
			uint64_t allocated_bytes, reserved_bytes;
		};
		/* LIVE: when the block was made. If the block was made in a step that was not
		 * recorded, this is when that step began. */
		uint64_t made_ticks;
	};
};

/*
 * The totals of PyTorch's caching allocator on a device at the start of a step, whether or not the
 * step is recorded. Written only if the totals have changed.
 */
struct rec_memory {
	uint8_t kind, words;
	uint8_t device, reserved;
	uint32_t n_lost; /* live blocks that have no BLOCK_LIVE, because there were too many */
	uint64_t ticks;
	uint64_t allocated_bytes, reserved_bytes;
	uint64_t peak_allocated_bytes, peak_reserved_bytes; /* since the process began */
};

/*
 * One sample of a thread that was outside all hooked calls. The library's sampling thread writes it
 * (preload/host.h).
 */
struct rec_sample {
	uint8_t kind, words;
	uint8_t state;	/* enum sample_state */
	uint8_t flags;	/* enum sample_flag */
	uint32_t stack; /* id of a DICT_STACK with the thread's Python frames; 0: none known */
	uint64_t ticks;
	uint32_t thread; /* `slot` of the sampled thread's DICT_THREAD */
	union {
		uint32_t system_call; /* number of the call that blocks; 0: none or unknown */
		/* SAMPLE_GIL: id of a DICT_STACK of the thread that had the GIL; 0: unknown */
		uint32_t holder;
	};
};

enum thread_event {
	THREAD_CREATES, /* the thread creates another one */
	THREAD_JOINS,	/* it has joined another one */
	THREAD_BEGINS,	/* it was created: repeats what its creator wrote */
	THREAD_EVENTS
};

/* Written only while launches take stacks. A THREAD_BEGINS precedes the thread's first call. */
struct rec_thread {
	uint8_t kind, words;
	uint16_t event;	  /* enum thread_event */
	uint32_t stack;	  /* id of the creator's DICT_STACK; 0: none */
	uint64_t ticks;	  /* of the creation or of the end of the join */
	uint32_t creator; /* `slot` of the creator's DICT_THREAD */
	uint32_t reserved;
};

/*
 * A launching thread was ready to run for `wait_ns` within the span, but other threads had the
 * CPUs. The kernel counts the wait when it ends, and the library's sampling thread reads the
 * counter in each period. So the span is some milliseconds long at most, and may be longer than the
 * wait.
 */
struct rec_cpu_wait {
	uint8_t kind, words;
	uint16_t reserved;
	uint32_t thread; /* `slot` of the thread's DICT_THREAD */
	uint64_t begin_ticks, end_ticks;
	uint64_t wait_ns;
};

/* What a node of a CUDA graph does. */
enum node_type {
	NODE_OTHER, /* no GPU work that CUPTI records: a host function, an event, ... */
	NODE_KERNEL,
	NODE_MEMCPY,
	NODE_MEMSET,
	NODE_CHILD, /* the work of another graph */
	NODE_TYPES
};

/* Bits of `flags` in a struct rec_node. */
enum node_flag {
	/* `local` is the id that the driver gave the node. Otherwise it is the number of nodes that
	 * the graph contained before this one. */
	NODE_ID_IS_EXACT = 1,
	/* the other graph is the body of a conditional node, which gets its nodes later */
	NODE_IS_BODY = 4,
};

/*
 * A call that made a node of a CUDA graph: a call that was captured, or cudaGraphAdd...Node().
 * Written whether or not the step is recorded, because a graph is captured long before it is
 * replayed. `arg` depends on the node:
 *   KERNEL           launch token, described by a DICT_LAUNCH
 *   MEMCPY, MEMSET   bytes
 *   CHILD            handle of the other graph
 */
struct rec_node {
	uint8_t kind, words;
	uint16_t hook;	/* id of the function's DICT_HOOK */
	uint32_t stack; /* id of a DICT_STACK; 0: no stack was taken */
	uint64_t begin_ticks;
	uint32_t ticks;	      /* length of the call, at most UINT32_MAX */
	uint32_t local;	      /* see NODE_ID_IS_EXACT */
	uint64_t graph, node; /* handles */
	uint64_t stream;      /* that captured the call; 0: the node was not captured */
	uint64_t arg;
	uint8_t type;	/* enum node_type */
	uint8_t flags;	/* enum node_flag */
	uint8_t device; /* 255: unknown */
	uint8_t copy;	/* enum record_copy */
	/* The library's matrix product that made the call: number of its shape (rec_library), and
	 * above these 16 bits a number of the product, which differs from those of other products
	 * that were captured at about the same time. 0: none. */
	uint32_t product;
};

enum graph_event {
	GRAPH_MADE,   /* `graph` was made, without nodes: by a capture, or by cudaGraphCreate() */
	GRAPH_CLONED, /* `graph` was made as a copy of the graph `of` */
	GRAPH_GONE,   /* `graph` is about to be destroyed */
	/* the executable graph `of` was made of `graph`; `id`: its number in CUPTI's records, 0:
	 * unknown */
	GRAPH_INSTANTIATED,
	GRAPH_UPDATED,	    /* the executable graph `of` now does the work of `graph` */
	GRAPH_EXEC_GONE,    /* the executable graph `of` is about to be destroyed */
	GRAPH_NODE_GONE,    /* the node `of` is about to be destroyed */
	GRAPH_NODE_CHANGED, /* the node `of` got new parameters; `graph` is not set */
	GRAPH_EXEC_CHANGED, /* the node `graph` got new parameters in the executable graph `of` */
	GRAPH_EVENTS
};

/* A change of a CUDA graph. Threads may write these records and REC_NODE in any order; `ticks`
 * orders them. */
struct rec_graph {
	uint8_t kind, words;
	uint16_t event; /* enum graph_event */
	uint32_t id;
	uint64_t ticks;
	uint64_t graph, of; /* handles, see enum graph_event */
};

/* ---- Dictionary records. ---- */

enum dict_kind {
	DICT_NONE,
	DICT_INFO,    /* a fact about the process: key NUL value NUL */
	DICT_HOOK,    /* struct dict_hook */
	DICT_THREAD,  /* struct dict_thread */
	DICT_STRING,  /* id, text NUL */
	DICT_LAUNCH,  /* struct dict_launch */
	DICT_KERNEL,  /* struct dict_kernel */
	DICT_DEVICE,  /* struct dict_device */
	DICT_MODULE,  /* struct dict_module */
	DICT_CODE,    /* struct dict_code */
	DICT_STACK,   /* struct dict_stack */
	DICT_LIBRARY, /* struct dict_library */
	DICT_KINDS
};

#define DICT_MARK 0xD1C7u

/* The head of a dictionary record. It is stored after the rest of the record, as one 64-bit release
 * store. */
struct dict_head {
	uint16_t mark;	/* DICT_MARK */
	uint16_t kind;	/* enum dict_kind */
	uint32_t bytes; /* size of the whole record with its head; a multiple of 8 */
};

/* A hooked CUDA function. */
struct dict_hook {
	struct dict_head head;
	uint16_t id;
	/* enum record_category, enum record_entry_point, enum record_space */
	uint8_t category, entry_point, space;
	uint8_t reserved[3];
	char name[]; /* the symbol, NUL-terminated */
};

/* A function of a library whose calls are recorded (struct rec_library). */
struct dict_library {
	struct dict_head head;
	uint16_t id;
	uint8_t family, facts; /* enum record_library, enum library_facts */
	uint32_t reserved;
	char name[]; /* the symbol, NUL-terminated */
};

struct dict_thread {
	struct dict_head head;
	uint32_t slot, tid; /* the thread's number in the journal, from 1; its Linux thread id */
	char name[16];
	uint32_t handle; /* low half of pthread_self(): CUPTI's thread id by default */
	uint32_t reserved;
};

struct dict_string {
	struct dict_head head;
	uint32_t id;
	char text[];
};

/* The shape of a launch as the application requested it. Written when the shape first occurs. */
struct dict_launch {
	struct dict_head head;
	uint64_t token;	   /* see core/runtime/token.h */
	uint64_t function; /* the function's handle, as the application passed it */
	uint32_t name;	   /* id of the DICT_STRING with the mangled name; 0: unknown */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes; /* dynamic shared memory */
};

/* A kernel as CUPTI reports it. Values that change from launch to launch are in struct rec_gpu. */
struct dict_kernel {
	struct dict_head head;
	uint32_t id;
	uint32_t name; /* id of the DICT_STRING with the mangled name */
	uint32_t block[3];
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes; /* registers per thread */
	uint32_t local_bytes_per_thread, reserved;
};

struct dict_device {
	struct dict_head head;
	uint32_t id, multiprocessors;
	uint32_t compute_major, compute_minor;
	uint64_t memory_bytes;
	char name[64];
};

/*
 * A loaded ELF object (executable or shared library) that contains frames. A frame's address is
 * stored as an offset from `base`. The offset is also the virtual address in the ELF file.
 */
struct dict_module {
	struct dict_head head;
	uint32_t id; /* from 1 */
	uint32_t build_id_bytes;
	uint8_t build_id[32];
	uint64_t base;	     /* load address minus the file's lowest virtual address: dlpi_addr */
	uint64_t begin, end; /* the addresses at which the object is mapped */
	char path[];	     /* absolute if it could be determined */
};

/* The format of a code object's line table, by Python version: before 3.10 (co_lnotab), 3.10, or
 * 3.11 and later. */
enum line_table { LINES_NONE, LINES_LNOTAB, LINES_310, LINES_311 };

/* A Python code object. Copied when a frame of it first occurs. */
struct dict_code {
	struct dict_head head;
	uint32_t id;   /* from 1 */
	uint32_t file; /* id of the DICT_STRING with co_filename */
	uint32_t name; /* id of the DICT_STRING with co_qualname, or co_name before Python 3.11 */
	uint32_t first_line;
	uint32_t lines; /* enum line_table: the format of `table` */
	uint32_t table_bytes;
	/* Size of the bytecode, which follows the table. 0: it was too long, or the dictionary had
	 * no room for it. Since Python 3.11 it contains specialized instructions and caches. */
	uint32_t bytecode_bytes;
	uint16_t python; /* version of Python: 0x030B for 3.11 */
	/* Size of the exception table (co_exceptiontable, since Python 3.11), which follows the
	 * bytecode. 0: the function has none, or it was not copied. */
	uint16_t exceptions_bytes;
	uint8_t table[];
};

/*
 * One frame of a stack, as 64 bits.
 *
 * Native frame: bit 63 is clear. Bits 48 to 62 are the id of the module (struct dict_module). Bits
 * 0 to 47 are an offset in the module, or an absolute address if the module is 0. The offset is
 * that of the return address. In a frame that a signal interrupted, it is that of the interrupted
 * instruction.
 *
 * Python frame: bit 63 is set. Bits 32 to 62 are the id of the code object (struct dict_code). Bits
 * 0 to 31 are the offset of the last instruction in bytes, or FRAME_LASTI_UNKNOWN.
 */
#define FRAME_PYTHON	    (1ull << 63)
#define FRAME_MODULE_MOST   0x7fffu
#define FRAME_LASTI_UNKNOWN 0xffffffffu

static inline uint64_t frame_native(uint32_t module, uint64_t offset)
{
	return (uint64_t)(module & FRAME_MODULE_MOST) << 48 | (offset & 0xffffffffffffull);
}

static inline uint64_t frame_python(uint32_t code, uint32_t lasti)
{
	return FRAME_PYTHON | (uint64_t)(code & 0x7fffffff) << 32 | lasti;
}

enum stack_flag {
	/* outer native frames are missing, because code has no unwind information or because of
	 * the depth limit */
	STACK_TRUNCATED = 1,
	/* The Python frames are stored after all native frames, because their position among the
	 * native frames is unknown. */
	STACK_UNMERGED = 2,
	/* Like STACK_UNMERGED, but each Python frame belongs to one native frame of the
	 * interpreter's evaluation function (CPython 3.8 and 3.9). So the reader can merge the
	 * frames: it finds that function by name. */
	STACK_BY_NAME = 4,
	STACK_PYTHON_TRUNCATED = 8, /* outer Python frames are missing: the depth limit */
};

/* A call stack, innermost frame first. Its `shared` outermost frames are not stored here. They are
 * the same as in the stack with the id `base`, which was written earlier. */
struct dict_stack {
	struct dict_head head;
	uint32_t id;	    /* not 0; ids may have gaps */
	uint32_t base;	    /* 0: no frames are shared */
	uint16_t shared, n; /* `n`: number of frames stored here */
	uint32_t flags;	    /* enum stack_flag */
	uint64_t frames[];
};

/* ---- The header and the directory: shared memory that both sides write. ---- */

/* Readings of the tick clock, CLOCK_MONOTONIC and CLOCK_REALTIME at the same moment (within about
 * 100 ns). */
struct journal_clock_point {
	uint64_t ticks, monotonic_ns, realtime_ns;
};

/*
 * Converts ticks: ns = first.monotonic_ns + (ticks - first.ticks) * slope. The slope is that
 * between the first and the newest point. While the machine is up, a reader may also take a newer
 * point itself, because the time-stamp counter is the same in all processes.
 */
struct journal_clock {
	uint32_t kind; /* enum journal_clock_kind */
	uint32_t reserved;
	struct journal_clock_point first;
	/* `ticks` is 0 until the collector writes this, from a second after the first point on.
	 * The process writes it at its exit, and the collector when it sees that it has ended. */
	struct journal_clock_point last;
};

/* How steps are detected: PROF_STEP. */
enum step_mode {
	STEP_MODE_AUTO,
	STEP_MODE_KERNEL,
	STEP_MODE_GRAPH,
	STEP_MODE_SYNC,
	STEP_MODE_TIME,
	STEP_MODE_API,
	STEP_MODE_NVTX
};

/* Key of a DICT_INFO. The fact is recorded when a range of PROF_STEP=nvtx:NAME first begins. */
#define JOURNAL_INFO_STEP_RANGE "step range"

/*
 * How steps are detected (mode auto).
 *
 * The collector chooses an anchor: the hash of three successive launches of one thread
 * (core/runtime/token.h), of which the last ends a step. The library adopts the anchor. From then
 * on, it writes a STEP_COUNTED record each time the anchor occurs, with the numbers 1, 2, 3 and so
 * on. A STEP_COUNTED means that a step begins at the record's `ticks`. The record is written at the
 * next launch, which may be on another thread than the anchor. If the anchor fails to occur in an
 * iteration, the anchor's backup counts the step (core/runtime/iteration.h).
 *
 * The step that begins with STEP_COUNTED k gets the number `base` + k, and the run's first anchor
 * ends step 0. To compute `base`, the collector counts the anchors whose last launch began before
 * the ticks of STEP_COUNTED 1, and subtracts 1.
 *
 * Anchors are numbered from 1; the number is the anchor's generation. The collector stores
 * anchor_generation (release) after the fields of the anchor, and base_generation (release) after
 * `base`. The library reads these generations (acquire) before the fields.
 *
 * If the program switches to other work, the anchor stops occurring. The library then increments
 * `lost`, and the collector looks for a new anchor. The first occurrence of the new anchor ends the
 * step `current`. So `base` is computed as above, and `current` is added.
 *
 * Long before the anchor counts as lost, it counts as overdue. The library then journals launches
 * and copies again, and the collector looks for steps that another optimizer ends. This search is
 * called a look. The collector accepts no other steps, because the program may only be evaluating.
 * If the anchor occurs before the collector has found such steps, nothing changes. Otherwise the
 * library adopts the new anchor as above.
 *
 * If no optimizer ends the steps, a look also takes place from time to time although the anchor
 * occurs (preload/doubt.h). The library decides how many steps the look covers. The look lasts
 * until looked_ticks has passed these steps, and longer if sees_optimizer is set.
 *
 * An anchor may be provisional. The library counts its steps and applies the schedule to them, but
 * keeps journaling, and the collector keeps learning, until sure_generation confirms the anchor. If
 * a newer anchor replaces a provisional anchor, all steps that the provisional anchor counted are
 * void. Step number and schedule return to their state before that anchor, and then follow the
 * newer anchor.
 */

/* Whether an optimizer ends the steps. */
enum step_optimizer {
	STEP_OPTIMIZER_NONE,
	/* likely, because some work follows the backward pass; no kernel name proves it */
	STEP_OPTIMIZER_LIKELY,
	STEP_OPTIMIZER_SURE
};

/* The steps for which a rank asks for a common start step. */
enum start_of {
	START_OF_STEPS,	   /* steps of which it is unknown whether an optimizer ends them */
	START_OF_TRAINING, /* steps that an optimizer ends */
	/* steps that an optimizer ends, after other steps that no optimizer ended; the ranks may
	 * have made different numbers of those other steps */
	START_AFTER_OTHERS
};

/* The state of step detection. Comments say which side writes a field: the library or the
 * collector. */
struct journal_steps {
	/* written by the collector */
	_Atomic uint32_t anchor_generation;
	_Atomic uint32_t base_generation;
	_Atomic uint64_t anchor;
	_Atomic uint64_t base;
	_Atomic uint32_t calls_per_step; /* calls of the median step */
	_Atomic uint32_t confidence_permille;
	/* written by the library */
	uint32_t mode;		  /* enum step_mode */
	_Atomic uint32_t state;	  /* enum step_state (core/runtime/step_state.h) */
	_Atomic uint64_t current; /* number of the current step */
	/* number of steps by which the schedule was delayed, because its first window had passed
	 * already */
	_Atomic uint64_t schedule_shift;
	/*
	 * If a job has several ranks, all ranks record the same steps. A rank that has detected its
	 * steps increments waits_for_start and does not record yet. The collector chooses the step
	 * that is the schedule's first recorded step in all ranks. It writes this step to `start`,
	 * then copies waits_for_start to start_is_named. If training follows other steps, a rank
	 * asks again (start_of).
	 */
	_Atomic uint32_t waits_for_start; /* by the library */
	_Atomic uint32_t start_is_named;  /* by the collector */
	_Atomic uint64_t start;		  /* by the collector */
	/* by the library: only steps that an optimizer ends are accepted */
	uint32_t wants_optimizer;
	_Atomic uint32_t lost;	   /* by the library: how often the anchor stopped occurring */
	_Atomic uint32_t boundary; /* by the collector: enum level_boundary (core/steps/levels.h) */
	/* by the collector, with each anchor: `within`, `backup` and `thread` of struct
	 * iteration_anchors (core/runtime/iteration.h) */
	_Atomic uint32_t backup_within;
	_Atomic uint64_t backup; /* 0: no backup */
	_Atomic uint32_t anchor_thread;
	/* by the collector: no steps have been found for long, time slices are to be recorded */
	_Atomic uint32_t wants_slices;
	/* by the library: number of time slices recorded in place of the schedule's steps */
	_Atomic uint32_t slices;
	/* by the library: PROF_STEP=python: is set, so every launch takes a stack */
	uint32_t wants_function;
	/* by the collector: generation of the newest confirmed anchor; a newer anchor is
	 * provisional */
	_Atomic uint32_t sure_generation;
	/* by the collector: generation of the newest anchor that counted steps and proved wrong; 0:
	 * no such anchor */
	_Atomic uint32_t void_generation;
	/* by the collector: number of anchors that proved wrong, and calls_per_step of the newest
	 * of these */
	_Atomic uint32_t n_corrected, void_calls_per_step;
	/* by the library: since when the anchor is overdue or a look takes place; 0: neither */
	_Atomic uint64_t overdue_ticks;
	_Atomic uint32_t by_optimizer; /* by the collector, with each anchor: enum step_optimizer */
	/* set by the collector if an optimizer has run since overdue_ticks; reset by the library */
	_Atomic uint32_t sees_optimizer;
	/* by the collector: time up to which it has read the records since overdue_ticks */
	_Atomic uint64_t looked_ticks;
	/* by the collector, with each anchor: `apart` of struct iteration_anchors */
	_Atomic uint32_t anchors_apart;
	_Atomic uint32_t start_of; /* by the library, with waits_for_start: enum start_of */
	/*
	 * By the collector, with each anchor. `end`: not 0 if the anchor's last calls belong to the
	 * next step. It is then the token_pair_hash() of a step's last two calls. `is_late`: the
	 * anchor occurred before the end of the first step, so it never follows the end of the last
	 * step.
	 */
	_Atomic uint64_t end;
	_Atomic uint32_t is_late;
	/*
	 * By the collector, with each anchor: `every` of struct iteration_anchors, and `lead` of
	 * iteration_ends_at(). With each base: after how many more anchors the next step ends than
	 * `every` says, because the library began to count in the middle of a step.
	 */
	_Atomic uint32_t anchor_every, anchor_lead, anchor_delay;
	/* by the collector, with each anchor: its steps in the opening, once that is over */
	_Atomic uint32_t opening_steps;
	/* by the library: end of the opening; 0: not yet. Calls after it have no stacks. */
	_Atomic uint64_t opening_end_ticks;
	/* by the collector: enough steps of the opening are recorded, so it may end */
	_Atomic uint32_t has_enough;
};

/* How the library answers a request for steps. */
enum trigger_answer {
	TRIGGER_BY_STEPS,  /* the steps from `first` to `first` + `n` - 1 are recorded */
	TRIGGER_BY_TIME,   /* no steps are detected: time slices with these numbers are recorded */
	TRIGGER_FROM_KEPT, /* flight recorder: the kept steps and the next `n` are written */
};

/*
 * Requests for recorded steps. `profrun trigger` stores asked_steps and asked_from, then increments
 * `asked` (release). The library checks `asked` when a step begins. While the library learns, it
 * also checks `asked` at each launch. The library stores its answer (`answer`, `n_warmup`, `first`,
 * `n`), then copies `asked` to `taken` (release).
 */
struct journal_trigger {
	_Atomic uint32_t asked;
	_Atomic uint32_t asked_steps; /* number of steps; 0: as many as `active` of the schedule */
	/* first step that may be recorded, so that several ranks record the same steps; 0: any */
	_Atomic uint64_t asked_from;
	/* written by the library */
	_Atomic uint32_t accepts; /* a bit 1 << enum trigger_cause for each cause that is enabled */
	_Atomic uint32_t signals; /* SIGUSR2 received; counted by the signal handler */
	_Atomic uint32_t signals_taken; /* value of `signals` at the last answer to a signal */
	_Atomic uint32_t taken;
	_Atomic uint32_t answer;   /* enum trigger_answer */
	_Atomic uint32_t n_warmup; /* warm-up steps before `first` */
	_Atomic uint64_t first, n; /* the recorded steps, see enum trigger_answer */
};

/* Bytes of stderr that the header keeps. A message of PyTorch's about memory has some 700. */
#define JOURNAL_WORDS_BYTES 8192u

struct journal_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct journal_header) of the writer */
	uint32_t chunk_bytes, n_chunks;
	uint64_t directory_offset, dictionary_offset, dictionary_bytes, chunks_offset, file_bytes;
	/* sizes of struct rec_call and struct rec_gpu; the reader checks them */
	uint32_t call_bytes, gpu_bytes;
	uint32_t pid, ppid;
	/* field 22 of /proc/PID/stat: distinguishes a process from a later one with the same pid */
	uint64_t process_start;
	struct journal_clock clock;
	_Atomic uint64_t ended_ticks; /* when the process exited; 0: it is alive or was killed */
	_Atomic uint64_t dictionary_used_bytes;
	_Atomic uint32_t chunks_backed; /* chunks below this index have disk space */
	/* pid of the collector that reads and recycles chunks; 0: no collector */
	_Atomic uint32_t collector;
	/* how often a chunk was claimed; the claims order the chunks of a thread */
	_Atomic uint64_t chunk_claims;
	_Atomic uint64_t dropped_records;    /* chunk records dropped for lack of room */
	_Atomic uint64_t dropped_dictionary; /* dictionary records dropped for lack of room */
	struct journal_steps steps;
	struct journal_trigger trigger;
	/* inode of /proc/self/ns/pid, the namespace of `pid` and `ppid`; 0: unknown */
	uint64_t pid_namespace;
	/* What the process wrote to stderr last (preload/last_words.c): a ring, and how many bytes
	 * have been written to it in all. */
	_Atomic uint64_t words_written;
	char words[JOURNAL_WORDS_BYTES];
	/* parts of dropped_records: calls; kernels, copies and memsets; step boundaries */
	_Atomic uint64_t dropped_calls, dropped_gpu, dropped_steps;
};

enum chunk_state {
	CHUNK_FREE,    /* a thread of the application may claim the chunk (compare and swap) */
	CHUNK_WRITING, /* one thread appends records */
	/* the chunk is full, or its thread has ended; only the collector may free the chunk, after
	 * it has read the records */
	CHUNK_SEALED,
};

/* The directory entry of a chunk. Each entry has a cache line of its own, because the chunk's
 * thread writes to it with every record. */
struct journal_chunk {
	_Atomic uint32_t state; /* enum chunk_state */
	_Atomic uint32_t committed_bytes;
	uint32_t thread; /* `slot` of a DICT_THREAD */
	uint32_t reserved;
	/* Number, from 1, of the claim by which a thread took the chunk. Stored (release) after
	 * `thread` is set. A reader skips a chunk whose claim is 0. The collector sets `claim` and
	 * `committed_bytes` to 0 before it stores CHUNK_FREE. */
	_Atomic uint64_t claim;
	uint64_t padding[5];
};

_Static_assert(sizeof(struct rec_head) == 8, "record head");
_Static_assert(sizeof(struct rec_call) == 48, "a call may cost 48 bytes");
_Static_assert(sizeof(struct rec_gpu) == 64, "a GPU record may cost 64 bytes");
_Static_assert(sizeof(struct rec_step) == 32, "step");
_Static_assert(sizeof(struct rec_dropped) == 32, "dropped");
_Static_assert(sizeof(struct rec_gpu_state) == 24, "gpu state");
_Static_assert(sizeof(struct rec_external) == 16, "external");
_Static_assert(sizeof(struct rec_api) == 32, "api");
_Static_assert(sizeof(struct rec_overhead) == 24, "overhead");
_Static_assert(sizeof(struct rec_pool) == 40, "pool");
_Static_assert(sizeof(struct rec_range) == 32, "range");
_Static_assert(sizeof(struct rec_library) == 64, "library");
_Static_assert(sizeof(struct rec_block) == 48 && sizeof(struct rec_memory) == 48, "blocks");
_Static_assert(sizeof(struct rec_sample) == 24, "sample");
_Static_assert(sizeof(struct rec_thread) == 24, "thread");
_Static_assert(sizeof(struct rec_node) == 64 && sizeof(struct rec_graph) == 32, "graphs");
_Static_assert(sizeof(struct dict_launch) == 56 && sizeof(struct dict_kernel) == 48, "dictionary");
_Static_assert(sizeof(struct dict_module) == 72 && sizeof(struct dict_code) == 40 &&
		       sizeof(struct dict_stack) == 24,
	       "dictionary of stacks");
_Static_assert(sizeof(struct journal_chunk) == 64, "a cache line per chunk");

#endif
