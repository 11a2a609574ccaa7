/* Provides CUPTI's buffers and converts its records to journal records. */
#ifndef PRELOAD_GPU_RECORDS_H
#define PRELOAD_GPU_RECORDS_H

#include "preload/hook.h"

#include <cupti.h>

/*
 * `version`: from cuptiGetVersion. `own_clock`: times are hook_ticks() already; otherwise they are
 * CLOCK_REALTIME nanoseconds. `by_work`: CUPTI records no calls, so a call counts as delivered when
 * its GPU work is.
 */
void gpu_records_setup(CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **),
		       CUptiResult (*lost)(CUcontext, uint32_t, size_t *), uint32_t version,
		       bool own_clock, bool by_work);

void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				   size_t bytes, size_t valid_bytes);

/* Returns how many announced calls (gpu_push) CUPTI has delivered. */
int64_t gpu_records_pushed(void);

/* Returns whether GPU records of delivered calls are still missing. */
bool gpu_records_outstanding(void);

/* Returns whether any record was a copy within one device's memory. */
bool gpu_records_saw_copy_on_device(void);

/*
 * Returns how many of journal_threads() wrote a CUPTI record first. Usually that is CUPTI's worker
 * thread, which calls no CUDA functions.
 */
uint32_t gpu_records_threads(void);

/* Selects the records to keep. Records without times are of work that is still under way. */
enum gpu_wanted { GPU_WANTS_ALL, GPU_WANTS_TIMED, GPU_WANTS_NONE };
void gpu_records_want(enum gpu_wanted wanted);

/* CUPTI was taken down: it no longer has our buffers, and its correlation ids restart at 1. */
void gpu_records_are_down(void);

/* Writes REC_GPU_STATE to the calling thread's stream. `ticks`: when the state began. */
void gpu_write_state(enum gpu_state state, uint64_t ticks, uint64_t detail);

/*
 * Called in a forked child, where the buffers are the parent's. Cheap; gpu_records_setup() clears
 * the rest.
 */
void gpu_records_forget(void);

#endif
