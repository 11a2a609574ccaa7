/*
 * The bytes of a journal: the only contract between the library in the application (preload/) and
 * the tools (export/). A journal is one file, mapped MAP_SHARED by both sides while the application
 * runs:
 *
 *   struct journal_header | chunk directory | dictionary | chunks...
 *
 * - Each chunk holds part of one thread's stream, in order. A thread takes a new chunk when its own
 *   is full. A record is published by a release store of the directory entry's `committed_bytes`.
 * - The dictionary holds what is written once (hooks, names, threads, launch shapes); its space is
 *   never reused. A dictionary record is published by a release store of its first eight bytes.
 * - All times are ticks of the clock named in the header (see struct journal_clock) unless a name
 *   says `_ns`.
 *
 * The reader never trusts mapped data: a torn or foreign file gives an error or a shorter stream.
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include "core/runtime/kinds.h"

#include <stdatomic.h>
#include <stdint.h>

#define JOURNAL_MAGIC	"PROFRUN\n"
#define JOURNAL_VERSION 1u

/* 64 KiB: 1,365 calls, so that the cold path of taking a chunk costs well under a nanosecond per
 * call. */
#define JOURNAL_CHUNK_BYTES 65536u

/* ---- Chunk records. Kind and size come first, so that a reader can skip unknown kinds. ---- */

enum record_kind {
	REC_NONE,
	REC_CALL,      /* struct rec_call: one hooked call */
	REC_STEP,      /* struct rec_step: a step boundary, or a change in how steps are counted */
	REC_DROPPED,   /* struct rec_dropped: records are missing here */
	REC_GPU_STATE, /* struct rec_gpu_state: GPU timing was switched on or off */
	REC_EXTERNAL,  /* struct rec_external: maps a CUPTI correlation id to a call */
	REC_API,       /* struct rec_api: CUPTI's own record of an API call */
	REC_KERNEL,    /* struct rec_gpu */
	REC_MEMCPY,    /* struct rec_gpu */
	REC_MEMSET,    /* struct rec_gpu */
	REC_GPU_SYNC,  /* struct rec_gpu: what a synchronization waited for, from CUPTI */
	REC_OVERHEAD,  /* struct rec_overhead: CUPTI's own cost */
	REC_POOL,      /* struct rec_pool: memory pool sizes */
	REC_RANGE,     /* struct rec_range: the application's own NVTX ranges and marks */
	/* struct rec_library: a call of NCCL, cuBLAS, cuBLASLt or cuDNN, spanning its launches */
	REC_LIBRARY,
	REC_BLOCK,  /* struct rec_block: a framework's allocator handed out a block or freed it */
	REC_MEMORY, /* struct rec_memory: that allocator's totals */
	REC_KINDS
};

struct rec_head {
	uint8_t kind;
	uint8_t words; /* size of the whole record in units of 8 bytes */
	uint16_t u16;
	uint32_t u32;
};

/*
 * One hooked call. `arg`, `bytes`/`detail` and `stream` by category:
 *   LAUNCH    arg = launch token, described by a DICT_LAUNCH
 *   GRAPH     arg = graph exec handle
 *   MEMCPY    arg = bytes, detail = enum record_copy
 *   MEMSET    arg = bytes
 *   PREFETCH  arg = bytes
 *   ALLOC     arg = address or handle, bytes = size        (no seq)
 *   FREE      arg = address or handle, bytes = 0 unless known
 *   EVENT, SYNC, QUERY   arg = event handle where there is one
 *   QUERY     detail = how many queries returned "not ready" before this one with no other record
 *             in between; seq = time since the first of them returned, ticks >> REC_POLLED_SHIFT
 *   STREAM    stream = the handle
 *
 * `seq` numbers a thread's GPU-work calls from 1 (mod 2^32), including those that were counted but
 * not recorded: calls missing between two records were dropped, or made between two windows.
 * (thread slot, seq) is CUPTI's external correlation id, which struct rec_external carries.
 */
struct rec_call {
	uint8_t kind, words;
	uint16_t hook;	/* DICT_HOOK */
	uint32_t stack; /* DICT_STACK, 0: no stack was taken */
	uint64_t begin_ticks;
	uint64_t duration : 40; /* record_duration() */
	uint64_t status : 16;	/* the call's own result code, 0 = success */
	uint64_t device : 8;	/* 255: unknown */
	union {
		struct {
			uint32_t seq, detail;
		};
		uint64_t bytes;
	};
	uint64_t stream;
	uint64_t arg;
};

#define REC_POLLED_SHIFT 10 /* half a microsecond at most */

/* Packs a duration into 40 bits: 39 bits of ticks (about 3 minutes), longer ones in units of 4,096
 * ticks, so that a hung call keeps its length. */
static inline uint64_t record_pack_duration(uint64_t ticks)
{
	if (__builtin_expect(ticks < (1ull << 39), 1))
		return ticks;
	ticks >>= 12;
	return (ticks < (1ull << 39) ? ticks : (1ull << 39) - 1) | 1ull << 39;
}

static inline uint64_t record_duration(const struct rec_call *c)
{
	return c->duration >> 39 ? (c->duration & ((1ull << 39) - 1)) << 12 : c->duration;
}

/* What the schedule does with a step; the order is torch.profiler's. */
enum step_event {
	/* step `number` begins at `ticks`; `detail` not 0: it is a time slice of `detail` ms */
	STEP_BEGIN,
	/* no step from `ticks` on: PROF_STEP=api after cudaProfilerStop, or the last step ended */
	STEP_OUTSIDE,
	/* auto: the anchor occurred for the `number`-th time since it was adopted; the absolute
	 * number is not known yet */
	STEP_COUNTED,
	/* steps were requested: `action` = enum trigger_cause, `generation` = the request (FILE),
	 * `number` = the first step recorded for it, `detail` = how many; written before the step
	 * that begins at `ticks` */
	STEP_TRIGGERED,
	/* auto: the anchor `detail` of `generation` was locked; `number` = its base, `action` =
	 * enum step_numbered */
	STEP_NUMBERED,
	/* auto, follows STEP_NUMBERED: `detail` = the backup of the anchor of `generation`,
	 * `number` = struct iteration_anchors' `within`, with its `apart` in the upper 32 bits */
	STEP_BACKUP,
	STEP_CUT, /* auto: the anchor stopped occurring; work from `ticks` on is outside the step */
	/* auto: the counts of the anchor of generation `detail` are void; the anchor of
	 * `generation` replaces it */
	STEP_CORRECTED,
};

/* Bits of STEP_NUMBERED's `action`. */
enum step_numbered {
	NUMBERED_TRAINING = 1, /* an optimizer ends these steps, none ended the earlier ones */
	NUMBERED_LATE = 2,     /* see is_late in struct journal_steps */
};

struct rec_step {
	uint8_t kind, words;
	uint8_t event;	     /* enum step_event */
	uint8_t action;	     /* enum sched_action of the step that begins */
	uint32_t generation; /* the anchor's, auto only */
	uint64_t ticks;
	uint64_t number;
	uint64_t detail;
};

struct rec_dropped {
	uint8_t kind, words;
	uint16_t reserved;
	uint32_t lost_kind; /* enum record_kind, 0: mixed */
	uint64_t count;
	uint64_t first_ticks, last_ticks;
};

enum gpu_state {
	/* calls from `ticks` on may have no GPU records; those of earlier calls may still arrive */
	GPU_OFF,
	GPU_ON,	     /* calls from `ticks` on have GPU records */
	GPU_FLUSHED, /* the GPU records of everything launched before `ticks` have arrived */
	/* `detail` = CUPTI's result or -errno; DICT_INFO "cupti" has the reason as text */
	GPU_UNAVAILABLE,
	GPU_LOST,    /* CUPTI itself dropped `detail` records */
	GPU_YIELDED, /* like GPU_OFF: the application's own profiler uses CUPTI */
	/* like GPU_ON, but copies have no GPU records; DICT_INFO "copies" has the reason */
	GPU_ON_BUT_COPIES,
};

struct rec_gpu_state {
	uint8_t kind, words;
	uint16_t state; /* enum gpu_state */
	/* GPU_ON: work launched from `ticks` on has correlation ids of at least `first_id`, earlier
	 * work has lower ones, and CUPTI recorded nothing in between. If it equals the previous
	 * GPU_ON's, CUPTI kept recording in between. */
	uint32_t first_id;
	uint64_t ticks;
	uint64_t detail;
};

struct rec_external {
	uint8_t kind, words;
	uint16_t reserved;
	uint32_t correlation;
	uint32_t seq;
	uint32_t thread; /* slot */
};

struct rec_api {
	uint8_t kind, words;
	uint16_t is_driver;
	uint32_t correlation;
	uint64_t begin_ticks, end_ticks;
	/* CUPTI's thread id: dict_thread's `handle`, or its `tid` if another tool switched CUPTI to
	 * those */
	uint32_t tid;
	uint32_t cbid;
};

/*
 * One piece of GPU work as CUPTI timed it. By kind:
 *   KERNEL   name = DICT_KERNEL id, dims = grid
 *   MEMCPY   name = copy kind (CUpti_ActivityMemcpyKind) | source memory kind << 8
 *            | destination << 16, bytes; peer = other device
 *   MEMSET   name = value, memory kind << 8 in `extra`, bytes
 *   GPU_SYNC name = CUpti_ActivitySynchronizationType, node = cuda event id
 */
struct rec_gpu {
	uint8_t kind, words;
	uint8_t device;
	uint8_t flags;
	uint32_t name;
	uint64_t begin_ticks, end_ticks;
	uint32_t correlation;
	uint32_t stream; /* CUPTI's stream id */
	union {
		uint32_t grid[3];
		struct {
			uint32_t bytes_low, bytes_high, extra;
		};
	};
	uint32_t context;
	uint64_t node; /* graph node id, 0: not from a graph */
	uint32_t graph;
	uint32_t peer;
};

struct rec_overhead {
	uint8_t kind, words;
	uint16_t what; /* CUpti_ActivityOverheadKind >> 16; 0: the driver compiling */
	uint32_t tid;
	uint64_t begin_ticks, end_ticks;
};

struct rec_pool {
	uint8_t kind, words;
	uint16_t operation; /* CUpti_ActivityMemoryPoolOperationType */
	uint32_t device;
	uint64_t ticks, address, size_bytes, utilized_bytes;
};

enum range_event {
	RANGE_PUSH, /* nested ranges of one thread */
	RANGE_POP,
	RANGE_START, /* ended by the RANGE_END with the same `id`, on any thread */
	RANGE_END,
	RANGE_MARK,
};

struct rec_range {
	uint8_t kind, words;
	uint16_t event; /* enum range_event */
	uint32_t name;	/* DICT_STRING, 0: none or unknown (POP, END) */
	uint64_t ticks;
	uint64_t id;	 /* START, END */
	uint32_t domain; /* DICT_STRING of the domain's name, 0: the default domain */
	uint32_t color;	 /* ARGB, 0: none */
};

/* One call of a library, written when it returns. */
struct rec_library {
	uint8_t kind, words;
	uint16_t function; /* DICT_LIBRARY */
	uint16_t status;   /* the library's own result code, 0 = success */
	uint8_t type, compute;
	uint64_t begin_ticks, end_ticks;
	uint64_t stream; /* 0: the default stream, or unknown */
	union {
		struct {
			uint64_t m, n, k;
			uint32_t batch, reserved;
		} gemm; /* C (m by n) = A (m by k) * B (k by n), `batch` times */
		struct {
			uint64_t count; /* elements, as the function counts them */
			/* the communicator's id, the same in all ranks; 0: unknown */
			uint64_t comm;
			/* number of the collective on its communicator, from 1; 0: none */
			uint32_t sequence;
			int32_t peer; /* root of a collective, partner of a message; -1: none */
			uint16_t rank, n_ranks; /* in the communicator; 65535 and 0: unknown */
			uint32_t reserved;
		} nccl;
	};
};

/* A block of PyTorch's caching allocator, as the allocator reports it to PyTorch's own profiler.
 * Written while steps are recorded; see rec_memory. */
struct rec_block {
	uint8_t kind, words;
	uint8_t event; /* enum block_event */
	uint8_t device;
	uint32_t stack; /* DICT_STACK of MADE and LIVE; 0: no stack was taken */
	uint64_t ticks;
	uint64_t address, bytes; /* size as rounded by the allocator */
	union {
		struct {
			/* the device's totals after the event */
			uint64_t allocated_bytes, reserved_bytes;
		};
		/* LIVE; for a block made outside recorded steps: when that step began */
		uint64_t made_ticks;
	};
};

/* The allocator's totals on a device at the beginning of a step, recorded or not. Written where
 * they changed. */
struct rec_memory {
	uint8_t kind, words;
	uint8_t device, reserved;
	uint32_t n_lost; /* live blocks without a BLOCK_LIVE: there were too many */
	uint64_t ticks;
	uint64_t allocated_bytes, reserved_bytes;
	uint64_t peak_allocated_bytes, peak_reserved_bytes; /* since the process began */
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

/* All sizes are multiples of 8; `bytes` includes the head. The head is stored last, as one 64-bit
 * release store. */
struct dict_head {
	uint16_t mark; /* DICT_MARK */
	uint16_t kind;
	uint32_t bytes;
};

struct dict_hook {
	struct dict_head head;
	uint16_t id;
	uint8_t category, entry_point, space;
	uint8_t reserved[3];
	char name[]; /* the symbol, NUL-terminated */
};

/* A function of a library. */
struct dict_library {
	struct dict_head head;
	uint16_t id;
	uint8_t family, facts; /* enum record_library, enum library_facts */
	uint32_t reserved;
	char name[]; /* the symbol, NUL-terminated */
};

struct dict_thread {
	struct dict_head head;
	uint32_t slot, tid;
	char name[16];
	uint32_t handle; /* low half of pthread_self(): CUPTI's thread id by default */
	uint32_t reserved;
};

struct dict_string {
	struct dict_head head;
	uint32_t id;
	char text[];
};

/* The shape of a launch as the host requested it, written when it is first seen. */
struct dict_launch {
	struct dict_head head;
	uint64_t token;
	uint64_t function; /* handle as the caller passed it */
	uint32_t name;	   /* DICT_STRING of the (mangled) name, 0: unknown */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
};

/* A kernel as CUPTI reports it, without what varies per launch. */
struct dict_kernel {
	struct dict_head head;
	uint32_t id;
	uint32_t name; /* DICT_STRING, mangled */
	uint32_t block[3];
	uint32_t registers, static_shared_bytes, dynamic_shared_bytes;
	uint32_t local_bytes_per_thread, reserved;
};

struct dict_device {
	struct dict_head head;
	uint32_t id, multiprocessors;
	uint32_t compute_major, compute_minor;
	uint64_t memory_bytes;
	char name[64];
};

/* A loaded object that contains frames. Addresses in it are stored as offsets from `base`, to which
 * the ELF file's own virtual addresses are relative. */
struct dict_module {
	struct dict_head head;
	uint32_t id; /* from 1 */
	uint32_t build_id_bytes;
	uint8_t build_id[32];
	uint64_t base;	     /* load address minus the file's lowest virtual address: dlpi_addr */
	uint64_t begin, end; /* mapped addresses */
	char path[];	     /* absolute if it could be determined */
};

enum line_table { LINES_NONE, LINES_LNOTAB, LINES_310, LINES_311 };

/* A Python code object, copied when it is first seen. */
struct dict_code {
	struct dict_head head;
	uint32_t id;   /* from 1 */
	uint32_t file; /* DICT_STRING: co_filename */
	uint32_t name; /* DICT_STRING: co_qualname (3.11 and later), else co_name */
	uint32_t first_line;
	uint32_t lines; /* enum line_table: the format of `table` */
	uint32_t table_bytes;
	uint8_t table[];
};

/*
 * One frame of a stack. Native: bit 63 clear, bits 48..62 module (0: none, absolute address), bits
 * 0..47 offset of the return address (below a signal frame: of the interrupted instruction).
 * Python: bit 63 set, bits 32..62 code, bits 0..31 last instruction in bytes (0xffffffff: unknown).
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
	/* outer native frames are missing: code without unwind information, or the depth limit */
	STACK_TRUNCATED = 1,
	/* the Python frames follow the native ones, because their position among them is unknown */
	STACK_UNMERGED = 2,
	/* like STACK_UNMERGED; each Python frame is one activation of the interpreter's evaluator
	 * (CPython 3.8, 3.9) */
	STACK_BY_NAME = 4,
	STACK_PYTHON_TRUNCATED = 8, /* outer Python frames are missing: the depth limit */
};

/* A call stack, innermost frame first. Its `shared` outermost frames are those of the stack `base`,
 * written earlier. */
struct dict_stack {
	struct dict_head head;
	uint32_t id;	    /* not 0; ids may have gaps */
	uint32_t base;	    /* 0: nothing is shared */
	uint16_t shared, n; /* `n`: frames stored here */
	uint32_t flags;	    /* enum stack_flag */
	uint64_t frames[];
};

/* ---- The header and the directory: shared memory that both sides write. ---- */

/* Ticks, CLOCK_MONOTONIC and CLOCK_REALTIME at the same moment (within about 100 ns). */
struct journal_clock_point {
	uint64_t ticks, monotonic_ns, realtime_ns;
};

/* ns = first.monotonic_ns + (ticks - first.ticks) * slope, with the slope from the first to the
 * newest point. The reader may take further points itself while the machine is up: the time-stamp
 * counter is the same in all processes. */
struct journal_clock {
	uint32_t kind; /* enum journal_clock_kind */
	uint32_t reserved;
	struct journal_clock_point first;
	struct journal_clock_point last; /* written at the orderly exit; ticks 0 until then */
};

enum step_mode {
	STEP_MODE_AUTO,
	STEP_MODE_KERNEL,
	STEP_MODE_GRAPH,
	STEP_MODE_SYNC,
	STEP_MODE_TIME,
	STEP_MODE_API,
	STEP_MODE_NVTX
};

/* DICT_INFO key: a range of PROF_STEP=nvtx:NAME has begun. */
#define JOURNAL_INFO_STEP_RANGE "step range"

enum step_state {
	STEP_STATE_OWN,	     /* the library finds the boundaries itself (every mode but auto) */
	STEP_STATE_LEARNING, /* journals launches and copies; waits for a new anchor_generation */
	/* counts the anchor, still journals; waits for base_generation == anchor_generation */
	STEP_STATE_ADOPTED,
	STEP_STATE_LOCKED, /* step numbers are absolute and the schedule applies */
	/* the anchor has not occurred for long: journals again, returns to LOCKED if it occurs, and
	 * waits for a new anchor_generation */
	STEP_STATE_LOST,
};

static inline _Bool step_state_is_learning(uint32_t state)
{
	return state == STEP_STATE_LEARNING || state == STEP_STATE_ADOPTED ||
	       state == STEP_STATE_LOST;
}

/*
 * Step detection (auto). The collector writes an anchor: the hash of three successive launches of
 * one thread (core/runtime/token.h), the last of which ends a step. The library adopts it and
 * writes STEP_COUNTED 1, 2, 3... as it occurs, each meaning that a step begins at its `ticks`. The
 * step that begins with STEP_COUNTED k has the number base + k. The collector therefore writes base
 * = (anchors completed by launches that began before the ticks of STEP_COUNTED 1) - 1: the run's
 * first anchor ends step 0. An iteration in which the anchor fails to occur is counted by its
 * backup. (The record may be in another thread's stream than the anchor: it is written with the
 * next launch of any thread.) Each generation is stored last (release) and read first (acquire).
 *
 * If the program switches to other work, the anchor stops occurring. The library then increments
 * `lost`, and detection starts anew from the current step, `current`, which the first new anchor
 * ends: base = current + anchors - 1.
 *
 * Long before that the anchor is overdue: the library journals again, and the collector looks for
 * steps that another optimizer ends. It accepts no others, because the program may only be
 * evaluating. If the anchor occurs first, nothing changes; else the library adopts the new one as
 * above. Steps that no optimizer ends are checked in this way from time to time (preload/doubt.h)
 * although the anchor occurs. The library decides how many; it goes on until looked_ticks has
 * passed them, and longer if sees_optimizer is set.
 *
 * An anchor may be provisional: it is counted and the schedule runs on it, while the library keeps
 * journaling and the collector keeps learning, until sure_generation confirms it. If a newer anchor
 * replaces it, everything counted by it is void: numbers and schedule return to where they were
 * before it, as if the newer anchor were the first.
 */

/* Whether an optimizer ends the steps. */
enum step_optimizer {
	STEP_OPTIMIZER_NONE,
	/* judged by what follows the backward pass; a kernel name would prove it */
	STEP_OPTIMIZER_LIKELY,
	STEP_OPTIMIZER_SURE
};

enum start_of {
	START_OF_STEPS,	   /* unknown whether an optimizer ends them */
	START_OF_TRAINING, /* one does */
	/* one does, and none ended the earlier steps, whose number may differ by rank */
	START_BEHIND_OTHERS
};

struct journal_steps {
	/* written by the collector */
	_Atomic uint32_t anchor_generation;
	_Atomic uint32_t base_generation;
	_Atomic uint64_t anchor;
	_Atomic uint64_t base;
	_Atomic uint32_t calls_per_step; /* of the median step, measured by the collector */
	_Atomic uint32_t confidence_permille;
	/* written by the library */
	uint32_t mode;		  /* enum step_mode */
	_Atomic uint32_t state;	  /* enum step_state */
	_Atomic uint64_t current; /* number of the step under way */
	/* by how many steps the schedule was moved, because its first window was over already */
	_Atomic uint64_t schedule_shift;
	/*
	 * Several ranks of one job: a rank that has detected its steps increments waits_for_start
	 * and records nothing yet. The collector chooses the step on which the schedule's first
	 * recorded step falls, the same for all ranks: it writes `start`, then sets start_is_named
	 * to waits_for_start. A rank asks again when training follows other steps (start_of).
	 */
	_Atomic uint32_t waits_for_start; /* by the library */
	_Atomic uint32_t start_is_named;  /* by the collector */
	_Atomic uint64_t start;
	/* by the library: only steps that an optimizer ends are accepted */
	uint32_t wants_optimizer;
	_Atomic uint32_t lost;	   /* by the library: how often the anchor stopped occurring */
	_Atomic uint32_t boundary; /* by the collector: enum level_boundary (core/steps/levels.h) */
	/* by the collector, with each anchor: struct iteration_anchors
	 * (core/runtime/iteration.h) */
	_Atomic uint32_t backup_within;
	_Atomic uint64_t backup; /* 0: none */
	_Atomic uint32_t anchor_thread;
	/* by the collector: steps have been sought for long enough */
	_Atomic uint32_t wants_slices;
	/* by the library: time slices recorded in place of the schedule's steps */
	_Atomic uint32_t slices;
	uint32_t wants_function; /* by the library: PROF_STEP=python:, every launch takes a stack */
	/* by the collector: */
	_Atomic uint32_t sure_generation; /* this anchor is confirmed; a newer one is provisional */
	/* the newest anchor that counted steps and proved wrong, 0: none */
	_Atomic uint32_t void_generation;
	/* anchors that proved wrong, and calls per step of the last */
	_Atomic uint32_t n_corrected, void_calls_per_step;
	/* by the library: since when the anchor is overdue; 0: it has occurred */
	_Atomic uint64_t overdue_ticks;
	_Atomic uint32_t by_optimizer; /* by the collector, with each anchor: enum step_optimizer */
	/* by the collector: whether an optimizer has run since overdue_ticks; reset by the
	 * library */
	_Atomic uint32_t sees_optimizer;
	/* by the collector: how far it has looked since overdue_ticks */
	_Atomic uint64_t looked_ticks;
	/* by the collector, with each anchor: struct iteration_anchors */
	_Atomic uint32_t anchors_apart;
	_Atomic uint32_t start_of; /* by the library, with waits_for_start: enum start_of */
	/* By the collector, with each anchor. `end`: a step's last two calls as token_pair_hash()
	 * if the anchor's own last calls belong to the next step, else 0. `is_late`: the anchor
	 * occurred before the first step's end, so it never follows the last step's end. */
	_Atomic uint64_t end;
	_Atomic uint32_t is_late;
};

/* How a request was answered. */
enum trigger_answer {
	TRIGGER_BY_STEPS,  /* steps `first` to `first` + `n` - 1 are recorded */
	TRIGGER_BY_TIME,   /* no steps detected: time slices are recorded, numbered alike */
	TRIGGER_FROM_KEPT, /* flight recorder: the kept steps are written, and the next `n` */
};

/* Requests for steps. `profrun trigger` stores how many steps it wants and from which one on, then
 * increments `asked` (release). The library checks it when a step begins and, while it learns, at
 * each launch. It stores its answer, then the request's number in `taken` (release). */
struct journal_trigger {
	_Atomic uint32_t asked;
	_Atomic uint32_t asked_steps; /* 0: as many as the schedule's active */
	/* first step allowed, so that several ranks record the same ones; 0: at once */
	_Atomic uint64_t asked_from;
	/* written by the library */
	_Atomic uint32_t accepts; /* 1 << enum trigger_cause: enabled by PROF_TRIGGER */
	_Atomic uint32_t signals; /* received, counted by their handler */
	_Atomic uint32_t signals_taken;
	_Atomic uint32_t taken;
	_Atomic uint32_t answer; /* enum trigger_answer */
	_Atomic uint32_t n_warmup;
	_Atomic uint64_t first, n;
};

struct journal_header {
	char magic[8];
	uint32_t version;
	uint32_t header_bytes; /* sizeof(struct journal_header) of the writer */
	uint32_t chunk_bytes, n_chunks;
	uint64_t directory_offset, dictionary_offset, dictionary_bytes, chunks_offset, file_bytes;
	/* sizes of the two largest records, checked by both sides */
	uint32_t call_bytes, gpu_bytes;
	uint32_t pid, ppid;
	/* field 22 of /proc/PID/stat: distinguishes a process from a later one with the same pid */
	uint64_t process_start;
	struct journal_clock clock;
	_Atomic uint64_t ended_ticks; /* orderly exit of the process; 0: alive or killed */
	_Atomic uint64_t dictionary_used_bytes;
	_Atomic uint32_t chunks_backed; /* chunks below this index have disk space */
	/* pid of the collector that reads and recycles chunks, 0: none */
	_Atomic uint32_t collector;
	_Atomic uint64_t chunk_claims;	     /* counts the claims: orders a thread's chunks */
	_Atomic uint64_t dropped_records;    /* chunk records dropped for lack of room, in total */
	_Atomic uint64_t dropped_dictionary; /* dictionary records dropped for lack of room */
	struct journal_steps steps;
	struct journal_trigger trigger;
	/* inode of /proc/self/ns/pid, the namespace of `pid` and `ppid`; 0: unknown */
	uint64_t pid_namespace;
};

enum chunk_state {
	CHUNK_FREE,    /* the library may claim it (by compare and swap) */
	CHUNK_WRITING, /* one thread appends */
	/* full, or its thread ended; only the collector may free it, after reading it */
	CHUNK_SEALED,
};

/* One per chunk, a cache line each: its owner writes to it with every record. */
struct journal_chunk {
	_Atomic uint32_t state;
	_Atomic uint32_t committed_bytes;
	uint32_t thread; /* slot: DICT_THREAD */
	uint32_t reserved;
	/* Value of chunk_claims when it was taken: 1, 2, ... Stored (release) once `thread` is set;
	 * a reader skips a chunk whose claim is 0. The collector sets claim and committed_bytes to
	 * 0 before it stores CHUNK_FREE. */
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
_Static_assert(sizeof(struct dict_launch) == 56 && sizeof(struct dict_kernel) == 48, "dictionary");
_Static_assert(sizeof(struct dict_module) == 72 && sizeof(struct dict_code) == 32 &&
		       sizeof(struct dict_stack) == 24,
	       "dictionary of stacks");
_Static_assert(sizeof(struct journal_chunk) == 64, "a cache line per chunk");

#endif
