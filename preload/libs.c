/*
 * The wrappers of libs.def's rows: the real call between two clock readings, and one record. While
 * nothing is recorded: a test of the switch, a test of the caller, and a jump to the real function,
 * as in hooks.c.
 *
 * A function that a library calls itself (cublasGemmEx calls cublasLtMatmul, ncclBcast calls
 * ncclBroadcast) belongs to the application's call and gets no record. A library called by another
 * one (cuBLASLt by cuDNN) gets its own record, nested in the other's.
 */
#include "preload/libs.h"

#include "preload/comms.h"
#include "preload/libs_facts.h"
#include "preload/ranges.h"

#include <string.h>

#define NOTHING ((void)0)

/* The error returned if the library is missing: its own "not initialized" or "system error". */
enum { MISSING_NCCL = 2, MISSING_BLAS = 1, MISSING_BLASLT = 1, MISSING_DNN = 1001 };

/* Bits of hook_thread.libraries. Families whose functions call each other share a bit. */
enum { INSIDE_NCCL = 1, INSIDE_BLAS = 2, INSIDE_BLASLT = INSIDE_BLAS, INSIDE_DNN = 4 };

/* Only NCCL's rows run code at every call: for communicators and the order of their collectives. */
enum { ALWAYS_NCCL = 1, ALWAYS_BLAS = 0, ALWAYS_BLASLT = 0, ALWAYS_DNN = 0 };

/*
 * Therefore an NCCL wrapper is one function, with watched_ inlined. Otherwise it would have to jump
 * there to keep the caller's return address. That is impossible if an ncclUniqueId is passed by
 * reference to a copy (aarch64).
 */
#define WATCHED_NCCL   inline __attribute__((always_inline))
#define WATCHED_BLAS   __attribute__((noinline))
#define WATCHED_BLASLT __attribute__((noinline))
#define WATCHED_DNN    __attribute__((noinline))

static uint8_t wanted;

void libs_configure(bool nccl, bool blas)
{
	const unsigned all_blas = 1u << LIB_BLAS | 1u << LIB_BLASLT | 1u << LIB_DNN;
	wanted = (uint8_t)((nccl ? 1u << LIB_NCCL : 0) | (blas ? all_blas : 0));
}

void libs_record(bool recorded)
{
	atomic_store_explicit(&hook_switch.libraries, recorded ? wanted : 0, memory_order_relaxed);
}

uint8_t libs_watched(void)
{
	static const uint8_t always = ALWAYS_NCCL << LIB_NCCL | ALWAYS_BLAS << LIB_BLAS |
				      ALWAYS_BLASLT << LIB_BLASLT | ALWAYS_DNN << LIB_DNN;
	return always | atomic_load(&hook_switch.libraries);
}

static inline bool may_record(enum record_library family)
{
	return atomic_load_explicit(&hook_switch.libraries, memory_order_relaxed) >> family & 1;
}

static inline bool is_recorded(enum record_library family)
{
	return may_record(family) && !hook_thread.depth;
}

HOT static void write_library(struct rec_library *from)
{
	struct journal_writer *w = &hook_thread.writer;
	uint32_t depth = hook_thread.depth;
	ranges_before_record();
	hook_thread.depth = 1; /* CUDA calls of a signal handler are not recorded meanwhile */
	struct rec_library *to = journal_reserve(w, sizeof(*to));
	if (UNLIKELY(!hook_thread.has_end))
		hook_thread_keep();
	if (LIKELY(to != NULL)) {
		*to = *from;
		journal_commit(w, sizeof(*to));
	}
	hook_thread.depth = depth;
}

#define LIBRARY(symbol, family, facts_, params, args, before, after, facts)                        \
	static WATCHED_##family int watched_##symbol params;                                       \
	EXPORT int library_##symbol params __asm__(#symbol);                                       \
	HOT_ENTRY_POINT(#family) int library_##symbol params                                       \
	{                                                                                          \
		int(*next) params = (__typeof__(next))atomic_load_explicit(                        \
			&library_real[LIBRARY_ID_##symbol], memory_order_relaxed);                 \
		if (ALWAYS_##family || UNLIKELY(!next) || UNLIKELY(may_record(LIB_##family)) ||    \
		    UNLIKELY(!libs_is_caller(library_callers[LIB_##family],                        \
					     __builtin_return_address(0))))                        \
			return watched_##symbol args;                                              \
		return next args;                                                                  \
	}                                                                                          \
	static WATCHED_##family int watched_##symbol params                                        \
	{                                                                                          \
		int(*next) params = (__typeof__(next))libs_real(LIBRARY_ID_##symbol, LIB_##family, \
								__builtin_return_address(0));      \
		if (UNLIKELY(!next))                                                               \
			return MISSING_##family;                                                   \
		bool recorded = is_recorded(LIB_##family);                                         \
		uint8_t outside = hook_thread.libraries;                                           \
		if (LIKELY(!recorded && !ALWAYS_##family) || outside & INSIDE_##family)            \
			return next args;                                                          \
		struct rec_library record = { .kind = REC_LIBRARY,                                 \
					      .words = sizeof(record) / 8,                         \
					      .function = LIBRARY_ID_##symbol },                   \
				   *l = &record;                                                   \
		hook_thread.libraries = outside | INSIDE_##family;                                 \
		before;                                                                            \
		if (recorded)                                                                      \
			l->begin_ticks = hook_ticks();                                             \
		int status = next args;                                                            \
		if (recorded) {                                                                    \
			l->end_ticks = hook_ticks();                                               \
			l->status = (uint16_t)status;                                              \
			facts;                                                                     \
			write_library(l);                                                          \
		}                                                                                  \
		after;                                                                             \
		hook_thread.libraries = outside;                                                   \
		return status;                                                                     \
	}
#include "preload/libs.def"
#undef LIBRARY

const struct library_row library_rows[LIBRARY_COUNT] = {
#define LIBRARY(symbol, family, facts, ...) \
	[LIBRARY_ID_##symbol] = { #symbol, LIB_##family, FACTS_##facts, (void *)library_##symbol },
#include "preload/libs.def"
#undef LIBRARY
};

void libs_describe(void)
{
	for (unsigned i = 0; i < LIBRARY_COUNT; i++) {
		struct dict_library record = { .head.kind = DICT_LIBRARY,
					       .id = (uint16_t)i,
					       .family = library_rows[i].family,
					       .facts = library_rows[i].facts };
		journal_put(&record.head, offsetof(struct dict_library, name),
			    library_rows[i].symbol);
	}
}

int libs_row(const char *symbol)
{
	for (int i = 0; i < LIBRARY_COUNT; i++)
		if (!strcmp(library_rows[i].symbol, symbol))
			return i;
	return -1;
}
