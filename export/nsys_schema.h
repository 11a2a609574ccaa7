/* The tables of Nsight Systems' SQLite export that profrun writes, and the values in them. */
#ifndef EXPORT_NSYS_SCHEMA_H
#define EXPORT_NSYS_SCHEMA_H

#include <stdint.h>

/* X(name, columns). The columns have the order and the names of Nsight Systems' schema. */
#define NSYS_TABLES(X)                                                                           \
	X(StringIds, "id integer not null primary key, value text")                              \
	X(CUPTI_ACTIVITY_KIND_KERNEL,                                                            \
	  "start integer, end integer, deviceId integer, contextId integer, "                    \
	  "greenContextId integer, streamId integer, correlationId integer, globalPid integer, " \
	  "demangledName integer, shortName integer, mangledName integer, launchType integer, "  \
	  "cacheConfig integer, registersPerThread integer, gridX integer, gridY integer, "      \
	  "gridZ integer, blockX integer, blockY integer, blockZ integer, "                      \
	  "staticSharedMemory integer, dynamicSharedMemory integer, "                            \
	  "localMemoryPerThread integer, localMemoryTotal integer, gridId integer, "             \
	  "sharedMemoryExecuted integer, graphNodeId integer, sharedMemoryLimitConfig integer")  \
	X(CUPTI_ACTIVITY_KIND_MEMCPY,                                                            \
	  "start integer, end integer, deviceId integer, contextId integer, "                    \
	  "greenContextId integer, streamId integer, correlationId integer, globalPid integer, " \
	  "bytes integer, copyKind integer, deprecatedSrcId integer, srcKind integer, "          \
	  "dstKind integer, srcDeviceId integer, srcContextId integer, dstDeviceId integer, "    \
	  "dstContextId integer, migrationCause integer, graphNodeId integer, "                  \
	  "virtualAddress integer, copyCount integer")                                           \
	X(CUPTI_ACTIVITY_KIND_MEMSET,                                                            \
	  "start integer, end integer, deviceId integer, contextId integer, "                    \
	  "greenContextId integer, streamId integer, correlationId integer, globalPid integer, " \
	  "value integer, bytes integer, graphNodeId integer, memKind integer")                  \
	X(CUPTI_ACTIVITY_KIND_RUNTIME,                                                           \
	  "start integer, end integer, eventClass integer, globalTid integer, "                  \
	  "correlationId integer, nameId integer, returnValue integer, callchainId integer")     \
	X(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION,                                                   \
	  "start integer, end integer, deviceId integer, contextId integer, "                    \
	  "greenContextId integer, streamId integer, correlationId integer, globalPid integer, " \
	  "syncType integer, eventId integer, eventSyncId integer")                              \
	X(CUDA_CALLCHAINS,                                                                       \
	  "id integer, symbol integer, module integer, unresolved integer, originalIP integer, " \
	  "stackDepth integer")                                                                  \
	X(NVTX_EVENTS,                                                                           \
	  "start integer, end integer, eventType integer, rangeId integer, category integer, "   \
	  "color integer, text text, globalTid integer, endGlobalTid integer, textId integer, "  \
	  "domainId integer, uint64Value integer, int64Value integer, doubleValue real, "        \
	  "uint32Value integer, int32Value integer, floatValue real, jsonTextId integer, "       \
	  "jsonText text, binaryData text")                                                      \
	X(COMPOSITE_EVENTS,                                                                      \
	  "id integer not null primary key, start integer, cpu integer, threadState integer, "   \
	  "globalTid integer, cpuCycles integer")                                                \
	X(SAMPLING_CALLCHAINS,                                                                   \
	  "id integer, symbol integer, module integer, kernelMode integer, thumbCode integer, "  \
	  "unresolved integer, specialEntry integer, originalIP integer, "                       \
	  "unwindMethod integer, stackDepth integer")                                            \
	X(TARGET_INFO_GPU,                                                                       \
	  "id integer, name text, totalMemory integer, smCount integer, computeMajor integer, "  \
	  "computeMinor integer, cuDevice integer")                                              \
	X(TARGET_INFO_SESSION_START_TIME, "utcEpochNs integer, utcTime text, localTime text")    \
	X(PROCESSES, "globalPid integer, pid integer, name text")                                \
	X(ThreadNames, "nameId integer, priority integer, globalTid integer")                    \
	X(META_DATA_EXPORT, "name text, value text")                                             \
	X(ENUM_CUDA_MEMCPY_OPER, "id integer not null primary key, name text, label text")       \
	X(ENUM_CUDA_MEM_KIND, "id integer not null primary key, name text, label text")          \
	X(ENUM_CUPTI_SYNC_TYPE, "id integer not null primary key, name text, label text")        \
	X(ENUM_NSYS_EVENT_TYPE, "id integer not null primary key, name text, label text")

/* Values of Nsight Systems' enums. */
enum { EVENT_MARK = 34, EVENT_PUSH_POP = 59, EVENT_START_END = 60, EVENT_DOMAIN = 75 };
enum {
	COPY_KIND_HTOD = 1,
	COPY_KIND_DTOH = 2,
	COPY_KIND_DTOD = 8,
	COPY_KIND_HTOH = 9,
	COPY_KIND_PTOP = 10
};
enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1 };

/* A row of a table that names the values of an enum. */
struct nsys_row {
	int64_t id;
	const char *name, *label;
};

static const struct nsys_row nsys_copies[] = {
	{ COPY_KIND_HTOD, "CUDA_MEMCPY_KIND_HTOD", "Host-to-Device" },
	{ COPY_KIND_DTOH, "CUDA_MEMCPY_KIND_DTOH", "Device-to-Host" },
	{ COPY_KIND_DTOD, "CUDA_MEMCPY_KIND_DTOD", "Device-to-Device" },
	{ COPY_KIND_HTOH, "CUDA_MEMCPY_KIND_HTOH", "Host-to-Host" },
	{ COPY_KIND_PTOP, "CUDA_MEMCPY_KIND_PTOP", "Peer-to-Peer" },
};

static const struct nsys_row nsys_memories[] = {
	{ 0, "CUDA_MEMOPR_MEMORY_KIND_PAGEABLE", "Pageable" },
	{ 1, "CUDA_MEMOPR_MEMORY_KIND_PINNED", "Pinned" },
	{ 2, "CUDA_MEMOPR_MEMORY_KIND_DEVICE", "Device" },
	{ 3, "CUDA_MEMOPR_MEMORY_KIND_ARRAY", "Array" },
	{ 4, "CUDA_MEMOPR_MEMORY_KIND_MANAGED", "Managed" },
	{ 5, "CUDA_MEMOPR_MEMORY_KIND_DEVICE_STATIC", "Device Static" },
	{ 6, "CUDA_MEMOPR_MEMORY_KIND_MANAGED_STATIC", "Managed Static" },
};

static const struct nsys_row nsys_events[] = {
	{ EVENT_MARK, "NvtxMark", "NVTX mark" },
	{ EVENT_PUSH_POP, "NvtxPushPopRange", "NVTX push/pop range" },
	{ EVENT_START_END, "NvtxStartEndRange", "NVTX start/end range" },
	{ EVENT_DOMAIN, "NvtxDomainCreate", "NVTX domain" },
};

#endif
