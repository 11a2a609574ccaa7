/*
 * Writes operations of the device, and synchronizations, as CUPTI's activity records. Runs on the
 * thread that submitted them.
 */
#include "test/sim/cupti_sim.h"

/*
 * CUDA 13.2's kernel record is 16 bytes longer than 13.0's. Consumers built for 13.2 may read these
 * bytes, so the record has them.
 */
#define KERNEL13_BYTES 224

#if SIM_CUPTI == 12
typedef CUpti_ActivityKernel9 kernel_record;
#define KERNEL_BYTES sizeof(CUpti_ActivityKernel9)
#else
typedef CUpti_ActivityKernel10 kernel_record;
#define KERNEL_BYTES KERNEL13_BYTES
_Static_assert(sizeof(CUpti_ActivityKernel10) <= KERNEL13_BYTES, "kernel record");
#endif

/* Declares a record `r` of zeros, with the size that it takes in a buffer. */
#define RECORD(type, r, size, number)      \
	union {                            \
		type record;               \
		char bytes[ROUNDED(size)]; \
	} room;                            \
	memset(&room, 0, sizeof(room));    \
	type *r = &room.record;            \
	r->kind = (number)

#define SET_TIMES(r, op) ((r)->start = (uint64_t)(op)->start_ns, (r)->end = (uint64_t)(op)->end_ns)

#define SET_PLACE(r, op)                                               \
	((r)->deviceId = (op)->device, (r)->contextId = (op)->context, \
	 (r)->streamId = (op)->stream, (r)->correlationId = (op)->correlation)

#define SET_NODE(r, op) ((r)->graphId = (op)->graph, (r)->graphNodeId = (op)->graph_node)

#define SET_COPY(r, op)                                                      \
	((r)->copyKind = (op)->u.copy.kind, (r)->srcKind = (op)->u.copy.src, \
	 (r)->dstKind = (op)->u.copy.dst, (r)->bytes = (op)->bytes,          \
	 (r)->flags = (op)->u.copy.async ? CUPTI_ACTIVITY_FLAG_MEMCPY_ASYNC : 0)

#define ROUNDED(bytes) (((bytes) + 7) & ~(size_t)7)

/* Kinds, types and sizes of records. TIMED_RECORDS have a start and an end time, OTHER_RECORDS do
 * not. */
#define TIMED_RECORDS(ROW)                                                         \
	ROW(KERNEL, kernel_record, KERNEL_BYTES)                                   \
	ROW(CONCURRENT_KERNEL, kernel_record, KERNEL_BYTES)                        \
	ROW(MEMCPY, CUpti_ActivityMemcpy6, sizeof(CUpti_ActivityMemcpy6))          \
	ROW(MEMCPY2, CUpti_ActivityMemcpyPtoP4, sizeof(CUpti_ActivityMemcpyPtoP4)) \
	ROW(MEMSET, CUpti_ActivityMemset4, sizeof(CUpti_ActivityMemset4))          \
	ROW(SYNCHRONIZATION, CUpti_ActivitySynchronization2,                       \
	    sizeof(CUpti_ActivitySynchronization2))                                \
	ROW(GRAPH_TRACE, CUpti_ActivityGraphTrace2, sizeof(CUpti_ActivityGraphTrace2))
#define OTHER_RECORDS(ROW)                                                      \
	ROW(RUNTIME, CUpti_ActivityAPI, sizeof(CUpti_ActivityAPI))              \
	ROW(DRIVER, CUpti_ActivityAPI, sizeof(CUpti_ActivityAPI))               \
	ROW(EXTERNAL_CORRELATION, CUpti_ActivityExternalCorrelation,            \
	    sizeof(CUpti_ActivityExternalCorrelation))                          \
	ROW(OVERHEAD, CUpti_ActivityOverhead3, sizeof(CUpti_ActivityOverhead3)) \
	ROW(MEMORY2, CUpti_ActivityMemory4, sizeof(CUpti_ActivityMemory4))

size_t cupti_record_bytes(CUpti_ActivityKind kind)
{
	switch (kind) {
#define ROW(name, type, bytes)           \
	case CUPTI_ACTIVITY_KIND_##name: \
		return ROUNDED(bytes);
		TIMED_RECORDS(ROW)
		OTHER_RECORDS(ROW)
#undef ROW
	default:
		abort(); /* only records that this file wrote are measured */
	}
}

uint64_t *cupti_record_times(CUpti_Activity *record)
{
	switch (record->kind) {
#define ROW(name, type, bytes)           \
	case CUPTI_ACTIVITY_KIND_##name: \
		return &((type *)record)->start;
		TIMED_RECORDS(ROW)
#undef ROW
	default:
		return NULL;
	}
}

static void record_put(const struct sim_op *op, void *record)
{
	struct write w = { record, cupti_record_bytes(((CUpti_Activity *)record)->kind) };
	cupti_buffer_write(&w, 1, op->end_ns, op->resolved ? 0 : op->id);
}

static void record_kernel(const struct sim_op *op)
{
	bool concurrent = cupti_kind_on(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
	if ((!concurrent && !cupti_kind_on(CUPTI_ACTIVITY_KIND_KERNEL)) || cupti_kernels_lost())
		return;
	RECORD(kernel_record, k, KERNEL_BYTES,
	       concurrent ? CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL : CUPTI_ACTIVITY_KIND_KERNEL);
	SET_TIMES(k, op);
	SET_PLACE(k, op);
	k->gridId = (int64_t)op->correlation;
	k->name = op->name;
	k->registersPerThread = (uint16_t)op->u.kernel.registers;
	k->gridX = (int32_t)op->u.kernel.grid[0];
	k->gridY = (int32_t)op->u.kernel.grid[1];
	k->gridZ = (int32_t)op->u.kernel.grid[2];
	k->blockX = (int32_t)op->u.kernel.block[0];
	k->blockY = (int32_t)op->u.kernel.block[1];
	k->blockZ = (int32_t)op->u.kernel.block[2];
	k->clusterX = op->u.kernel.cluster[0];
	k->clusterY = op->u.kernel.cluster[1];
	k->clusterZ = op->u.kernel.cluster[2];
	k->staticSharedMemory = (int32_t)op->u.kernel.static_shared;
	k->dynamicSharedMemory = (int32_t)op->u.kernel.dynamic_shared;
	k->sharedMemoryExecuted =
		(op->u.kernel.static_shared + op->u.kernel.dynamic_shared + 1023) & ~1023u;
	k->localMemoryPerThread = op->u.kernel.local_bytes;
	k->launchType = op->u.kernel.cooperative
				? CUPTI_ACTIVITY_LAUNCH_TYPE_COOPERATIVE_SINGLE_DEVICE
				: CUPTI_ACTIVITY_LAUNCH_TYPE_REGULAR;
	SET_NODE(k, op);
	k->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	k->channelID = op->stream;
	record_put(op, k);
}

static void record_copy(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMCPY))
		return;
	RECORD(CUpti_ActivityMemcpy6, c, sizeof(CUpti_ActivityMemcpy6), CUPTI_ACTIVITY_KIND_MEMCPY);
	SET_COPY(c, op);
	SET_TIMES(c, op);
	SET_PLACE(c, op);
	SET_NODE(c, op);
	c->channelType = CUPTI_CHANNEL_TYPE_ASYNC_MEMCPY;
	c->copyCount = 1;
	record_put(op, c);
	cupti_copy_note(op);
}

static void record_peer(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMCPY2))
		return;
	RECORD(CUpti_ActivityMemcpyPtoP4, c, sizeof(CUpti_ActivityMemcpyPtoP4),
	       CUPTI_ACTIVITY_KIND_MEMCPY2);
	SET_COPY(c, op);
	SET_TIMES(c, op);
	SET_PLACE(c, op);
	c->srcDeviceId = op->u.copy.src_device;
	c->dstDeviceId = op->u.copy.dst_device;
	c->srcContextId = op->u.copy.src_context;
	c->dstContextId = op->u.copy.dst_context;
	SET_NODE(c, op);
	record_put(op, c);
}

static void record_set(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMSET))
		return;
	RECORD(CUpti_ActivityMemset4, m, sizeof(CUpti_ActivityMemset4), CUPTI_ACTIVITY_KIND_MEMSET);
	m->value = op->u.set.value;
	m->bytes = op->bytes;
	SET_TIMES(m, op);
	SET_PLACE(m, op);
	m->flags = op->u.set.async ? CUPTI_ACTIVITY_FLAG_MEMSET_ASYNC : 0;
	m->memoryKind = op->u.set.memory;
	SET_NODE(m, op);
	m->channelType = CUPTI_CHANNEL_TYPE_COMPUTE;
	record_put(op, m);
}

static void record_sync(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION))
		return;
	if (op->u.sync.type == SIM_SYNC_CONTEXT && cupti_mode()->no_device_sync)
		return;
	RECORD(CUpti_ActivitySynchronization2, s, sizeof(CUpti_ActivitySynchronization2),
	       CUPTI_ACTIVITY_KIND_SYNCHRONIZATION);
	s->type = (CUpti_ActivitySynchronizationType)op->u.sync.type;
	SET_TIMES(s, op);
	s->correlationId = op->correlation;
	s->contextId = op->context;
	s->streamId = op->u.sync.type == SIM_SYNC_CONTEXT ? CUPTI_SYNCHRONIZATION_INVALID_VALUE
							  : op->stream;
	s->cudaEventId = op->u.sync.event ?: CUPTI_SYNCHRONIZATION_INVALID_VALUE;
	s->cudaEventSyncId = op->u.sync.event_sync;
	s->returnValue = op->u.sync.status;
	record_put(op, s);
}

static void record_memory(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_MEMORY2))
		return;
	RECORD(CUpti_ActivityMemory4, m, sizeof(CUpti_ActivityMemory4),
	       CUPTI_ACTIVITY_KIND_MEMORY2);
	m->memoryOperationType = (CUpti_ActivityMemoryOperationType)op->u.memory.operation;
	m->memoryKind = (CUpti_ActivityMemoryKind)op->u.memory.memory;
	m->correlationId = op->correlation;
	m->address = op->address;
	m->bytes = op->bytes;
	m->timestamp = cupti_clock_now();
	m->processId = cupti_process_id();
	m->deviceId = op->device;
	m->contextId = op->context;
	m->streamId = op->u.memory.async ? op->stream : CUPTI_INVALID_STREAM_ID;
	m->isAsync = op->u.memory.async;
	struct write w = { m, cupti_record_bytes(m->kind) };
	cupti_buffer_write(&w, 1, 0, 0);
}

static void record_graph(const struct sim_op *op)
{
	if (!cupti_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return;
	RECORD(CUpti_ActivityGraphTrace2, g, sizeof(CUpti_ActivityGraphTrace2),
	       CUPTI_ACTIVITY_KIND_GRAPH_TRACE);
	g->correlationId = op->correlation;
	SET_TIMES(g, op);
	g->deviceId = g->endDeviceId = op->device;
	g->contextId = g->endContextId = op->context;
	g->streamId = op->stream;
	g->graphId = op->graph;
	record_put(op, g);
}

void cupti_record_op(const struct sim_op *submitted)
{
	struct sim_op op_of_graph;
	const struct sim_op *op = submitted;
	if (op->graph) {
		op_of_graph = *submitted;
		op_of_graph.correlation = cupti_graph_id(op->correlation);
		op = &op_of_graph;
	}
	/* graph tracing writes one record for a launch and none for its nodes */
	if (op->graph && op->kind != SIM_OP_GRAPH && cupti_kind_on(CUPTI_ACTIVITY_KIND_GRAPH_TRACE))
		return;
	switch (op->kind) {
	case SIM_OP_KERNEL:
		return record_kernel(op);
	case SIM_OP_COPY:
		return record_copy(op);
	case SIM_OP_PEER_COPY:
		return record_peer(op);
	case SIM_OP_MEMSET:
		return record_set(op);
	case SIM_OP_SYNC:
		return record_sync(op);
	case SIM_OP_MEMORY:
		return record_memory(op);
	case SIM_OP_GRAPH:
		return record_graph(op);
	case SIM_OP_HOST:
		return; /* CUPTI 13.0 has no record of host functions */
	}
}
