/*
 * See gpu_records.h. This code runs on CUPTI's threads and on threads that flush, never on the hot
 * path. Each record is read through the oldest version of its struct that has the needed fields.
 * CUPTI 11 to 13 only appended fields, so the records of a newer library can be read in the same
 * way.
 */
#include "preload/gpu_records.h"

#include "core/runtime/log.h"
#include "preload/gpu.h"
#include "preload/gpu_calls.h"
#include "preload/gpu_yield.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
	BUFFER_BYTES = 2 << 20, /* room for about 7,000 launches */
	MAX_BUFFERS = 1024,	/* CUPTI 13 holds a buffer per thread, but touches little of each */
	/* if CUPTI holds more, the helper thread flushes: CUPTI keeps those of ended threads */
	HURRY_BUFFERS = 128,
	POPULATED_BUFFERS = 8, /* see make_buffer() */
	READY_BUFFERS = 3,     /* created in advance (keep_ready()); creating them takes 1.5 ms */
	/*
	 * With 256 threads on two busy cores, a thread that had asked for a buffer did not run for
	 * longer than two windows. CUPTI then got the same buffer for another thread.
	 */
	ABANDONED_MS = 5000,
	CUPTI_11_8 = 18, /* the first version whose records have graph ids and pool sizes */
	CUPTI_12_9 = 27, /* the first version that does not crash if it gets no buffer */
	FLIGHT_SLOTS = 65536,
	KERNEL_SLOTS = 16384,
};

struct kernel {
	char *name; /* an own copy; NULL: the slot is free */
	uint32_t block[3], registers, static_bytes, dynamic_bytes;
	uint32_t id;
};

/*
 * Who may use a buffer. ABANDONED: CUPTI had the buffer when CUPTI was taken down, so a thread may
 * still write to it. Such a buffer becomes free when CUPTI gives it back, or when CUPTI is taken
 * down ABANDONED_MS later.
 */
enum owner { OURS, CUPTIS, ABANDONED };

static struct {
	CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **);
	CUptiResult (*lost)(CUcontext, uint32_t, size_t *);
	uint32_t version;
	bool own_clock, by_work, stale;
	_Atomic uint32_t n_buffers;
	_Atomic(uint8_t *) made[MAX_BUFFERS];
	_Atomic uint8_t owners[MAX_BUFFERS]; /* enum owner */
	/* guards the members below, because two threads may complete buffers at once */
	pthread_mutex_t lock;
	uint64_t abandoned_ms[MAX_BUFFERS]; /* when it was abandoned */
	struct kernel kernels[KERNEL_SLOTS];
	uint32_t n_kernels;
	/*
	 * At index id % FLIGHT_SLOTS, for correlation id `id`: its upper bits << 2 | SEEN_* bits.
	 */
	uint32_t flight[FLIGHT_SLOTS];
	/*
	 * outstanding: delivered calls whose GPU work is missing; pushed: announced calls that were
	 * delivered
	 */
	_Atomic int64_t outstanding, pushed;
	uint32_t id_shift; /* added to CUPTI's ids, which restart after CUPTI was taken down */
	uint32_t last_id;  /* highest journal id so far, id_shift included */
	uint32_t first_id; /* first id of this CUPTI session: struct rec_gpu_state */
	/* what was dropped since the last GPU_DROPPED: number of ids, the first and the last one */
	uint32_t n_dropped, first_dropped, last_dropped;
	_Atomic bool saw_copy_on_device;
	_Atomic enum gpu_wanted wanted;
	_Atomic bool forces, lost_times;
	/* Both convert CUPTI's timestamps into ticks, if own_clock is not set. */
	double ticks_per_ns;
	struct journal_clock_point origin;
} g = { .lock = PTHREAD_MUTEX_INITIALIZER };

/*
 * Given to CUPTI if no buffer is left and its version crashes without one. Records that land here
 * are discarded.
 */
static uint8_t scratch[65536] __attribute__((aligned(8)));

static void keep_ready(void);

void gpu_records_setup(CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **),
		       CUptiResult (*lost)(CUcontext, uint32_t, size_t *), uint32_t version,
		       bool own_clock, bool by_work)
{
	/*
	 * `stale`: a forked child still has its parent's tables. They are cleared here, not in
	 * gpu_records_forget(), because that touches 1 MB, which most forked children never need.
	 */
	if (g.stale) {
		memset(g.kernels, 0, sizeof(g.kernels));
		memset(g.flight, 0, sizeof(g.flight));
		g.stale = false;
	}
	g.next = next;
	g.lost = lost;
	g.version = version;
	g.own_clock = own_clock;
	g.by_work = by_work;
	pthread_mutex_lock(&g.lock);
	g.first_id = g.last_id + 1;
	pthread_mutex_unlock(&g.lock);
	keep_ready();
}

/*
 * Number of threads whose first record in the journal came from CUPTI. Usually that is CUPTI's own
 * worker.
 */
static _Atomic uint32_t n_threads;

void gpu_records_forget(void)
{
	for (unsigned i = 0; i < MAX_BUFFERS; i++)
		g.made[i] = NULL;
	g.n_buffers = 0;
	g.lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
	g.stale = g.n_kernels > 0 || g.stale;
	g.n_kernels = 0;
	g.outstanding = 0;
	g.pushed = 0;
	g.n_dropped = 0;
	g.wanted = GPU_WANTS_ALL;
	n_threads = 0;
}

int64_t gpu_records_pushed(void)
{
	return atomic_load_explicit(&g.pushed, memory_order_relaxed);
}

bool gpu_records_outstanding(void)
{
	return atomic_load_explicit(&g.outstanding, memory_order_relaxed) > 0;
}

bool gpu_records_saw_copy_on_device(void)
{
	return atomic_load_explicit(&g.saw_copy_on_device, memory_order_relaxed);
}

/*
 * Converts CUPTI's correlation id to the journal's, which no call of an earlier CUPTI session has.
 * Caller holds the lock.
 */
static uint32_t id_of(uint32_t correlation)
{
	uint32_t id = correlation + g.id_shift;
	if ((int32_t)(id - g.last_id) > 0)
		g.last_id = id;
	return id;
}

/* ---- Buffers ---- */

static uint8_t *take_free_buffer(void)
{
	for (uint32_t i = 0, n = atomic_load(&g.n_buffers); i < n && i < MAX_BUFFERS; i++) {
		uint8_t *b = atomic_load(&g.made[i]), ours = OURS;
		if (b && atomic_compare_exchange_strong(&g.owners[i], &ours, CUPTIS))
			return b;
	}
	return NULL;
}

static uint8_t *make_buffer(void)
{
	uint32_t number = atomic_fetch_add(&g.n_buffers, 1);
	/*
	 * The first buffers are populated here, so that the launches that fill them cause no page
	 * faults. Later buffers are not, because programs with hundreds of threads fill few of
	 * them.
	 */
	int flags = MAP_PRIVATE | MAP_ANONYMOUS | (number < POPULATED_BUFFERS ? MAP_POPULATE : 0);
	uint8_t *b = MAP_FAILED;
	if (number < MAX_BUFFERS)
		b = mmap(NULL, BUFFER_BYTES, PROT_READ | PROT_WRITE, flags, -1, 0);
	if (number >= MAX_BUFFERS)
		atomic_fetch_sub(&g.n_buffers, 1);
	if (b == MAP_FAILED)
		return NULL;
	atomic_store(&g.owners[number], CUPTIS);
	atomic_store(&g.made[number], b);
	return b;
}

/* Returns the buffer's index, or MAX_BUFFERS if the buffer is not ours. */
static uint32_t number_of(const uint8_t *buffer)
{
	uint32_t n = atomic_load(&g.n_buffers);
	for (uint32_t i = 0; i < n && i < MAX_BUFFERS; i++)
		if (atomic_load(&g.made[i]) == buffer)
			return i;
	return MAX_BUFFERS;
}

static bool is_ours(const uint8_t *buffer)
{
	return buffer == scratch || number_of(buffer) < MAX_BUFFERS;
}

void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records)
{
	int saved = errno;
	uint8_t *b = take_free_buffer();
	if (!b)
		b = make_buffer();
	if (UNLIKELY(!b || number_of(b) >= HURRY_BUFFERS))
		gpu_hurry();
	*max_records = 0; /* 0: no limit */
	*bytes = b ? BUFFER_BYTES : 0;
	*buffer = b;
	if (!b) {
		log_once(LOG_WARN, "no free buffer for GPU records: CUPTI drops some of them "
				   "(counted as dropped_by_cupti in run.json)");
		if (g.version < CUPTI_12_9) {
			*buffer = scratch;
			*bytes = sizeof(scratch);
		}
	}
	errno = saved;
}

static void give_back(const uint8_t *buffer)
{
	uint32_t number = number_of(buffer);
	if (number < MAX_BUFFERS)
		atomic_store(&g.owners[number], OURS);
}

void gpu_records_want(enum gpu_wanted wanted)
{
	atomic_store(&g.wanted, wanted);
}

/* Caller holds the lock. */
static void abandon_buffer(uint32_t i, uint64_t now_ms)
{
	uint8_t owner = atomic_load(&g.owners[i]);
	if (owner == CUPTIS && atomic_compare_exchange_strong(&g.owners[i], &owner, ABANDONED))
		g.abandoned_ms[i] = now_ms;
	else if (owner == ABANDONED && now_ms - g.abandoned_ms[i] >= ABANDONED_MS)
		atomic_compare_exchange_strong(&g.owners[i], &owner, OURS);
}

void gpu_records_are_down(void)
{
	uint64_t now_ms = clock_ms();
	pthread_mutex_lock(&g.lock);
	for (uint32_t i = 0; i < MAX_BUFFERS; i++)
		abandon_buffer(i, now_ms);
	/* a session without records takes an id too, so that the next one begins with another id */
	if ((int32_t)(g.first_id - g.last_id) > 0)
		g.last_id = g.first_id;
	g.id_shift = g.last_id;
	g.n_dropped = 0; /* nothing of this session follows what was dropped */
	pthread_mutex_unlock(&g.lock);
}

/*
 * Creates the first buffers. Called at a step boundary, so that a launch in which CUPTI asks for a
 * buffer need not create one.
 */
static void keep_ready(void)
{
	while (atomic_load(&g.n_buffers) < READY_BUFFERS) {
		uint8_t *b = make_buffer();
		if (!b)
			break;
		give_back(b);
	}
}

/* ---- Clock ---- */

/*
 * Relates CUPTI's own clock to ticks. Without our clock, CUPTI uses CLOCK_REALTIME, which is
 * converted at the mean rate since the journal's first clock point.
 */
static void relate_clock(void)
{
	struct journal_clock_point now = clock_point(hook_switch.clock_kind);
	g.origin = journal_header()->clock.first;
	g.ticks_per_ns = (double)(now.ticks - g.origin.ticks) /
			 (double)(now.realtime_ns - g.origin.realtime_ns);
}

static uint64_t ticks_of(uint64_t stamp)
{
	if (g.own_clock || !stamp)
		return stamp;
	return g.origin.ticks +
	       (uint64_t)(int64_t)((double)(int64_t)(stamp - g.origin.realtime_ns) *
				   g.ticks_per_ns);
}

/* ---- Writing ---- */

uint32_t gpu_records_threads(void)
{
	return atomic_load_explicit(&n_threads, memory_order_relaxed);
}

static void *reserve(unsigned kind, uint32_t bytes)
{
	if (!hook_thread.writer.slot) {
		hook_thread.is_helper = true;
		atomic_fetch_add_explicit(&n_threads, 1, memory_order_relaxed);
	}
	struct rec_head *r = journal_reserve(&hook_thread.writer, (uint8_t)kind, bytes);
	if (!hook_thread.has_end)
		hook_thread_keep();
	if (!r)
		return NULL;
	memset(r, 0, bytes);
	r->kind = (uint8_t)kind;
	r->words = (uint8_t)(bytes / 8);
	return r;
}

#define RESERVE(kind, type) ((struct type *)reserve(kind, sizeof(struct type)))
#define COMMIT(record)	    journal_commit(&hook_thread.writer, sizeof(*(record)))

void gpu_write_state(enum gpu_state state, uint64_t ticks, uint64_t detail)
{
	struct rec_gpu_state *r = RESERVE(REC_GPU_STATE, rec_gpu_state);
	if (!r)
		return;
	r->state = (uint16_t)state;
	r->first_id = g.first_id;
	r->ticks = ticks;
	r->detail = detail;
	COMMIT(r);
}

/*
 * ---- Calls in flight: the records of a call and of its GPU work may arrive in either order ----
 */

enum { SEEN_PUSH = 1, SEEN_WORK = 2 };

static void note_flight(uint32_t correlation, uint32_t seen)
{
	uint32_t *slot = &g.flight[correlation % FLIGHT_SLOTS],
		 tag = correlation / FLIGHT_SLOTS << 2;
	uint32_t before = *slot;
	/*
	 * the slot belongs to an id at least 65,536 lower: stop waiting for the work of that call
	 */
	if ((before & ~3u) != tag) {
		if ((before & 3) == SEEN_PUSH)
			atomic_fetch_sub_explicit(&g.outstanding, 1, memory_order_relaxed);
		before = tag;
	}
	*slot = before | seen;
	if (seen == (g.by_work ? SEEN_WORK : SEEN_PUSH) && !(before & seen))
		atomic_fetch_add_explicit(&g.pushed, 1, memory_order_relaxed);
	if ((before & 3) == 0 && seen == SEEN_PUSH)
		atomic_fetch_add_explicit(&g.outstanding, 1, memory_order_relaxed);
	if ((before & 3) == SEEN_PUSH && seen == SEEN_WORK)
		atomic_fetch_sub_explicit(&g.outstanding, 1, memory_order_relaxed);
}

/* ---- Kernels ---- */

static bool same_kernel(const struct kernel *k, const CUpti_ActivityKernel10 *r)
{
	return k->block[0] == (uint32_t)r->blockX && k->block[1] == (uint32_t)r->blockY &&
	       k->block[2] == (uint32_t)r->blockZ && k->registers == r->registersPerThread &&
	       k->static_bytes == (uint32_t)r->staticSharedMemory &&
	       k->dynamic_bytes == (uint32_t)r->dynamicSharedMemory && !strcmp(k->name, r->name);
}

/*
 * Hashes the text, not the pointer, because the pointer becomes invalid: unloading a module frees
 * the module's names, and taking CUPTI down frees all names. A template's name may have a thousand
 * characters, and related names may differ anywhere. So the hash uses about 64 characters, spread
 * over the whole length.
 */
static uint64_t hash_name(const char *name)
{
	uint64_t hash = 14695981039346656037u; /* FNV-1a */
	size_t length = strlen(name);
	for (size_t i = 0; i < length; i += 1 + length / 64)
		hash = (hash ^ (uint8_t)name[i]) * 1099511628211u;
	return hash ^ length;
}

static uint32_t hash_kernel(const CUpti_ActivityKernel10 *r)
{
	const uint32_t block[3] = { (uint32_t)r->blockX, (uint32_t)r->blockY, (uint32_t)r->blockZ };
	const uint32_t rest[3] = { (uint32_t)r->dynamicSharedMemory, r->registersPerThread, 0 };
	return (uint32_t)(token_launch(hash_name(r->name), block, rest) >> 20);
}

static void intern(struct kernel *k, const CUpti_ActivityKernel10 *r)
{
	*k = (struct kernel){
		.name = strdup(r->name),
		.block = { (uint32_t)r->blockX, (uint32_t)r->blockY, (uint32_t)r->blockZ },
		.registers = r->registersPerThread,
		.static_bytes = (uint32_t)r->staticSharedMemory,
		.dynamic_bytes = (uint32_t)r->dynamicSharedMemory,
		.id = ++g.n_kernels,
	};
	struct dict_kernel record = {
		.head.kind = DICT_KERNEL,
		.id = k->id,
		.name = journal_put_string(r->name),
		.block = { k->block[0], k->block[1], k->block[2] },
		.registers = k->registers,
		.static_shared_bytes = k->static_bytes,
		.dynamic_shared_bytes = k->dynamic_bytes,
		.local_bytes_per_thread = r->localMemoryPerThread,
	};
	journal_put(&record.head, sizeof(record), NULL);
}

/* Returns the DICT_KERNEL id, 0 if the table is full or the kernel has no name. */
static uint32_t kernel_id(const CUpti_ActivityKernel10 *r)
{
	if (!r->name)
		return 0;
	for (uint32_t i = 0, at = hash_kernel(r); i < KERNEL_SLOTS; i++, at++) {
		struct kernel *k = &g.kernels[at % KERNEL_SLOTS];
		if (k->name && same_kernel(k, r))
			return k->id;
		if (k->name)
			continue;
		if (g.n_kernels >= KERNEL_SLOTS / 4 * 3)
			break;
		intern(k, r);
		return k->name ? k->id : 0;
	}
	log_once(LOG_WARN,
		 "more than %d different kernels: further kernels are recorded without a name",
		 KERNEL_SLOTS / 4 * 3);
	return 0;
}

/* ---- Known faults of CUPTI (docs/internals/gpu-time.md) ---- */

void gpu_records_force(bool forces)
{
	atomic_store(&g.forces, forces);
}

bool gpu_records_lost_times(void)
{
	return atomic_load(&g.lost_times);
}

static void note_lost_times(void)
{
	if (!atomic_exchange(&g.lost_times, true))
		journal_put_info("times",
				 "some GPU work has no times: CUPTI 12.6 to 13.0 can lose them; "
				 "from the next window on, profrun uses another clock if the "
				 "process has no CUDA graphs");
}

/* ---- One function per kind of record ---- */

static struct rec_gpu *reserve_gpu(unsigned kind, uint64_t begin, uint64_t end,
				   uint32_t correlation)
{
	struct rec_gpu *r = RESERVE(kind, rec_gpu);
	if (!r)
		return NULL;
	r->begin_ticks = ticks_of(begin);
	r->end_ticks = ticks_of(end);
	r->correlation = id_of(correlation);
	if (!end || end < begin) {
		r->flags |= GPU_INCOMPLETE;
		r->end_ticks = r->begin_ticks;
	}
	return r;
}

/*
 * Sets where the work ran. A macro, because all kinds of GPU work have these fields under the same
 * names, but in different structs.
 */
#define SET_PLACE(r, work)                               \
	do {                                             \
		(r)->device = (uint8_t)(work)->deviceId; \
		(r)->stream = (work)->streamId;          \
		(r)->context = (work)->contextId;        \
		if (g.version >= CUPTI_11_8) {           \
			(r)->node = (work)->graphNodeId; \
			(r)->graph = (work)->graphId;    \
		}                                        \
	} while (0)

static void note_dropped(uint32_t id)
{
	if (!g.n_dropped)
		g.first_dropped = id;
	else if (id == g.last_dropped)
		return; /* all work of a graph has one id */
	g.last_dropped = id;
	g.n_dropped++;
}

/*
 * Writes GPU_DROPPED if GPU work was dropped and there is room for it and for a piece of work.
 * Returns false if there is not, and counts a record of `kind` as dropped.
 */
static bool write_dropped(unsigned kind)
{
	if (!g.n_dropped)
		return true;
	struct rec_gpu_state *r =
		reserve(kind, sizeof(struct rec_gpu_state) + sizeof(struct rec_gpu));
	if (!r)
		return false;
	*r = (struct rec_gpu_state){ .kind = REC_GPU_STATE,
				     .words = sizeof(*r) / 8,
				     .state = GPU_DROPPED,
				     .first_id = g.first_dropped,
				     .ticks = hook_ticks(),
				     .detail = (uint64_t)g.last_dropped << 32 | g.n_dropped };
	COMMIT(r);
	g.n_dropped = 0;
	return true;
}

/*
 * Does what reserve_gpu() does, for GPU work. Notes the work as seen, even if the journal is full.
 * Returns NULL also if the work has no end time and only work with times is wanted.
 */
static struct rec_gpu *reserve_work(unsigned kind, uint64_t begin, uint64_t end,
				    uint32_t correlation)
{
	if (!end && g.own_clock && !atomic_load_explicit(&g.forces, memory_order_relaxed))
		note_lost_times();
	note_flight(id_of(correlation), SEEN_WORK);
	if (!end && atomic_load_explicit(&g.wanted, memory_order_relaxed) == GPU_WANTS_TIMED)
		return NULL;
	struct rec_gpu *r = write_dropped(kind) ? reserve_gpu(kind, begin, end, correlation) : NULL;
	if (!r)
		note_dropped(id_of(correlation));
	return r;
}

static void take_kernel(const CUpti_Activity *record)
{
	const CUpti_ActivityKernel10 *k = (const void *)record;
	struct rec_gpu *r = reserve_work(REC_KERNEL, k->start, k->end, k->correlationId);
	if (!r)
		return;
	r->name = kernel_id(k);
	SET_PLACE(r, k);
	r->grid[0] = (uint32_t)k->gridX;
	r->grid[1] = (uint32_t)k->gridY;
	r->grid[2] = (uint32_t)k->gridZ;
	COMMIT(r);
}

static void set_bytes(struct rec_gpu *r, uint64_t bytes)
{
	r->bytes_low = (uint32_t)bytes;
	r->bytes_high = (uint32_t)(bytes >> 32);
}

static void take_memcpy(const CUpti_Activity *record)
{
	const CUpti_ActivityMemcpy6 *m = (const void *)record;
	struct rec_gpu *r = reserve_work(REC_MEMCPY, m->start, m->end, m->correlationId);
	if (m->copyKind == CUPTI_ACTIVITY_MEMCPY_KIND_DTOD)
		atomic_store_explicit(&g.saw_copy_on_device, true, memory_order_relaxed);
	if (!r)
		return;
	r->name = m->copyKind | (uint32_t)m->srcKind << 8 | (uint32_t)m->dstKind << 16;
	r->flags |= m->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? GPU_ASYNC : 0;
	SET_PLACE(r, m);
	set_bytes(r, m->bytes);
	COMMIT(r);
}

static void take_peer_memcpy(const CUpti_Activity *record)
{
	const CUpti_ActivityMemcpyPtoP4 *m = (const void *)record;
	struct rec_gpu *r = reserve_work(REC_MEMCPY, m->start, m->end, m->correlationId);
	if (!r)
		return;
	r->name = m->copyKind | (uint32_t)m->srcKind << 8 | (uint32_t)m->dstKind << 16;
	r->flags |= m->flags & CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC ? GPU_ASYNC : 0;
	SET_PLACE(r, m);
	r->peer = m->dstDeviceId == m->deviceId ? m->srcDeviceId : m->dstDeviceId;
	set_bytes(r, m->bytes);
	COMMIT(r);
}

static void take_memset(const CUpti_Activity *record)
{
	const CUpti_ActivityMemset4 *m = (const void *)record;
	struct rec_gpu *r = reserve_work(REC_MEMSET, m->start, m->end, m->correlationId);
	if (!r)
		return;
	r->name = m->value;
	r->extra = (uint32_t)m->memoryKind << 8;
	SET_PLACE(r, m);
	set_bytes(r, m->bytes);
	COMMIT(r);
}

static void take_synchronization(const CUpti_Activity *record)
{
	const CUpti_ActivitySynchronization *s = (const void *)record;
	struct rec_gpu *r = reserve_gpu(REC_GPU_SYNC, s->start, s->end, s->correlationId);
	if (!r)
		return;
	r->name = (uint32_t)s->type;
	r->device = DEVICE_UNKNOWN;
	r->stream = s->streamId;
	r->context = s->contextId;
	r->node = s->cudaEventId;
	COMMIT(r);
}

static void take_overhead(const CUpti_Activity *record)
{
	const CUpti_ActivityOverhead3 *o = (const void *)record;
	struct rec_overhead *r = RESERVE(REC_OVERHEAD, rec_overhead);
	if (!r)
		return;
	r->what = (uint16_t)(o->overheadKind >> 16);
	r->tid = o->objectKind == CUPTI_ACTIVITY_OBJECT_THREAD ? o->objectId.pt.threadId : 0;
	r->begin_ticks = ticks_of(o->start);
	r->end_ticks = ticks_of(o->end);
	COMMIT(r);
}

static void take_pool(const CUpti_Activity *record)
{
	const CUpti_ActivityMemoryPool3 *p = (const void *)record;
	struct rec_pool *r = RESERVE(REC_POOL, rec_pool);
	if (!r)
		return;
	r->operation = (uint16_t)p->memoryPoolOperationType;
	r->device = p->deviceId;
	r->ticks = ticks_of(p->timestamp);
	r->address = p->address;
	r->size_bytes = p->size;
	r->utilized_bytes = g.version >= CUPTI_11_8 ? p->utilizedSize : 0;
	COMMIT(r);
}

static void take_external(const CUpti_Activity *record)
{
	const CUpti_ActivityExternalCorrelation *e = (const void *)record;
	if (e->externalKind != CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2)
		return; /* the id was pushed by the application's own profiler */
	struct rec_external *r = RESERVE(REC_EXTERNAL, rec_external);
	note_flight(id_of(e->correlationId), SEEN_PUSH);
	if (!r)
		return;
	r->correlation = id_of(e->correlationId);
	r->seq = (uint32_t)e->externalId;
	r->thread = (uint32_t)(e->externalId >> 32);
	COMMIT(r);
}

static void take_api(const CUpti_Activity *record)
{
	const CUpti_ActivityAPI *a = (const void *)record;
	if (!gpu_calls_wanted(a))
		return;
	struct rec_api *r = RESERVE(REC_API, rec_api);
	note_flight(id_of(a->correlationId), SEEN_PUSH);
	if (!r)
		return;
	r->is_driver = a->kind == CUPTI_ACTIVITY_KIND_DRIVER;
	r->correlation = id_of(a->correlationId);
	r->begin_ticks = ticks_of(a->start);
	r->end_ticks = ticks_of(a->end);
	r->tid = a->threadId;
	r->cbid = a->cbid;
	COMMIT(r);
}

static void (*const takers[])(const CUpti_Activity *record) = {
	[CUPTI_ACTIVITY_KIND_MEMCPY] = take_memcpy,
	[CUPTI_ACTIVITY_KIND_MEMSET] = take_memset,
	[CUPTI_ACTIVITY_KIND_KERNEL] = take_kernel,
	[CUPTI_ACTIVITY_KIND_DRIVER] = take_api,
	[CUPTI_ACTIVITY_KIND_RUNTIME] = take_api,
	[CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL] = take_kernel,
	[CUPTI_ACTIVITY_KIND_OVERHEAD] = take_overhead,
	[CUPTI_ACTIVITY_KIND_MEMCPY2] = take_peer_memcpy,
	[CUPTI_ACTIVITY_KIND_SYNCHRONIZATION] = take_synchronization,
	[CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION] = take_external,
	[CUPTI_ACTIVITY_KIND_MEMORY_POOL] = take_pool,
};

static void take_all(uint8_t *buffer, size_t valid_bytes)
{
	CUpti_Activity *record = NULL;
	if (!g.own_clock)
		relate_clock();
	while (g.next(buffer, valid_bytes, &record) == CUPTI_SUCCESS && record)
		if ((size_t)record->kind < sizeof(takers) / sizeof(*takers) && takers[record->kind])
			takers[record->kind](record);
}

void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				   size_t bytes, size_t valid_bytes)
{
	int saved = errno;
	uint32_t depth = hook_thread.depth;
	size_t lost = 0;
	if (!buffer)
		return;
	if (!is_ours(buffer)) {
		gpu_yield_buffer(context, stream, buffer, bytes, valid_bytes);
		return;
	}
	if (!journal_header())
		return;
	/* the thread is CUPTI's worker, or an application thread inside a flush */
	hook_thread.depth = 1;
	pthread_mutex_lock(&g.lock);
	if (buffer != scratch && atomic_load(&g.wanted) != GPU_WANTS_NONE)
		take_all(buffer, valid_bytes);
	if (g.lost && !g.lost(context, stream, &lost) && lost)
		gpu_write_state(GPU_LOST, hook_ticks(), lost);
	pthread_mutex_unlock(&g.lock);
	if (buffer != scratch)
		give_back(buffer);
	hook_thread.depth = depth;
	errno = saved;
}
