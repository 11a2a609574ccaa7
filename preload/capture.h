/*
 * Macros and functions for the `before` and `after` columns of hooks.def. They copy a call's
 * arguments and results into its record, struct rec_call. They run inside the wrapper, before or
 * after the real call. They read an output argument only if the call succeeded and the caller
 * passed a pointer for it.
 */
#ifndef PRELOAD_CAPTURE_H
#define PRELOAD_CAPTURE_H

#include "preload/devices.h"
#include "preload/gpu_teardown.h"
#include "preload/graphs.h"
#include "preload/hook.h"
#include "preload/launch.h"
#include "preload/names.h"
#include "preload/stack.h"
#include "preload/steps.h"

#include <cuda.h>
#include <cuda_runtime_api.h>

#define NOTHING ((void)0)

/*
 * Records stream, argument and size. `stream_` and `arg_` may be handles, pointers, device
 * addresses or numbers.
 */
#define take(c, stream_, arg_, bytes_)                        \
	do {                                                  \
		(c)->stream = (uint64_t)(uintptr_t)(stream_); \
		(c)->arg = (uint64_t)(uintptr_t)(arg_);       \
		if (bytes_)                                   \
			(c)->bytes = (uint64_t)(bytes_);      \
	} while (0)

/* Records the handle or address that a call returned through `out`. */
#define got(c, status, out)                                       \
	do {                                                      \
		if (!(status) && (out))                           \
			(c)->arg = (uint64_t)(uintptr_t) * (out); \
	} while (0)

#define got_named(c, status, out, name)             \
	do {                                        \
		got(c, status, out);                \
		if (!(status) && (out))             \
			names_copy((c)->arg, name); \
	} while (0)

#define got_context(c, status, out)  \
	do {                         \
		got(c, status, out); \
		context_begun();     \
	} while (0)

#define got_current_context(c, status, out)             \
	do {                                            \
		got_context(c, status, out);            \
		if (!(status) && (out))                 \
			devices_number_context(*(out)); \
		context_chosen(status);                 \
	} while (0)

#define got_popped(c, status, out)      \
	do {                            \
		got(c, status, out);    \
		context_chosen(status); \
	} while (0)

#define current_context_over(status)         \
	do {                                 \
		gpu_teardown_context_over(); \
		graphs_streams_gone();       \
		context_chosen(status);      \
	} while (0)

#define take_primary_context(c, device)             \
	do {                                        \
		take(c, 0, (uintptr_t)(device), 0); \
		gpu_teardown_primary_context();     \
	} while (0)

#define capture_ended(c, status, out)                   \
	do {                                            \
		got(c, status, out);                    \
		graphs_capture_ended(c, (int)(status)); \
	} while (0)

/* A call that made the executable graph *out of `graph`. */
#define got_exec(c, status, out, graph)                                         \
	do {                                                                    \
		got(c, status, out);                                            \
		if (!(status) && (out))                                         \
			graphs_changed(GRAPH_INSTANTIATED, 0, hook_ticks(),     \
				       (uint64_t)(uintptr_t)(graph), (c)->arg); \
	} while (0)

/* A call that made the graph *out, as a copy of the graph `of` or empty (0). */
#define got_graph(c, status, out, of)                                                     \
	do {                                                                              \
		got(c, status, out);                                                      \
		if (!(status) && (out))                                                   \
			graphs_changed((of) ? GRAPH_CLONED : GRAPH_MADE, 0, hook_ticks(), \
				       (c)->arg, (uint64_t)(uintptr_t)(of));              \
	} while (0)

/* `event` at the end of the call, or at its start */
#define graph_changed(event, status, graph, of)                                          \
	graphs_changed(event, (int)(status), hook_ticks(), (uint64_t)(uintptr_t)(graph), \
		       (uint64_t)(uintptr_t)(of))
#define graph_gone(event, c, status, graph, of)                                              \
	graphs_changed(event, (int)(status), (c)->begin_ticks, (uint64_t)(uintptr_t)(graph), \
		       (uint64_t)(uintptr_t)(of))

/* After a call that added the node *out. `params`: see graphs_added(). */
#define added_node(c, status, shape, graph, out, params)                                  \
	do {                                                                              \
		if (!(status) && (out))                                                   \
			graphs_added(c, shape, (uint64_t)(uintptr_t)(graph),              \
				     (uint64_t)(uintptr_t) * (out), params, CALLER_REGS); \
	} while (0)

/* Before a call that adds a kernel node with the driver's parameters, of any version. */
#define take_driver_kernel(c, shape, p)                                                     \
	do {                                                                                \
		if (p)                                                                      \
			graphs_take_kernel(                                                 \
				c, shape,                                                   \
				&(struct launch_shape){                                     \
					(uintptr_t)(p)->func,                               \
					{ (p)->gridDimX, (p)->gridDimY, (p)->gridDimZ },    \
					{ (p)->blockDimX, (p)->blockDimY, (p)->blockDimZ }, \
					(p)->sharedMemBytes });                             \
	} while (0)

static inline void take_runtime_kernel(struct rec_call *c, struct launch_shape *shape,
				       const struct cudaKernelNodeParams *p)
{
	if (p)
		graphs_take_kernel(
			c, shape,
			&(struct launch_shape){ (uintptr_t)p->func,
						{ p->gridDim.x, p->gridDim.y, p->gridDim.z },
						{ p->blockDim.x, p->blockDim.y, p->blockDim.z },
						p->sharedMemBytes });
}

/* Before a call that adds a memset node. Both APIs name the members alike. */
#define take_memset_node(c, p)           \
	graphs_take_node(c, NODE_MEMSET, \
			 (p) ? (uint64_t)(p)->elementSize *(p)->width *(p)->height : 0)

static inline void take_copy_node(struct rec_call *c, const CUDA_MEMCPY3D *p)
{
	graphs_take_node(c, NODE_MEMCPY, p ? (uint64_t)p->WidthInBytes * p->Height * p->Depth : 0);
}

/*
 * The parameters of cudaGraphAddNode() of any version. CUDA 12 has (node, graph, dependencies,
 * count, parameters), CUDA 13 has (node, graph, dependencies, edges, count, parameters). A count is
 * no address.
 */
static inline const void *params_of_node(uintptr_t fifth, uintptr_t sixth)
{
	return (const void *)(fifth >= 65536 ? fifth : sixth);
}

/* After a call that destroyed a stream. */
#define stream_gone(c, status)                           \
	do {                                             \
		if (!(status) && hook_captures())        \
			graphs_stream_gone((c)->stream); \
	} while (0)

#define got_stream(c, status, out)                                   \
	do {                                                         \
		if (!(status) && (out))                              \
			(c)->stream = (uint64_t)(uintptr_t) * (out); \
	} while (0)

#define got_pitched(c, status, out, pitch, height)                    \
	do {                                                          \
		got(c, status, out);                                  \
		if (!(status) && (pitch))                             \
			(c)->bytes = (uint64_t) * (pitch) * (height); \
	} while (0)

#define got_3d(c, status, out, extent)                                                          \
	do {                                                                                    \
		if (!(status) && (out)) {                                                       \
			(c)->arg = (uint64_t)(uintptr_t)(out)->ptr;                             \
			(c)->bytes = (uint64_t)(out)->pitch * (extent).height * (extent).depth; \
		}                                                                               \
	} while (0)

/*
 * The expansion must have no comma outside parentheses, because it is one argument of the macros
 * that expand a row of hooks.def.
 */
#define take_launch(c, shape, function, gx, gy, gz, bx, by, bz, shared, stream)           \
	capture_launch(c, shape, (uint64_t)(uintptr_t)(function), gx, gy, gz, bx, by, bz, \
		       (uint32_t)(shared), (uint64_t)(uintptr_t)(stream))

/*
 * Counts a launch for step detection, before the real call, unless it is captured. While launches
 * are recorded, it also fills `*shape` and prefetches the entry of the shape's table.
 * capture_shape() writes the shape to the journal after the real call, when the entry is in the
 * cache. If another thread starts recording during this call, this launch's shape is not written;
 * the next launch of the same shape writes it.
 */
HOT static inline void capture_counted(struct rec_call *c, struct launch_shape *shape,
				       uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz,
				       uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared_bytes,
				       uint64_t stream)
{
	uint64_t token = token_launch_of(function, gx, gy, gz, bx, by, bz);
	bool begins = false;
	c->arg = token;
	c->stream = stream;
	bool is_captured = hook_captures() && graphs_is_captured(c);
	if (hook_begins_by_name() && !is_captured) {
		*shape = (struct launch_shape){
			function, { gx, gy, gz }, { bx, by, bz }, shared_bytes
		};
		begins = launch_begins_step(token, shape);
	}
	if (LIKELY(!is_captured))
		steps_token(token, begins, function);
	if (hook_records(CAT_LAUNCH) || hook_captures()) {
		launch_expect(token);
		*shape = (struct launch_shape){
			function, { gx, gy, gz }, { bx, by, bz }, shared_bytes
		};
	}
}

/*
 * Counts a launch. If `shape` is NULL, counts it only if it need not be hashed (steps_passes()),
 * and then sets c->seq to true.
 */
static inline __attribute__((always_inline)) void
capture_launch(struct rec_call *c, struct launch_shape *shape, uint64_t function, uint32_t gx,
	       uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
	       uint32_t shared_bytes, uint64_t stream)
{
	if (shape)
		capture_counted(c, shape, function, gx, gy, gz, bx, by, bz, shared_bytes, stream);
	else if (steps_passes(function))
		*steps_passed(&c->seq) =
			(struct hook_passed){ function, { gx, gy, gz }, { bx, by, bz } };
}

/*
 * Writes the shape of a recorded launch to the dictionary, if it is new. Called after the real
 * call, before the launch's own record is written.
 */
static inline void capture_shape(uint64_t token, const struct launch_shape *shape)
{
	if (UNLIKELY(shape->function && !launch_is_known(token)))
		launch_learn(token, shape);
}

static inline void take_launch_config(struct rec_call *c, struct launch_shape *shape,
				      const cudaLaunchConfig_t *config, const void *function)
{
	if (config)
		take_launch(c, shape, function, config->gridDim.x, config->gridDim.y,
			    config->gridDim.z, config->blockDim.x, config->blockDim.y,
			    config->blockDim.z, config->dynamicSmemBytes, config->stream);
}

static inline void take_launch_ex(struct rec_call *c, struct launch_shape *shape,
				  const CUlaunchConfig *config, CUfunction function)
{
	if (config)
		take_launch(c, shape, function, config->gridDimX, config->gridDimY,
			    config->gridDimZ, config->blockDimX, config->blockDimY,
			    config->blockDimZ, config->sharedMemBytes, config->hStream);
}

/* For a call that launches on several devices: records only the first launch. */
static inline void take_launch_many(struct rec_call *c, struct launch_shape *shape,
				    const CUDA_LAUNCH_PARAMS *list, unsigned count)
{
	if (list && count)
		take_launch(c, shape, list->function, list->gridDimX, list->gridDimY,
			    list->gridDimZ, list->blockDimX, list->blockDimY, list->blockDimZ,
			    list->sharedMemBytes, list->hStream);
}

/*
 * Does what take_launch_many() does, for the runtime. `list` is the address of an array of struct
 * cudaLaunchParams, which CUDA 13's headers no longer declare.
 */
static inline void take_launch_list(struct rec_call *c, struct launch_shape *shape, uintptr_t list,
				    uint32_t count)
{
	const struct {
		void *func;
		dim3 gridDim, blockDim;
		void **args;
		size_t sharedMem;
		cudaStream_t stream;
	} *first = (const void *)list;
	if (first && count)
		take_launch(c, shape, first->func, first->gridDim.x, first->gridDim.y,
			    first->gridDim.z, first->blockDim.x, first->blockDim.y,
			    first->blockDim.z, first->sharedMem, first->stream);
}

#define take_graph(c, exec, stream_)                                                        \
	do {                                                                                \
		(c)->stream = (uint64_t)(uintptr_t)(stream_);                               \
		(c)->arg = (uint64_t)(uintptr_t)(exec);                                     \
		steps_before_launch((c)->arg);                                              \
		if (!hook_captures() || !graphs_is_captured(c))                             \
			steps_token(token_graph((c)->arg), steps_is_anchor_graph((c)->arg), \
				    STEPS_NO_FUNCTION);                                     \
	} while (0)

#define take_copy(c, stream_, bytes_, kind_)                    \
	do {                                                    \
		(c)->stream = (uint64_t)(uintptr_t)(stream_);   \
		(c)->arg = (uint64_t)(bytes_);                  \
		(c)->detail = (uint32_t)(kind_);                \
		if (!hook_captures() || !graphs_is_captured(c)) \
			steps_copy((c)->detail);                \
	} while (0)

static inline uint32_t runtime_copy(enum cudaMemcpyKind kind)
{
	static const uint8_t kinds[] = { COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_UNKNOWN };
	return (unsigned)kind < sizeof(kinds) ? kinds[kind] : COPY_UNKNOWN;
}

static inline uint32_t driver_copy(CUmemorytype from, CUmemorytype to)
{
	bool from_host = from == CU_MEMORYTYPE_HOST, to_host = to == CU_MEMORYTYPE_HOST;
	if (from == CU_MEMORYTYPE_UNIFIED || to == CU_MEMORYTYPE_UNIFIED)
		return COPY_UNKNOWN;
	if (from_host)
		return to_host ? COPY_H2H : COPY_H2D;
	return to_host ? COPY_D2H : COPY_D2D;
}

static inline uint64_t volume_bytes(struct cudaExtent extent)
{
	return (uint64_t)extent.width * extent.height * extent.depth;
}

static inline uint64_t sum_bytes(const size_t *sizes, size_t count)
{
	uint64_t sum = 0;
	for (size_t i = 0; sizes && i < count; i++)
		sum += sizes[i];
	return sum;
}

/* A height or depth of 0 counts as 1: runtime and driver use 0 for 1-D and 2-D arrays. */
static inline uint64_t array_bytes(uint64_t texel_bytes, uint64_t width, uint64_t height,
				   uint64_t depth)
{
	return texel_bytes * width * (height ? height : 1) * (depth ? depth : 1);
}

static inline uint64_t runtime_array_bytes(const struct cudaChannelFormatDesc *desc, size_t width,
					   size_t height, size_t depth)
{
	return desc ? array_bytes((uint64_t)(desc->x + desc->y + desc->z + desc->w) / 8, width,
				  height, depth)
		    : 0;
}

static inline uint64_t driver_array_bytes(CUarray_format format, unsigned channels, size_t width,
					  size_t height, size_t depth)
{
	static const uint8_t bytes[] = {
		[CU_AD_FORMAT_UNSIGNED_INT8] = 1,  [CU_AD_FORMAT_UNSIGNED_INT16] = 2,
		[CU_AD_FORMAT_UNSIGNED_INT32] = 4, [CU_AD_FORMAT_SIGNED_INT8] = 1,
		[CU_AD_FORMAT_SIGNED_INT16] = 2,   [CU_AD_FORMAT_SIGNED_INT32] = 4,
		[CU_AD_FORMAT_HALF] = 2,	   [CU_AD_FORMAT_FLOAT] = 4
	};
	unsigned texel = (unsigned)format < sizeof(bytes) ? bytes[format] : 1;
	return array_bytes(texel * channels, width, height, depth);
}

/*
 * Returns roughly the size of all levels of a mipmapped array. Each level has an eighth of the
 * bytes of the previous one (a quarter in 2-D). 8/7 of the first level is accurate enough for a
 * memory counter.
 */
static inline uint64_t mipmapped_bytes(uint64_t first_level_bytes, unsigned levels)
{
	return levels > 1 ? first_level_bytes + first_level_bytes / 7 : first_level_bytes;
}

static inline void device_chosen(int status, int device)
{
	if (status)
		return;
	hook_thread.context = 0;
	hook_thread.device = device >= 0 && device < (int)DEVICE_UNKNOWN ? (uint8_t)device
									 : DEVICE_UNKNOWN;
}

static inline void devices_reset(int status)
{
	gpu_teardown_context_over();
	graphs_streams_gone();
	device_chosen(status, 0);
}

/* Called after a call that may have made another context the thread's current one. */
static inline void context_chosen(int status)
{
	int device = status ? -1 : devices_current();
	if (device < 0)
		return;
	device_chosen(0, device);
	hook_thread.context = devices_context();
}

/*
 * Called before and after a call that creates a context. context_begun() is also called after a
 * call that takes a reference to a primary context.
 */
void context_beginning(void);
void context_begun(void);

/*
 * Called before a call that destroys or resets a context. Delivers the context's GPU records, which
 * would be lost otherwise.
 */
void context_ending(void);

#endif
