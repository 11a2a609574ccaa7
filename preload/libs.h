/*
 * Calls of NVIDIA's libraries (NCCL, cuBLAS, cuBLASLt, cuDNN) as spans around the launches that they make. A wrapper leaves the depth of
 * hooked calls alone: what is launched inside is seen as ever.
 */
#ifndef PRELOAD_LIBS_H
#define PRELOAD_LIBS_H

#include "preload/hook.h"

#include <stddef.h>

/* As nccl.h has it, passed by value. */
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

/* PROF_NCCL, PROF_BLAS. Before the first step is recorded. */
void libs_configure(bool nccl, bool blas);

/* The rows into the journal's dictionary. */
void libs_describe(void);

/* Steps are recorded from now on, or not any more. */
void libs_record(bool recorded);

/* Families whose calls the wrappers look at now: bits of enum record_library. */
uint8_t libs_watched(void);

/* The row of a symbol, -1: none. */
int libs_row(const char *symbol);

/* dlsym found `found` for row `id`: the wrapper, if that is what it calls, else `found` itself. */
void *libs_given(enum library_id id, void *found);

/* libs_real.c: the real function for a caller that returns to `return_address`. NULL, said once, where there is none. */
void *libs_find(enum library_id id, void *return_address);

/* A function of a library that is not in the table, for the caller's use of it; NULL: none. Cold. */
void *libs_helper(const char *symbol, enum record_library family, void *return_address);

/* Objects whose calls are known to mean the one library that was found first. */
enum { LIBRARY_CALLERS = 4 };
struct library_caller {
	_Atomic uintptr_t begin;
	_Atomic size_t bytes;
};
extern struct library_caller library_callers[LIBRARIES][LIBRARY_CALLERS];
extern _Atomic(void *) library_real[LIBRARY_COUNT];

/* Two libraries of a kind may be in one process (a wheel of CUDA 12 beside one of 13), and a handle of one means nothing to the other:
 * a call goes where its caller's own reference would have gone. */
static inline bool libs_is_caller(const struct library_caller *c, void *return_address)
{
	uintptr_t begin = atomic_load_explicit(&c->begin, memory_order_relaxed);
	size_t bytes = atomic_load_explicit(&c->bytes, memory_order_acquire);
	return LIKELY((uintptr_t)return_address - begin < bytes);
}

/* `code`: where a segment of an object begins. Whether all its calls mean the library of the family that was found first. */
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
