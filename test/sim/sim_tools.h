/*
 * The private interface between the simulated driver, runtime and CUPTI. libcuda owns the engine
 * and provides struct sim_tools through cuGetExportTable, as NVIDIA's libraries do between
 * themselves. It therefore exports no symbol that the real libcuda lacks. libcudart opens its API
 * frames through sim_tools. libcupti registers a struct sim_sink, which is notified of calls and
 * GPU work. Without a sink nothing is called, and a frame costs a few nanoseconds.
 */
#ifndef TEST_SIM_SIM_TOOLS_H
#define TEST_SIM_SIM_TOOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "test/sim/sim_common.h"

/* The CUuuid for which cuGetExportTable returns a struct sim_tools. */
#define SIM_TOOLS_UUID "profsim-tools-01"

enum sim_domain { SIM_DRIVER, SIM_RUNTIME };

enum sim_op_kind {
	SIM_OP_KERNEL,
	SIM_OP_COPY,
	SIM_OP_PEER_COPY,
	SIM_OP_MEMSET,
	SIM_OP_HOST,
	SIM_OP_SYNC,
	SIM_OP_MEMORY,
	SIM_OP_GRAPH,
};

/* Values of CUpti_ActivityMemoryKind, so that records need no translation. */
enum sim_memory_kind {
	SIM_MEMORY_UNKNOWN = 0,
	SIM_MEMORY_PAGEABLE = 1,
	SIM_MEMORY_PINNED = 2,
	SIM_MEMORY_DEVICE = 3,
	SIM_MEMORY_ARRAY = 4,
	SIM_MEMORY_MANAGED = 5,
};

/* Values of CUpti_ActivitySynchronizationType. */
enum sim_sync_type {
	SIM_SYNC_EVENT = 1,
	SIM_SYNC_WAIT_EVENT = 2,
	SIM_SYNC_STREAM = 3,
	SIM_SYNC_CONTEXT = 4,
};

/*
 * One operation of the device, or one synchronization of the host, in the form that sinks get.
 * Times are in ns of CLOCK_MONOTONIC.
 */
struct sim_op {
	/* While `resolved` is false: nonzero and unique, passed to op_resolved() later. */
	uint64_t id;
	enum sim_op_kind kind;
	/* start_ns and end_ns are known, because no earlier operation waits for the host */
	bool resolved;
	uint32_t device, context, stream, correlation;
	uint32_t graph;
	uint64_t graph_node;
	int64_t start_ns, end_ns;
	const char *name; /* never freed */
	uint64_t bytes;
	uint64_t address;
	union {
		struct {
			uint32_t grid[3], block[3], cluster[3];
			uint32_t static_shared, dynamic_shared, registers, local_bytes;
			bool cooperative;
		} kernel;
		struct {
			uint8_t kind;	  /* CUpti_ActivityMemcpyKind */
			uint8_t src, dst; /* enum sim_memory_kind */
			bool async;
			uint32_t src_device, dst_device, src_context, dst_context;
		} copy;
		struct {
			uint32_t value;
			uint8_t memory;
			bool async;
		} set;
		struct {
			enum sim_sync_type type;
			uint32_t event;
			uint64_t event_sync;
			uint32_t status;
		} sync;
		struct {
			uint8_t operation; /* CUpti_ActivityMemoryOperationType */
			uint8_t memory;
			bool async;
		} memory;
	} u;
};

/* One API call in progress. Lives on the stack of the generated wrapper. */
struct sim_frame {
	enum sim_domain domain;
	uint32_t cbid;
	const char *name;
	/* a struct of the call's arguments, laid out like CUPTI's <name>_params */
	const void *params;
	struct cu_thread *thread;
	uint32_t correlation;
	bool observed;
	bool nested; /* called from another call of the same thread */
	bool saved_per_thread, runtime_per_thread;
	uint64_t sink_data[4]; /* owned by the sinks: when the call started, on each sink's clock */
	uint64_t callback_data[4];
};

struct sim_sink {
	int index; /* set by sim_tools.attach() */
	void (*api_enter)(struct sim_sink *, struct sim_frame *);
	void (*api_exit)(struct sim_sink *, struct sim_frame *, int status);
	void (*op_submitted)(struct sim_sink *, const struct sim_op *);
	void (*op_resolved)(struct sim_sink *, uint64_t id, int64_t start_ns, int64_t end_ns);
};

#define SIM_SINKS 4 /* libcupti.so.12 and .13 may be loaded together */

/*
 * Returns when a kernel ends that has to meet other kernels (NCCL's, in other processes); -1 if
 * that is not known yet. Called on the driver's helper thread without any lock: for the first time
 * when the kernel's start is known, then repeatedly until it returns an end.
 */
typedef int64_t sim_meeting(void *arg, int64_t start_ns);

struct sim_tools {
	size_t size;
	const struct sim_settings *settings;
	/* 0: a frame has nothing to do: initialized, no sink, no planted failure */
	const volatile uint32_t *flags;
	/* Returns 0, or the planted error (PROFSIM_FAIL) that the call must return. */
	int (*enter)(struct sim_frame *, bool per_thread);
	int (*leave)(struct sim_frame *, int status);
	int (*attach)(struct sim_sink *);
	void (*detach)(struct sim_sink *);
	uint32_t (*context_id)(void *context);
	int (*stream_id)(void *context, void *stream, uint32_t *id);
	int (*context_device)(void *context);
	/*
	 * The calling thread's context and its device. Need no API frame. NULL and -1 if no context
	 * is current.
	 */
	void *(*current)(void);
	int (*current_device)(void);
	/* Declares a variable of a library or module with its real size, which the simulated image
	 * does not contain. */
	int (*variable_declare)(void *library, const char *name, size_t bytes);
	/*
	 * Makes the calling thread's next kernel launch one that meets others. Returns false if
	 * `stream` is being captured, because kernels in a graph meet no others.
	 */
	bool (*meet)(void *stream, sim_meeting *meets, void *arg);
	/*
	 * device_read: gets what a copy from device memory would return. device_write: stores what
	 * a copy to device memory leaves there. `from` NULL: no bytes of the application.
	 */
	void (*device_read)(void *to, const void *from, size_t bytes);
	void (*device_write)(void *to, const void *from, size_t bytes);
	/* Return 0 and the id that the records of a graph's work have, or the driver's error for a
	 * bad handle. */
	int (*graph_id)(void *graph, uint32_t *id);
	int (*exec_id)(void *exec, uint32_t *id);
	int (*node_id)(void *node, uint64_t *id);
};

#endif
