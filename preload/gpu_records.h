/* Provides the buffers that CUPTI fills, and converts CUPTI's records to journal records. */
#ifndef PRELOAD_GPU_RECORDS_H
#define PRELOAD_GPU_RECORDS_H

#include "preload/hook.h"

#include <cupti.h>

/*
 * Called each time CUPTI is started. `next` and `lost` are CUPTI's functions that return the next
 * record and the number of dropped records; `lost` may be NULL. `version`: from cuptiGetVersion.
 * `own_clock`: CUPTI's times are hook_ticks() already; otherwise they are CLOCK_REALTIME
 * nanoseconds. `by_work`: CUPTI records no calls, so a call counts as delivered when its GPU work
 * was delivered.
 */
void gpu_records_setup(CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **),
		       CUptiResult (*lost)(CUcontext, uint32_t, size_t *), uint32_t version,
		       bool own_clock, bool by_work);

/* The callbacks through which CUPTI gets an empty buffer and returns a full one. Any thread. */
void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				   size_t bytes, size_t valid_bytes);

/* Returns how many announced calls (gpu_push) CUPTI has delivered. */
int64_t gpu_records_pushed(void);

/* Returns whether CUPTI has delivered a call without the call's GPU work. */
bool gpu_records_outstanding(void);

/* Returns whether any record was a copy within one device's memory. */
bool gpu_records_saw_copy_on_device(void);

/*
 * Returns how many threads have written a GPU record as their first record in the journal.
 * journal_threads() includes these threads. Usually there is one, CUPTI's worker, which calls no
 * CUDA functions.
 */
uint32_t gpu_records_threads(void);

/*
 * Selects which records are kept. GPU_WANTS_TIMED excludes GPU work without an end time, which is
 * still under way.
 */
enum gpu_wanted { GPU_WANTS_ALL, GPU_WANTS_TIMED, GPU_WANTS_NONE };
void gpu_records_want(enum gpu_wanted wanted);

/* Says that a forced flush begins or ends. Only in between, work may have no times because it is
 * still under way. */
void gpu_records_force(bool forces);

/*
 * Returns whether CUPTI has delivered work without times outside a forced flush. CUPTI 12.6 update
 * 2 to 13.0 can do that while it uses another clock than its own.
 */
bool gpu_records_lost_times(void);

/*
 * Called after CUPTI was taken down. CUPTI then no longer uses our buffers, and its correlation ids
 * restart at 1.
 */
void gpu_records_are_down(void);

/*
 * Writes a REC_GPU_STATE record to the calling thread's stream. `ticks`: when the state began.
 * `detail`: see enum gpu_state.
 */
void gpu_write_state(enum gpu_state state, uint64_t ticks, uint64_t detail);

/*
 * Called in a forked child, where the buffers belong to the parent. Cheap: gpu_records_setup()
 * clears the large tables.
 */
void gpu_records_forget(void);

#endif
