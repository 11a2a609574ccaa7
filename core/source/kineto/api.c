/* See api.h. */
#include "core/source/kineto/api.h"

#include <stddef.h>
#include <string.h>

/* A name that begins so; the first row that fits counts. "cuda", "cu" and "hip" are left out. */
struct row {
	const char *begin;
	uint8_t category, space;
};

static const struct row rows[] = {
	{ "LaunchHostFunc", CAT_HOSTFUNC, SPACE_NONE },
	{ "LaunchCooperativeKernel", CAT_LAUNCH, SPACE_NONE },
	{ "LaunchKernel", CAT_LAUNCH, SPACE_NONE },
	{ "ExtLaunchKernel", CAT_LAUNCH, SPACE_NONE },
	{ "ExtModuleLaunchKernel", CAT_LAUNCH, SPACE_NONE },
	{ "ModuleLaunchKernel", CAT_LAUNCH, SPACE_NONE },
	{ "ModuleLaunchCooperativeKernel", CAT_LAUNCH, SPACE_NONE },
	{ "Launch", CAT_LAUNCH, SPACE_NONE },
	{ "GraphLaunch", CAT_GRAPH, SPACE_NONE },
	{ "Graph", CAT_CONTROL, SPACE_NONE },
	{ "Memcpy", CAT_MEMCPY, SPACE_NONE },
	{ "Memset", CAT_MEMSET, SPACE_NONE },
	{ "MemPrefetch", CAT_PREFETCH, SPACE_NONE },
	{ "MallocHost", CAT_ALLOC, SPACE_HOST },
	{ "HostAlloc", CAT_ALLOC, SPACE_HOST },
	{ "HostMalloc", CAT_ALLOC, SPACE_HOST },
	{ "HostRegister", CAT_ALLOC, SPACE_REGISTERED },
	{ "HostUnregister", CAT_FREE, SPACE_REGISTERED },
	{ "FreeHost", CAT_FREE, SPACE_HOST },
	{ "HostFree", CAT_FREE, SPACE_HOST },
	{ "MallocManaged", CAT_ALLOC, SPACE_MANAGED },
	{ "MallocAsync", CAT_ALLOC, SPACE_POOL },
	{ "MallocFromPool", CAT_ALLOC, SPACE_POOL },
	{ "FreeAsync", CAT_FREE, SPACE_POOL },
	{ "Malloc", CAT_ALLOC, SPACE_DEVICE },
	{ "MemHostAlloc", CAT_ALLOC, SPACE_HOST },
	{ "MemAllocHost", CAT_ALLOC, SPACE_HOST },
	{ "MemFreeHost", CAT_FREE, SPACE_HOST },
	{ "MemAllocManaged", CAT_ALLOC, SPACE_MANAGED },
	{ "MemAllocAsync", CAT_ALLOC, SPACE_POOL },
	{ "MemAllocFromPool", CAT_ALLOC, SPACE_POOL },
	{ "MemFreeAsync", CAT_FREE, SPACE_POOL },
	{ "MemAlloc", CAT_ALLOC, SPACE_DEVICE },
	{ "MemCreate", CAT_ALLOC, SPACE_PHYSICAL },
	{ "MemRelease", CAT_FREE, SPACE_PHYSICAL },
	{ "MemMap", CAT_ALLOC, SPACE_ADDRESS },
	{ "MemUnmap", CAT_FREE, SPACE_ADDRESS },
	{ "Free", CAT_FREE, SPACE_DEVICE },
	{ "MemFree", CAT_FREE, SPACE_DEVICE },
	{ "DeviceSynchronize", CAT_SYNC, SPACE_NONE },
	{ "CtxSynchronize", CAT_SYNC, SPACE_NONE },
	{ "StreamSynchronize", CAT_SYNC, SPACE_NONE },
	{ "EventSynchronize", CAT_SYNC, SPACE_NONE },
	{ "ThreadSynchronize", CAT_SYNC, SPACE_NONE },
	{ "StreamQuery", CAT_QUERY, SPACE_NONE },
	{ "EventQuery", CAT_QUERY, SPACE_NONE },
	{ "StreamWaitEvent", CAT_EVENT, SPACE_NONE },
	{ "Event", CAT_EVENT, SPACE_NONE },
	{ "StreamBeginCapture", CAT_CAPTURE, SPACE_NONE },
	{ "StreamEndCapture", CAT_CAPTURE, SPACE_NONE },
	{ "StreamIsCapturing", CAT_CONTROL, SPACE_NONE },
	{ "StreamGetCaptureInfo", CAT_CONTROL, SPACE_NONE },
	{ "Stream", CAT_STREAM, SPACE_NONE },
};

static const struct row *row_of(const char *name)
{
	static const char *const prefixes[] = { "cuda", "cu", "hip" };
	for (size_t i = 0; i < sizeof(prefixes) / sizeof(*prefixes); i++) {
		size_t n = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], n))
			continue;
		for (size_t k = 0; k < sizeof(rows) / sizeof(*rows); k++)
			if (!strncmp(name + n, rows[k].begin, strlen(rows[k].begin)))
				return &rows[k];
		return NULL;
	}
	return NULL;
}

uint8_t api_category(const char *name)
{
	const struct row *row = row_of(name);
	return row ? row->category : CAT_CONTROL;
}

uint8_t api_space(const char *name)
{
	const struct row *row = row_of(name);
	return row ? row->space : SPACE_NONE;
}

uint8_t api_copy(const char *name)
{
	static const struct {
		const char *word;
		uint8_t copy;
	} words[] = { { "HtoD", COPY_H2D }, { "DtoH", COPY_D2H }, { "DtoD", COPY_D2D },
		      { "HtoH", COPY_H2H }, { "PtoP", COPY_P2P }, { "HtoA", COPY_H2D },
		      { "AtoH", COPY_D2H } };
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (strstr(name, words[i].word))
			return words[i].copy;
	return COPY_UNKNOWN;
}
