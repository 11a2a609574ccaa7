/*
 * Records calls of NVIDIA's libraries (NCCL, cuBLAS, cuBLASLt, cuDNN) as spans around the launches
 * they make. A wrapper does not change hook_thread.depth, so launches inside are recorded as usual.
 */
#ifndef PRELOAD_LIBS_H
#define PRELOAD_LIBS_H

#include "preload/hook.h"

#include <stddef.h>

/* ncclUniqueId of nccl.h. Functions take it by value. */
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

/*
 * Sets whether NCCL (PROF_NCCL) and cuBLAS, cuBLASLt and cuDNN (PROF_BLAS) are recorded. Called
 * before the first step is recorded.
 */
void libs_configure(bool nccl, bool blas);

/* Writes a DICT_LIBRARY record for each row. */
void libs_describe(void);

/* Switches recording on or off. Called when the recording of steps begins or ends. */
void libs_record(bool recorded);

/* Lets the captured calls of matrix products get a number (products.h). Called when the first
 * capture begins. Returns whether libs_watched() has changed. */
bool libs_watch_captures(void);

/* Writes a record into the thread's journal. */
void libs_write(const struct rec_library *from);

/*
 * Returns the families whose wrappers have something to do at present, as bits 1 << enum
 * record_library.
 */
uint8_t libs_watched(void);

/* Returns the row of `symbol`, or -1 if libs.def does not have it. */
int libs_row(const char *symbol);

/*
 * Returns what dlsym returns to the application. `found` is the function that the real dlsym has
 * found. Returns the wrapper of row `id` if the wrapper calls `found`; otherwise returns `found`.
 */
void *libs_given(enum library_id id, void *found);

/*
 * Returns the real function for the caller that contains `return_address`. Returns NULL and logs
 * once if there is none. Defined in libs_real.c.
 */
void *libs_find(enum library_id id, void *return_address);

/*
 * Does what libs_find() does for a library function that is not in the table, but does not log. Not
 * on the hot path.
 */
void *libs_helper(const char *symbol, enum record_library family, void *return_address);

/*
 * Code segments of callers. Calls from a segment in this table go to the library of the family that
 * was found first.
 */
enum { LIBRARY_CALLERS = 4 };
struct library_caller {
	_Atomic uintptr_t begin;
	_Atomic size_t bytes;
};
extern struct library_caller library_callers[LIBRARIES][LIBRARY_CALLERS];
extern _Atomic(void *) library_real[LIBRARY_COUNT];

/*
 * Returns whether `return_address` lies in the segment `c`. The caller of a wrapper matters,
 * because a process may have two libraries of a family (from wheels of CUDA 12 and 13), and a
 * handle of one library is not valid for the other. A call therefore goes to the library to which
 * its caller is linked.
 */
static inline bool libs_is_caller(const struct library_caller *c, void *return_address)
{
	uintptr_t begin = atomic_load_explicit(&c->begin, memory_order_relaxed);
	size_t bytes = atomic_load_explicit(&c->bytes, memory_order_acquire);
	return LIKELY((uintptr_t)return_address - begin < bytes);
}

/*
 * Returns whether the segment that begins at `code` is in library_callers: all its calls go to the
 * library of the family that was found first.
 */
bool libs_is_known_caller(enum record_library family, const void *code);

/* Returns the real function for the caller that contains `return_address`; NULL: there is none. */
static inline void *libs_real(enum library_id id, enum record_library family, void *return_address)
{
	void *real = atomic_load_explicit(&library_real[id], memory_order_relaxed);
	for (int i = 0; LIKELY(real != NULL) && i < LIBRARY_CALLERS; i++)
		if (libs_is_caller(&library_callers[family][i], return_address))
			return real;
	return libs_find(id, return_address);
}

#endif
