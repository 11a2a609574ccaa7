/*
 * Records calls of NVIDIA's libraries (NCCL, cuBLAS, cuBLASLt, cuDNN) as spans around the launches
 * they make. A wrapper does not change hook_thread.depth, so launches inside are recorded as usual.
 */
#ifndef PRELOAD_LIBS_H
#define PRELOAD_LIBS_H

#include "preload/hook.h"

#include <stddef.h>

/* ncclUniqueId of nccl.h, which is passed by value. */
struct nccl_id {
	char bytes[128];
};

enum library_id {
#define LIBRARY(symbol, ...) LIBRARY_ID_##symbol,
#include "preload/libs.def"
#undef LIBRARY
	LIBRARY_COUNT
};

struct library_row {
	const char *symbol;
	uint8_t family, facts; /* enum record_library, enum library_facts */
	void *wrapper;
};

extern const struct library_row library_rows[LIBRARY_COUNT];

/* PROF_NCCL, PROF_BLAS. Called before the first step is recorded. */
void libs_configure(bool nccl, bool blas);

/* Writes the rows to the journal's dictionary. */
void libs_describe(void);

/* Steps are recorded from now on, or not any more. */
void libs_record(bool recorded);

/* Returns the families whose wrappers have work to do now: bits 1 << enum record_library. */
uint8_t libs_watched(void);

/* Returns the row of a symbol, or -1. */
int libs_row(const char *symbol);

/*
 * Returns what dlsym gives to the application: the wrapper of row `id` if that calls `found`, the
 * function that the real dlsym found; else `found`.
 */
void *libs_given(enum library_id id, void *found);

/*
 * Returns the real function for a caller that returns to `return_address`. Returns NULL and logs
 * once if there is none. Defined in libs_real.c.
 */
void *libs_find(enum library_id id, void *return_address);

/* As libs_find(), for a library function that is not in the table; does not log. Cold. */
void *libs_helper(const char *symbol, enum record_library family, void *return_address);

/* Code segments whose calls are known to go to the library of the family that was found first. */
enum { LIBRARY_CALLERS = 4 };
struct library_caller {
	_Atomic uintptr_t begin;
	_Atomic size_t bytes;
};
extern struct library_caller library_callers[LIBRARIES][LIBRARY_CALLERS];
extern _Atomic(void *) library_real[LIBRARY_COUNT];

/*
 * A process may have two libraries of a family (from wheels of CUDA 12 and 13), and a handle of one
 * is not valid for the other. So a call goes to the library to which its caller is linked.
 */
static inline bool libs_is_caller(const struct library_caller *c, void *return_address)
{
	uintptr_t begin = atomic_load_explicit(&c->begin, memory_order_relaxed);
	size_t bytes = atomic_load_explicit(&c->bytes, memory_order_acquire);
	return LIKELY((uintptr_t)return_address - begin < bytes);
}

/*
 * Returns whether all calls from the segment that begins at `code` go to the library of the family
 * that was found first.
 */
bool libs_is_known_caller(enum record_library family, const void *code);

static inline void *libs_real(enum library_id id, enum record_library family, void *return_address)
{
	void *real = atomic_load_explicit(&library_real[id], memory_order_relaxed);
	for (int i = 0; LIKELY(real != NULL) && i < LIBRARY_CALLERS; i++)
		if (libs_is_caller(&library_callers[family][i], return_address))
			return real;
	return libs_find(id, return_address);
}

#endif
