/*
 * Internals of the simulated driver (libcuda.so.1): devices, contexts, streams, events, memory,
 * kernels, graphs. One mutex, engine_lock, guards all of it. No user code (host functions, CUPTI
 * callbacks) runs while it is held, and no thread waits for simulated time while it holds it.
 *
 * Simulated time is computed, not waited for: a stream's state is the moment at which its last
 * operation ends (struct when). Only operations after a host function, whose duration is not known
 * beforehand, are stored as nodes of a dependency graph (struct op).
 */
#ifndef TEST_SIM_ENGINE_H
#define TEST_SIM_ENGINE_H

/* Declares every version of every function under its own name. */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cudaProfiler.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim_tools.h"

#define ENGINE_MAX_DEVICES  16
#define ENGINE_MAX_CONTEXTS 256
#define ENGINE_CTX_STACK    32

extern pthread_mutex_t engine_lock;
extern struct sim_settings engine_settings;

/* Returns the CUDA version of the driver, such as 13010 for 13.1. */
static inline int engine_driver_version(void)
{
	int tenths = (int)(engine_settings.driver * 10 + 0.5);
	return tenths / 10 * 1000 + tenths % 10 * 10;
}

/* ---- API frames (engine_api.c) ---- */

struct cu_thread {
	int depth;
	uint32_t correlation;
	bool per_thread; /* the current call is a _ptds or _ptsz variant */
	CUstreamCaptureMode capture_mode;
	int stack_size;
	struct context *stack[ENGINE_CTX_STACK];
	struct stream **streams; /* the thread's default streams, by index of the context */
	/* if not NULL: says when the next launched kernel ends; called with `meeting` */
	sim_meeting *meets;
	void *meeting;
};

enum {
	ENGINE_COLD = 1,   /* the settings have not been read */
	ENGINE_FORKED = 2, /* this is a child of a process that has used CUDA */
	ENGINE_SINK = 4,
	ENGINE_FAIL = 8,
};
extern volatile uint32_t engine_flags;

struct cu_thread *engine_thread(void);
int engine_frame_enter(struct sim_frame *frame, bool per_thread);
int engine_frame_leave(struct sim_frame *frame, int status);
uint32_t engine_correlation(struct cu_thread *thread);
CUresult engine_missing(const char *name);
extern const struct sim_tools engine_tools;

/* Queries of struct sim_tools (engine_graph_ids.c). */
int tool_graph_id(void *graph, uint32_t *id);
int tool_exec_id(void *exec, uint32_t *id);
int tool_node_id(void *node, uint64_t *id);

#define cu_enter(frame, per_thread) ((CUresult)engine_frame_enter(frame, per_thread))
#define cu_leave(frame, status)	    ((CUresult)engine_frame_leave(frame, status))
#define cu_missing(name)	    engine_missing(name)

/* Report an operation to the sinks and the truth file. Call without engine_lock. */
void engine_publish(const struct sim_op *op);
void engine_publish_resolved(const struct sim_op *op);
bool engine_watched(void);

/* ---- time (engine_op.c) ---- */

struct op;

/* A moment in simulated time. `op` NULL: the moment `ns`. Otherwise: the end of `op`, which is not
 * known until a host function has run. */
struct when {
	int64_t ns;
	struct op *op; /* the moment owns a reference to it */
};

struct op_request {
	struct sim_op desc;
	int64_t not_before_ns;
	int64_t duration_ns;
	void (*action)(
		void *); /* moves the bytes, or is the host function; runs once, without the lock */
	void *arg;
	/* the action is a host function, which determines how long the operation lasts */
	bool host;
	sim_meeting *meets; /* called with `arg`; says when the operation ends */
	bool silent;	    /* not an operation of the device, but a join or an event */
};

#define OP_MAX_DEPS 260

/*
 * Submits the operation and returns the moment of its end. Does not run the action. If
 * op_is_known() is true for the result, the caller must run the action after it has released
 * engine_lock; otherwise the helper thread runs it. Requires engine_lock.
 */
struct when op_submit(struct op_request *request, const struct when *deps, int count);
bool op_is_known(const struct when *moment);
struct when op_join(const struct when *moments, int count);
struct when op_reference(struct when moment);
void op_release(struct when *moment);
void op_assign(struct when *to, struct when from);
/* The following functions are called without engine_lock. */
int64_t op_wait(struct when moment, bool sleep);     /* frees the reference */
void op_wait_before(struct when moment, int64_t ns); /* waits until `ns` ns before the moment */
bool op_passed(struct when moment);
void op_published(const struct when *moment);
int64_t engine_ns(double us);

/* ---- devices and contexts (engine_ctx.c) ---- */

struct device {
	int ordinal;
	struct context *primary;
	int primary_users;
	unsigned primary_flags;
	uint64_t used_bytes;
	struct memory_pool *pool, *default_pool;
};
extern struct device engine_devices[ENGINE_MAX_DEVICES];
int engine_device_count(void);
CUresult engine_device_check(int ordinal);

struct context {
	uint32_t magic;
	uint32_t id, index;
	struct device *device;
	unsigned flags;
	bool primary, destroyed;
	CUresult error; /* sticky: once work on the device has failed, every call fails with this */
	struct stream *legacy;
	struct stream *streams; /* all streams that are not destroyed */
	uint32_t next_stream_id;
	int64_t orphans_ns; /* latest end of the work in destroyed streams */
	uint64_t peers;	    /* bit mask of the devices to which peer access is enabled */
	uint64_t kernels;   /* number of kernels launched so far */
	size_t limits[16];
};
#define CONTEXT_MAGIC 0x43545831u

CUresult engine_context_current(struct context **context);
struct context *engine_context_checked(CUcontext handle);
struct context *engine_context_by_device(int ordinal);
CUresult engine_context_wait(struct context *context);
CUresult engine_init_check(void);
bool engine_has_context(void);

/*
 * The value that a copy of `bytes` bytes reads right after a kernel (PROFSIM_KERNEL_RESULTS). value
 * -1: no value is set.
 */
struct result {
	int64_t value;
	unsigned bytes;
};

/* ---- streams and events (engine_stream.c) ---- */

struct stream {
	uint32_t magic;
	uint32_t id;
	struct context *context;
	unsigned flags;
	int priority;
	bool legacy, per_thread, destroyed;
	struct when tail;
	/* end times of the last PROFSIM_QUEUE launches; the next launch waits for the oldest */
	int64_t *queue;
	uint32_t queue_next;
	/* result of the kernel that was launched last, if nothing was copied since */
	struct result result;
	/* capture in progress on this stream; capture_nodes: the nodes on which the next one
	 * depends */
	struct capture *capture;
	struct graph_node **capture_nodes;
	int capture_count;
	struct stream *next;
	CUstreamAttrValue attributes[16];
};
#define STREAM_MAGIC 0x53545231u

struct event {
	uint32_t magic;
	uint32_t id;
	unsigned flags;
	bool recorded;
	struct context *context;
	struct when at;
	uint32_t stream_id;
	uint64_t record_sequence;
	struct capture *
		capture; /* the capture of the stream that recorded the event, if it is capturing */
	uint64_t capture_id;
	/* if recorded in a capture: the nodes on which a stream that waits for the event depends */
	struct graph_node **capture_nodes;
	int capture_count;
	struct event *next_free;
};
#define EVENT_MAGIC 0x45565431u

/* The following functions require engine_lock. */
CUresult stream_find(CUstream handle, struct stream **stream);
int stream_dependencies(struct stream *stream, struct when *deps);
struct when stream_submit(struct stream *stream, struct op_request *request);
struct when stream_moment(struct stream *stream);
/* Returns the result that the copy or memset that is submitted now can read. */
struct result stream_result(struct stream *stream);
/* Submits the operation. Requires engine_lock on entry and releases it. Then publishes the
 * operation, runs its action if its end is known, and waits until `host_end`, to simulate the
 * call's cost on the host. */
CUresult stream_run_locked(struct stream *stream, struct op_request *request, int64_t host_end,
			   struct when *end);
CUresult stream_run(CUstream handle, struct op_request *request, double cost_us, struct when *end);
struct stream *stream_create_in(struct context *context, unsigned flags, int priority);
void stream_queue_note(struct stream *stream, int64_t end_ns, int64_t *wait_ns);
struct event *event_checked(CUevent handle);
void engine_sync_publish(enum sim_sync_type type, uint32_t stream, struct event *event,
			 int64_t start_ns, int status, struct context *context);

/* ---- address ranges (engine_map.c) ---- */

struct range {
	uintptr_t start;
	size_t bytes;
	struct range *left, *right;
	uint32_t priority;
};
struct range *range_find(struct range *root, uintptr_t address);
/* Returns the first range that ends after `address`. */
struct range *range_after(struct range *root, uintptr_t address);
void range_insert(struct range **root, struct range *range);
void range_remove(struct range **root, struct range *range);

/* ---- memory (engine_mem.c) ---- */

struct allocation {
	struct range range;
	enum sim_memory_kind kind;
	struct context *context;
	struct device *device;
	struct memory_pool *pool;
	uint64_t id;
	size_t mapped_bytes;
	bool registered, mapped_vmm, async, ipc;
	unsigned flags;
};
extern struct range *engine_allocations;

struct memory_pool {
	uint32_t magic;
	struct device *device;
	uint64_t used, used_high, reserved, reserved_high, threshold;
	int reuse[4];
	unsigned handle_types; /* CUmemAllocationHandleType: how the pool may be exported */
	uint64_t shared_id;    /* nonzero: exported or imported; unique in the exporting process */
	bool imported;	       /* another process made it; it cannot allocate */
	int exporter;	       /* that process */
};
struct memory_pool *memory_pool_checked(CUmemoryPool handle);
struct memory_pool *memory_pool_create(struct device *device);

CUresult memory_allocate(struct device *device, enum sim_memory_kind kind, size_t bytes,
			 struct allocation **out);
/* Allocates device memory at an address below 2 GiB. */
CUresult memory_allocate_low(struct device *device, size_t bytes, struct allocation **out);
CUresult memory_release(struct allocation *allocation);
void memory_release_context(struct context *context); /* requires engine_lock */
struct allocation *memory_find(const void *address);
enum sim_memory_kind memory_kind_of(const void *address, struct allocation **allocation);
void memory_publish(int operation, struct allocation *a, bool async, uint32_t stream);

/* ---- what the application wrote (engine_extent.c) ---- */

void extent_write(uintptr_t address, size_t bytes, uint64_t kernels); /* requires engine_lock */
void extent_forget(uintptr_t address, size_t bytes);
/*
 * Copies the bytes that a copy from device memory at `from` returns: the application's own bytes,
 * or zeros. Returns whether any are the application's. Call without engine_lock.
 */
bool extent_read(void *to, uintptr_t from, size_t bytes, uint64_t kernels);

/* ---- copies (engine_copy.c, engine_move.c) ---- */

/*
 * A copy or memset before it is submitted. Graph nodes keep one, too. A linear copy is a 3D copy of
 * one row.
 */
struct move {
	CUDA_MEMCPY3D_PEER copy;
	bool is_set, linear;
	unsigned value;
	size_t element;
	struct context *context;
	struct result result; /* result of the kernel that was launched before */
};

enum move_wait { MOVE_NO_WAIT, MOVE_WAIT_START, MOVE_WAIT_END };

struct move move_linear(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUmemorytype to_type,
			CUmemorytype from_type);
struct move move_set(CUdeviceptr to, size_t pitch, unsigned value, size_t element, size_t width,
		     size_t height);
CUDA_MEMCPY3D_PEER copy_from_3d(const CUDA_MEMCPY3D *copy);
CUresult copy_3d(const CUDA_MEMCPY3D_PEER *copy, CUstream stream, bool async);
/* Fills in the description and the duration. */
CUresult move_describe(struct move *move, struct op_request *request);
/* Does the same, but requires engine_lock. */
CUresult move_describe_locked(struct move *move, struct op_request *request);
void move_run(void *move);
enum move_wait move_waits(const struct sim_op *desc);

struct array {
	uint32_t magic;
	char *base;
	size_t pitch, rows, layers;
	CUDA_ARRAY3D_DESCRIPTOR descriptor;
	struct mipmapped *owner;
};
struct array *array_checked(CUarray handle);

/* ---- kernels (engine_kernel.c) ---- */

struct kernel {
	uint32_t magic;
	const char *name;
	int64_t duration_ns; /* -1: the setting PROFSIM_KERNEL_US */
	struct result result;
	struct module *module;
	struct kernel *next;
	int attributes[20];
	unsigned block[3], shared; /* for launches without a shape */
};
#define KERNEL_MAGIC 0x4b524e31u

struct launch {
	struct kernel *kernel;
	uint32_t grid[3], block[3], cluster[3];
	uint32_t shared;
	bool cooperative;
};
struct kernel *kernel_checked(const void *handle);
int engine_variable_declare(void *library, const char *name, size_t bytes);
void engine_device_read(void *to, const void *from, size_t bytes);
void engine_device_write(void *to, const void *from, size_t bytes);
bool engine_meet(void *stream, sim_meeting *meets, void *arg);
CUresult kernel_describe(const struct launch *launch, struct op_request *request);

/* ---- graphs (engine_graph.c, engine_capture.c) ---- */

bool capture_active(const struct stream *stream);
CUresult capture_forbids(
	struct stream *stream); /* for calls that capture forbids: an error; requires engine_lock */
/* Returns the error of a call without a stream, if a capture forbids it. Takes engine_lock. */
CUresult capture_unsafe(void);
CUresult capture_kernel(struct stream *stream, const struct launch *launch);
CUresult capture_move(struct stream *stream, const struct move *move);
CUresult capture_host(struct stream *stream, CUhostFn function, void *data);
CUresult capture_memory(struct stream *stream, CUdeviceptr address, size_t bytes, bool is_free);
CUresult capture_event_record(struct stream *stream, struct event *event, unsigned flags);
CUresult capture_event_wait(struct stream *stream, struct event *event, unsigned flags);
/* Called when CUPTI is finalized: breaks all existing executable graphs. */
void engine_graphs_break(void);
void capture_event_forget(struct event *event);

#include "driver_impl.h"

#endif
