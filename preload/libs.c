/*
 * The wrappers of the functions in libs.def. A wrapper makes the real call between two clock
 * readings and writes one record. While nothing is recorded, a wrapper tests the switch, tests the
 * caller and jumps to the real function, as in hooks.c.
 *
 * If a library calls a function of its own (cublasGemmEx calls cublasLtMatmul, ncclBcast calls
 * ncclBroadcast), the inner call belongs to the application's call and gets no record. If one
 * library calls another (cuDNN calls cuBLASLt), the inner call gets its own record, nested in that
 * of the outer call.
 */
#include "preload/libs.h"

#include "preload/comms.h"
#include "preload/libs_facts.h"
#include "preload/products.h"
#include "preload/ranges.h"

#include <string.h>

#define NOTHING ((void)0)

/*
 * The errors that wrappers return if the library is missing: the library's own code for "not
 * initialized", or "system error" for NCCL.
 */
enum { MISSING_NCCL = 2, MISSING_BLAS = 1, MISSING_BLASLT = 1, MISSING_DNN = 1001 };

/* Bits of hook_thread.libraries. Families whose functions call each other share a bit. */
enum { INSIDE_NCCL = 1, INSIDE_BLAS = 2, INSIDE_BLASLT = INSIDE_BLAS, INSIDE_DNN = 4 };

/*
 * 1: the family's rows run code at every call, recorded or not. Only NCCL's rows do, to track
 * communicators and to number their collectives.
 */
enum { ALWAYS_NCCL = 1, ALWAYS_BLAS = 0, ALWAYS_BLASLT = 0, ALWAYS_DNN = 0 };

/*
 * watched_ is inlined into an NCCL wrapper, because every call needs it. A separate function would
 * have to be reached by a jump, which keeps the caller's return address. The jump is impossible on
 * aarch64, where an ncclUniqueId is passed as a pointer to a copy.
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

/*
 * Bits of hook_switch.libraries: 1 << LIB_*: the library's calls are journaled; CAPTURED << LIB_*:
 * its products get a number while a stream captures. The latter stay set after the first capture,
 * so that later captures need no plt_follow(), which takes some 100 us.
 */
enum { CAPTURED = 16, ALL_RECORDED = CAPTURED - 1 };
_Static_assert(LIBRARIES <= 4, "bits of hook_switch.libraries");

void libs_record(bool recorded)
{
	if (recorded)
		atomic_fetch_or_explicit(&hook_switch.libraries, wanted, memory_order_relaxed);
	else
		atomic_fetch_and_explicit(&hook_switch.libraries, (uint8_t)~ALL_RECORDED,
					  memory_order_relaxed);
}

bool libs_watch_captures(void)
{
	uint8_t before = libs_watched(), products = wanted & (1u << LIB_BLAS | 1u << LIB_BLASLT);
	atomic_fetch_or(&hook_switch.libraries, (uint8_t)(products * CAPTURED));
	return libs_watched() != before;
}

uint8_t libs_watched(void)
{
	static const uint8_t always = ALWAYS_NCCL << LIB_NCCL | ALWAYS_BLAS << LIB_BLAS |
				      ALWAYS_BLASLT << LIB_BLASLT | ALWAYS_DNN << LIB_DNN;
	uint8_t now = atomic_load(&hook_switch.libraries);
	return always | (now & ALL_RECORDED) | now / CAPTURED;
}

/* Returns the library's bits of hook_switch.libraries: 1, CAPTURED. */
static inline unsigned switch_of(enum record_library family)
{
	return atomic_load_explicit(&hook_switch.libraries, memory_order_relaxed) >> family &
	       (1 | CAPTURED);
}

static inline bool is_recorded(enum record_library family)
{
	return switch_of(family) & 1 && !hook_thread.depth;
}

static inline bool is_captured(enum record_library family)
{
	return switch_of(family) & CAPTURED && hook_captures() && !hook_thread.depth;
}

HOT void libs_write(const struct rec_library *from)
{
	struct journal_writer *w = &hook_thread.writer;
	uint32_t depth = hook_thread.depth;
	ranges_before_record();
	hook_thread.depth = 1; /* a signal handler's CUDA calls must not write records meanwhile */
	if (UNLIKELY(!hook_thread.has_end) && !depth)
		hook_thread_begin();
	struct rec_library *to = journal_reserve(w, REC_LIBRARY, sizeof(*to));
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
		if (ALWAYS_##family || UNLIKELY(!next) || UNLIKELY(switch_of(LIB_##family)) ||     \
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
		bool captured = FACTS_##facts_ == FACTS_GEMM && is_captured(LIB_##family);         \
		uint8_t outside = hook_thread.libraries;                                           \
		if (LIKELY(!recorded && !captured && !ALWAYS_##family) ||                          \
		    outside & INSIDE_##family)                                                     \
			return next args;                                                          \
		struct rec_library record = { .kind = REC_LIBRARY,                                 \
					      .words = sizeof(record) / 8,                         \
					      .function = LIBRARY_ID_##symbol },                   \
				   *l = &record;                                                   \
		hook_thread.libraries = outside | INSIDE_##family;                                 \
		if (UNLIKELY(captured)) {                                                          \
			facts;                                                                     \
			hook_thread.product = products_number(l);                                  \
		}                                                                                  \
		before;                                                                            \
		if (recorded)                                                                      \
			l->begin_ticks = hook_ticks();                                             \
		int status = next args;                                                            \
		if (recorded) {                                                                    \
			l->end_ticks = hook_ticks();                                               \
			l->status = (uint16_t)status;                                              \
			facts;                                                                     \
			libs_write(l);                                                             \
		}                                                                                  \
		after;                                                                             \
		if (UNLIKELY(captured))                                                            \
			hook_thread.product = 0;                                                   \
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
