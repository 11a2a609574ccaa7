/*
 * The bytes of a journal: the only contract between the library in the application (preload/) and the tools
 * beside it (export/). A journal is one file, mapped MAP_SHARED by both sides while the application lives:
 *
 *   struct journal_header | chunk directory | dictionary | chunks...
 *
 * - Chunks carry the stream of one thread each, in order; a thread takes a new chunk when its own is full.
 *   A record is published by a release store of the directory entry's `committed_bytes`.
 * - The dictionary carries what is written once (hooks, names, threads, launch shapes); it is never recycled.
 *   A dictionary record is published by a release store of its first eight bytes.
 * - All times are ticks of the clock named in the header (see struct journal_clock) unless a name says `_ns`.
 *
 * What is mapped is never trusted by the reader: a torn or foreign file gives an error or a shorter stream.
 */
#ifndef CORE_RECORD_H
#define CORE_RECORD_H

#include "core/runtime/kinds.h"

#include <stdatomic.h>
#include <stdint.h>

#define JOURNAL_MAGIC	"PROFRUN\n"
#define JOURNAL_VERSION 1u

/* 64 KiB: 1,365 calls, so the cold path that takes the next chunk costs each call well under a nanosecond. */
#define JOURNAL_CHUNK_BYTES 65536u

/* ---- Chunk records. Every record starts with kind and size, so that a reader can step over what it does not know. ---- */

enum record_kind {
	REC_NONE,
	REC_CALL, /* struct rec_call: one hooked call */
	REC_STEP, /* struct rec_step: a boundary between steps, or a change in how they are counted */
	REC_DROPPED,   /* struct rec_dropped: the stream has a hole here */
	REC_GPU_STATE, /* struct rec_gpu_state: GPU timing went on or off */
	REC_EXTERNAL,  /* struct rec_external: CUPTI correlation id <-> call */
	REC_API,       /* struct rec_api: CUPTI's own record of an API call */
	REC_KERNEL,    /* struct rec_gpu */
	REC_MEMCPY,    /* struct rec_gpu */
	REC_MEMSET,    /* struct rec_gpu */
	REC_GPU_SYNC,  /* struct rec_gpu: what a synchronisation waited for, by CUPTI */
	REC_OVERHEAD,  /* struct rec_overhead: CUPTI's own cost */
	REC_POOL,      /* struct rec_pool: memory pool sizes */
	REC_RANGE,     /* struct rec_range: the application's own NVTX ranges and marks */
	REC_LIBRARY, /* struct rec_library: a call of NCCL, cuBLAS, cuBLASLt or cuDNN, around its launches */
	REC_BLOCK,  /* struct rec_block: a framework's allocator gave out a block or took it back */
	REC_MEMORY, /* struct rec_memory: what such an allocator holds */
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
 *   LAUNCH    arg = launch token (DICT_LAUNCH has its meaning)
 *   GRAPH     arg = graph exec handle
 *   MEMCPY    arg = bytes, detail = enum record_copy
 *   MEMSET    arg = bytes
 *   PREFETCH  arg = bytes
 *   ALLOC     arg = address or handle, bytes = size        (no seq)
 *   FREE      arg = address or handle, bytes = 0 unless known
 *   EVENT, SYNC, QUERY   arg = event handle where there is one
 *   QUERY     detail = how many said "not ready" before it, with no other record between; seq = how long ago the first of them
 *             returned, in ticks >> REC_POLLED_SHIFT
 *   STREAM    stream = the handle
 * `seq` numbers a thread's GPU-work calls from 1 (mod 2^32), with those that were counted and not recorded: what is missing between two was
 * dropped, or made between two windows. (thread slot, seq) is what CUPTI's external correlation id and so struct rec_external carries.
 */
struct rec_call {
	uint8_t kind, words;
	uint16_t hook;	/* DICT_HOOK */
	uint32_t stack; /* DICT_STACK, 0: none was taken */
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

/* 39 bits of ticks (about 3 minutes), above that in units of 4,096 ticks: a hung call keeps its length. */
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

/* What happens in a step; the order is torch.profiler's. */
enum step_event {
	STEP_BEGIN, /* step `number` begins at `ticks`; `detail` not 0: it is a slice of time of so many milliseconds */
	STEP_OUTSIDE, /* no step from `ticks` on: PROF_STEP=api after cudaProfilerStop; the last step ended */
	STEP_COUNTED, /* auto: the anchor came for the `number`-th time since it was adopted; absolute number not known yet */
	STEP_TRIGGERED, /* something asked for steps: `action` is an enum trigger_cause, `generation` the request (FILE), `number`
			   the first step that is recorded for it, `detail` how many; stands before the step that begins at `ticks` */
	STEP_NUMBERED, /* auto: `number` is the base of the anchor of `generation`, which is `detail`; one for each that was locked.
			  `action`: enum step_numbered */
	STEP_BACKUP, /* auto: `detail` is the backup of the anchor of `generation`, `number` how many launches before it that stands, and
			above 32 bits struct iteration_anchors' `apart`; follows its STEP_NUMBERED */
	STEP_CUT, /* auto: the anchor has stopped coming; what the step under way did from `ticks` on is none of it */
	STEP_CORRECTED, /* auto: what the anchor of generation `detail` counted is void; that of `generation` takes its place */
};

/* Bits. */
enum step_numbered {
	NUMBERED_TRAINING = 1, /* an optimizer ends its steps, and none ended those before */
	NUMBERED_LATE = 2,     /* struct journal_steps, is_late */
};

struct rec_step {
	uint8_t kind, words;
	uint8_t event;	     /* enum step_event */
	uint8_t action;	     /* enum sched_action of the step that begins */
	uint32_t generation; /* of the anchor, auto only */
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
	GPU_OFF, /* calls from `ticks` on need have no GPU records; those of earlier ones may still come */
	GPU_ON,		 /* calls from `ticks` on are to have their GPU records */
	GPU_FLUSHED,	 /* everything launched before `ticks` has been delivered */
	GPU_UNAVAILABLE, /* `detail` = CUPTI's result or -errno; DICT_INFO "cupti" says why in words */
	GPU_LOST,	 /* CUPTI itself dropped `detail` records */
	GPU_YIELDED,	 /* as OFF: the application's own profiler has CUPTI */
	GPU_ON_BUT_COPIES, /* as ON, but copies have none; DICT_INFO "copies" says why */
};

struct rec_gpu_state {
	uint8_t kind, words;
	uint16_t state; /* enum gpu_state */
	/* of ON: correlation ids of what is launched from `ticks` on are this one or above, those of what was launched before are below: CUPTI
	 * recorded nothing in between. The same as of the ON before: it did. */
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
	uint32_t
		tid; /* as CUPTI names it: dict_thread's handle, or its tid where another tool switched CUPTI to those */
	uint32_t cbid;
};

/*
 * One piece of GPU work as CUPTI timed it. By kind:
 *   KERNEL   name = DICT_KERNEL id, dims = grid
 *   MEMCPY   name = copy kind (CUpti_ActivityMemcpyKind) | source memory kind << 8 | destination << 16, bytes; peer = other device
 *   MEMSET   name = value,  memory kind << 8 in `extra`, bytes
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
	RANGE_START, /* `id` says which RANGE_END ends it, on any thread */
	RANGE_END,
	RANGE_MARK,
};

struct rec_range {
	uint8_t kind, words;
	uint16_t event; /* enum range_event */
	uint32_t name;	/* DICT_STRING, 0: none or not known (POP, END) */
	uint64_t ticks;
	uint64_t id;	 /* START, END */
	uint32_t domain; /* DICT_STRING of the domain's name, 0: the default domain */
	uint32_t color;	 /* ARGB, 0: none */
};

/* One call of a library, written at its end. */
struct rec_library {
	uint8_t kind, words;
	uint16_t function; /* DICT_LIBRARY */
	uint16_t status;   /* the library's own result code, 0 = success */
	uint8_t type, compute;
	uint64_t begin_ticks, end_ticks;
	uint64_t stream; /* 0: the library did not say, or the default one */
	union {
		struct {
			uint64_t m, n, k;
			uint32_t batch, reserved;
		} gemm; /* C (m by n) = A (m by k) * B (k by n), `batch` times */
		struct {
			uint64_t count; /* elements, as the function counts them */
			uint64_t
				comm; /* the communicator's name, the same in all ranks; 0: not known */
			uint32_t
				sequence; /* of the collective on its communicator, from 1; 0: none */
			int32_t peer;	  /* root of a collective, partner of a message, -1: none */
			uint16_t rank, n_ranks; /* in the communicator; 65535, 0: not known */
			uint32_t reserved;
		} nccl;
	};
};

/* Blocks of PyTorch's caching allocator, as it reports them to its own profiler. While steps are recorded; see rec_memory. */
struct rec_block {
	uint8_t kind, words;
	uint8_t event; /* enum block_event */
	uint8_t device;
	uint32_t stack; /* DICT_STACK, MADE and LIVE; 0: none was taken */
	uint64_t ticks;
	uint64_t address, bytes; /* as rounded by the allocator */
	union {
		struct {
			uint64_t allocated_bytes, reserved_bytes; /* in all, afterwards */
		};
		uint64_t made_ticks; /* LIVE; outside recorded steps: when its step began */
	};
};

/* What the allocator holds on a device at a step's begin, whether steps are recorded or not; where it has changed. */
struct rec_memory {
	uint8_t kind, words;
	uint8_t device, reserved;
	uint32_t n_lost; /* blocks that BLOCK_LIVE cannot say: there were too many */
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

/* All sizes are multiples of 8; `bytes` counts the head. The head is stored last, as one 64-bit release store. */
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

/* A library's function. */
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
	uint32_t
		handle; /* low half of pthread_self(): what CUPTI calls the thread unless it was told otherwise */
	uint32_t reserved;
};

struct dict_string {
	struct dict_head head;
	uint32_t id;
	char text[];
};

/* The shape of a launch as the host asked for it, written at its first sight. */
struct dict_launch {
	struct dict_head head;
	uint64_t token;
	uint64_t function; /* handle as the caller passed it */
	uint32_t name;	   /* DICT_STRING of the (mangled) name, 0: unknown */
	uint32_t grid[3], block[3];
	uint32_t shared_bytes;
};

/* A kernel as CUPTI reports it, without what differs from launch to launch. */
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

/* A loaded object that frames lie in. Addresses in it are given as offsets from `base`, which is what the ELF file's own
 * virtual addresses count from. */
struct dict_module {
	struct dict_head head;
	uint32_t id; /* from 1 */
	uint32_t build_id_bytes;
	uint8_t build_id[32];
	uint64_t
		base; /* load address minus the lowest virtual address of the file, as dl_phdr_info's dlpi_addr */
	uint64_t begin, end; /* mapped addresses */
	char path[];	     /* absolute where it could be found */
};

enum line_table { LINES_NONE, LINES_LNOTAB, LINES_310, LINES_311 };

/* A Python code object, copied at its first sight. */
struct dict_code {
	struct dict_head head;
	uint32_t id;   /* from 1 */
	uint32_t file; /* DICT_STRING, as co_filename has it */
	uint32_t name; /* DICT_STRING: co_qualname (3.11 and later), else co_name */
	uint32_t first_line;
	uint32_t lines; /* enum line_table: the layout of what follows */
	uint32_t table_bytes;
	uint8_t table[];
};

/* One frame of a stack. Native: bit 63 clear, bits 48..62 module (0: none, an absolute address), bits 0..47 offset of the return
 * address (of the interrupted instruction below a signal frame). Python: bit 63 set, bits 32..62 code, bits 0..31 last
 * instruction in bytes (0xffffffff: not known). */
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
	STACK_TRUNCATED =
		1, /* outer native frames are missing: code without unwind information, or the depth limit */
	STACK_UNMERGED =
		2, /* the Python frames stand after the native ones: where they belong could not be told */
	STACK_BY_NAME =
		4, /* as UNMERGED, and each Python frame is one activation of the interpreter's evaluator: CPython 3.8, 3.9 */
	STACK_PYTHON_TRUNCATED = 8, /* outer Python frames are missing: the depth limit */
};

/* A call stack, innermost frame first. Its `shared` outermost frames are those of the stack `base`, written before. */
struct dict_stack {
	struct dict_head head;
	uint32_t id;	    /* not 0; ids may have gaps */
	uint32_t base;	    /* 0: nothing is shared */
	uint16_t shared, n; /* `n`: frames that follow here */
	uint32_t flags;	    /* enum stack_flag */
	uint64_t frames[];
};

/* ---- The header and the directory: shared memory with both sides writing. ---- */

enum journal_clock_kind { CLOCK_KIND_TSC = 1, CLOCK_KIND_MONOTONIC_NS = 2 };

/* Ticks, CLOCK_MONOTONIC and CLOCK_REALTIME read at the same moment (within about 100 ns). */
struct journal_clock_point {
	uint64_t ticks, monotonic_ns, realtime_ns;
};

/* ns = point[0].monotonic_ns + (ticks - point[0].ticks) * slope, the slope from point[0] to the newest point. The
 * reader may take further points itself while the machine is up: the time-stamp counter is one for all processes. */
struct journal_clock {
	uint32_t kind;
	uint32_t reserved;
	struct journal_clock_point first;
	struct journal_clock_point last; /* written at the orderly end; ticks 0 until then */
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

/* The fact that a range of PROF_STEP=nvtx:NAME has begun. */
#define JOURNAL_INFO_STEP_RANGE "step range"

enum step_state {
	STEP_STATE_OWN, /* the library knows its boundaries without help (every mode but auto) */
	STEP_STATE_LEARNING, /* journals launches and copies, waits for anchor_generation to move */
	STEP_STATE_ADOPTED, /* counts the anchor, still journals; waits for base_generation == anchor_generation */
	STEP_STATE_LOCKED, /* numbers are absolute, the schedule rules */
	STEP_STATE_LOST, /* the anchor has not come for long: journals again, goes back to LOCKED if it comes, and waits for
			    anchor_generation to move */
};

static inline _Bool step_state_is_learning(uint32_t state)
{
	return state == STEP_STATE_LEARNING || state == STEP_STATE_ADOPTED ||
	       state == STEP_STATE_LOST;
}

/*
 * Learning steps (auto). The collector writes an anchor: the hash of three successive launches of one thread
 * (core/runtime/token.h), after whose last one a step ends. The library adopts it and writes STEP_COUNTED 1, 2, 3... as it
 * comes: each says that a step begins at its `ticks`. The step that begins with STEP_COUNTED k has the number base + k,
 * so the collector writes base = (anchors completed by launches that began before the ticks of STEP_COUNTED 1) - 1: the
 * run's first anchor ends step 0. A turn in which the anchor fails counts by its backup. (The record may stand in another thread's stream than the anchor: it is written with the
 * next launch of any thread.) Each generation is stored last (release) and read first (acquire).
 *
 * A program may go over to other work, where the anchor does not come any more. The library then counts `lost` up, and all this
 * begins anew from the step under way, `current`, which the first new anchor ends: base = current + anchors - 1.
 *
 * Long before that the anchor is overdue: the library journals again, and the collector looks for steps of another optimizer, no others, for
 * the program may only evaluate. If the anchor comes first all is as it was; else the library adopts the new one and goes on as above.
 * Steps that no optimizer ends are looked at in this way now and then (preload/doubt.h), although the anchor comes: so many as the
 * library has a mind to, until looked_ticks has passed them, and longer once sees_optimizer is set.
 *
 * An anchor may be told provisional: it is counted, and the schedule runs on it, while the library journals on and the collector
 * learns on, until sure_generation says that it stands; or a newer one takes its place, and all that was counted by it is void:
 * numbers and schedule go back to where they were before it, as if the newer one were the first.
 */
/* Whether an optimizer ends the steps. */
enum step_optimizer {
	STEP_OPTIMIZER_NONE,
	STEP_OPTIMIZER_LIKELY, /* by what follows the backward pass; its name would have told */
	STEP_OPTIMIZER_SURE
};

enum start_of {
	START_OF_STEPS,	   /* it is not known whether an optimizer ends them */
	START_OF_TRAINING, /* one does */
	START_BEHIND_OTHERS /* one does, and none ended those before; how many there were may differ from rank to rank */
};

struct journal_steps {
	/* written by the collector */
	_Atomic uint32_t anchor_generation;
	_Atomic uint32_t base_generation;
	_Atomic uint64_t anchor;
	_Atomic uint64_t base;
	_Atomic uint32_t calls_per_step; /* of the median step, as the collector saw it */
	_Atomic uint32_t confidence_permille;
	/* written by the library */
	uint32_t mode;		  /* enum step_mode */
	_Atomic uint32_t state;	  /* enum step_state */
	_Atomic uint64_t current; /* number of the step under way */
	_Atomic uint64_t
		schedule_shift; /* steps by which the schedule was moved because its first window had passed */
	/*
	 * Several ranks of one job: each that knows its steps counts waits_for_start up, stays disarmed, and the collector
	 * names the step that the schedule's first recorded one becomes, the same for all (`start`, then start_is_named, which
	 * becomes waits_for_start). A rank asks once more where it trains and has had other steps before (start_of).
	 */
	_Atomic uint32_t waits_for_start; /* by the library */
	_Atomic uint32_t start_is_named;  /* by the collector */
	_Atomic uint64_t start;
	uint32_t
		wants_optimizer; /* by the library: only a step that an optimizer ends is to be found */
	_Atomic uint32_t lost;	   /* by the library: how often the anchor stopped coming */
	_Atomic uint32_t boundary; /* by the collector: enum level_boundary (core/steps/levels.h) */
	/* by the collector, with each anchor: struct iteration_anchors (core/runtime/turn.h) */
	_Atomic uint32_t backup_within;
	_Atomic uint64_t backup; /* 0: none */
	_Atomic uint32_t anchor_thread;
	_Atomic uint32_t
		wants_slices; /* by the collector: steps have been looked for long enough */
	_Atomic uint32_t
		slices; /* by the library: slices of time that stood in for steps of the schedule */
	uint32_t
		wants_function; /* by the library: PROF_STEP=python:, and stacks of all launches come */
	/* by the collector: */
	_Atomic uint32_t sure_generation; /* this anchor stands; one that is newer is provisional */
	_Atomic uint32_t
		void_generation; /* the newest one that steps were counted by and that did not stand, 0: none */
	_Atomic uint32_t n_corrected,
		void_calls_per_step; /* how many such there were, and what it took for a step */
	_Atomic uint64_t
		overdue_ticks; /* by the library: since when the anchor is; 0: it has come */
	_Atomic uint32_t by_optimizer; /* by the collector, with each anchor: enum step_optimizer */
	_Atomic uint32_t
		sees_optimizer; /* by the collector: in what came since overdue_ticks; 0 by the library */
	_Atomic uint64_t looked_ticks; /* by the collector: until when it has looked meanwhile */
	_Atomic uint32_t
		anchors_apart; /* by the collector, with each anchor: struct iteration_anchors */
	_Atomic uint32_t start_of; /* by the library, with waits_for_start: enum start_of */
	/* by the collector, with each anchor: a step's last two calls by token_pair_hash(), if the anchor's last ones are the next step's, else 0;
	 * and whether it came before the first step's end, so that it never comes behind the last one's */
	_Atomic uint64_t end;
	_Atomic uint32_t is_late;
};

/* How a request was answered. */
enum trigger_answer {
	TRIGGER_BY_STEPS,  /* steps `first` to `first` + `n` - 1 are recorded */
	TRIGGER_BY_TIME,   /* no step is known: slices of time are, numbered alike */
	TRIGGER_FROM_KEPT, /* the flight recorder: what is kept is written, and the next `n` steps */
};

/*
 * Requests for steps. `profrun trigger` stores how many it wants and from which on, then counts `asked` up (release); the library looks at it when a
 * step begins, and while it learns with each launch. It stores its answer, then the request's number in `taken` (release).
 */
struct journal_trigger {
	_Atomic uint32_t asked;
	_Atomic uint32_t asked_steps; /* 0: as many as the schedule's active */
	_Atomic uint64_t
		asked_from; /* no step before it: several ranks take the same ones; 0: at once */
	/* written by the library */
	_Atomic uint32_t accepts; /* 1 << enum trigger_cause: what PROF_TRIGGER has */
	_Atomic uint32_t signals; /* that came, counted by their handler */
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
	uint32_t call_bytes, gpu_bytes; /* sizes of the two big records, as a check on both sides */
	uint32_t pid, ppid;
	uint64_t
		process_start; /* field 22 of /proc/PID/stat: tells a process from a later one of the same pid */
	struct journal_clock clock;
	_Atomic uint64_t ended_ticks; /* orderly end of the process; 0: alive or killed */
	_Atomic uint64_t dictionary_used_bytes;
	_Atomic uint32_t chunks_backed; /* chunks below this index have disk space behind them */
	_Atomic uint32_t collector;	/* pid of the collector that reads and recycles, 0: none */
	_Atomic uint64_t chunk_claims;	/* numbers the claims: order of a thread's chunks */
	_Atomic uint64_t dropped_records;    /* chunk records that found no room, in all */
	_Atomic uint64_t dropped_dictionary; /* dictionary records that found no room */
	struct journal_steps steps;
	struct journal_trigger trigger;
	uint64_t
		pid_namespace; /* inode of /proc/self/ns/pid: whose numbers `pid` and `ppid` are; 0: not known */
};

enum chunk_state {
	CHUNK_FREE,    /* the library may claim it (by compare and swap) */
	CHUNK_WRITING, /* one thread appends */
	CHUNK_SEALED, /* full, or its thread ended; only the collector may free it, once it has read it */
};

/* One per chunk, a cache line each: its owner stores here with every record. */
struct journal_chunk {
	_Atomic uint32_t state;
	_Atomic uint32_t committed_bytes;
	uint32_t thread; /* slot: DICT_THREAD */
	uint32_t reserved;
	/* 1, 2, ...: chunk_claims when it was taken, stored (release) once `thread` is there: a reader passes over a chunk
	 * whose claim is 0. The collector sets claim and committed_bytes to 0 before it stores CHUNK_FREE. */
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
