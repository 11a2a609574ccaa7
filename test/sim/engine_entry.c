/*
 * cuGetProcAddress: returns the newest version of a function that the caller's CUDA version knows,
 * or that version's per-thread variant if requested. Any thread.
 */
#include "test/sim/engine_graph.h"

/* Declares the exported functions by their symbols; their types do not matter here. */
#define ENTRY(base, version, per_thread, symbol) void entry_##symbol(void) __asm__(#symbol);
#include "driver_entries.def"
#undef ENTRY

struct entry {
	const char *base;
	int version;
	bool per_thread;
	void (*function)(void);
};

static const struct entry entries[] = {
#define ENTRY(base, version, per_thread, symbol) { base, version, per_thread, entry_##symbol },
#include "driver_entries.def"
#undef ENTRY
};
#define ENTRY_COUNT (sizeof(entries) / sizeof(*entries))

static int entry_compare(const void *name, const void *entry)
{
	return strcmp(name, ((const struct entry *)entry)->base);
}

/* Looks for a function that is newer than the headers. */
static CUresult newer_function(const char *symbol, void **function, int version,
			       CUdriverProcAddressQueryResult *status)
{
	int first_version;
	void *found = graph_ids_function(symbol, &first_version);
	*status = !found		    ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
		  : version < first_version ? CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT
					    : CU_GET_PROC_ADDRESS_SUCCESS;
	if (*status != CU_GET_PROC_ADDRESS_SUCCESS)
		return CUDA_ERROR_NOT_FOUND;
	*function = found;
	return CUDA_SUCCESS;
}

CUresult sim_cuGetProcAddress_v2(const char *symbol, void **function, int version, cuuint64_t flags,
				 CUdriverProcAddressQueryResult *status)
{
	CUdriverProcAddressQueryResult unused;
	if (!symbol || !*symbol || !function || flags > 2 || version < 0)
		return CUDA_ERROR_INVALID_VALUE;
	if (!status)
		status = &unused;
	*function = NULL;
	bool per_thread = flags == CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	const struct entry *e = bsearch(symbol, entries, ENTRY_COUNT, sizeof(*e), entry_compare);
	if (!e)
		return newer_function(symbol, function, version, status);
	while (e > entries && !strcmp(e[-1].base, symbol))
		e--;
	const struct entry *best = NULL, *twin = NULL;
	for (; e < entries + ENTRY_COUNT && !strcmp(e->base, symbol); e++) {
		if (e->version > version)
			continue;
		const struct entry **slot = e->per_thread ? &twin : &best;
		if (!*slot || e->version > (*slot)->version)
			*slot = e;
	}
	if (per_thread && twin)
		best = twin;
	if (!best) {
		*status = CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
		return CUDA_ERROR_NOT_FOUND;
	}
	*status = CU_GET_PROC_ADDRESS_SUCCESS;
	*function = (void *)best->function;
	return CUDA_SUCCESS;
}

CUresult sim_cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags)
{
	return sim_cuGetProcAddress_v2(symbol, function, version, flags, NULL);
}
