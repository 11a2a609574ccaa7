/* CUPTI's buffers and records: handed out, taken back, turned into the journal's own. */
#ifndef PRELOAD_GPU_RECORDS_H
#define PRELOAD_GPU_RECORDS_H

#include "preload/hook.h"

#include <cupti.h>

/* `version`: cuptiGetVersion. `own_clock`: times are hook_ticks already, else CLOCK_REALTIME nanoseconds.
 * `by_work`: CUPTI records no calls; that one has come back is told by its work. */
void gpu_records_setup(CUptiResult (*next)(uint8_t *, size_t, CUpti_Activity **),
		       CUptiResult (*lost)(CUcontext, uint32_t, size_t *), uint32_t version,
		       bool own_clock, bool by_work);

void CUPTIAPI gpu_buffer_requested(uint8_t **buffer, size_t *bytes, size_t *max_records);
void CUPTIAPI gpu_buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer,
				   size_t bytes, size_t valid_bytes);

/* How many announced calls (gpu_push) have come back. */
int64_t gpu_records_pushed(void);

/* Whether calls that have come back still wait for their GPU records. */
bool gpu_records_outstanding(void);

/* Whether any record was of a copy from a device's memory to its own. */
bool gpu_records_saw_copy_on_device(void);

/* Of journal_threads(), those that have begun with CUPTI's records: its worker calls no CUDA. */
uint32_t gpu_records_threads(void);

/* Which records are wanted: those without times are of what is still under way. */
enum gpu_wanted { GPU_WANTS_ALL, GPU_WANTS_TIMED, GPU_WANTS_NONE };
void gpu_records_want(enum gpu_wanted wanted);

/* CUPTI was taken down: it has forgotten our buffers, and counts its calls from 1 again. */
void gpu_records_are_down(void);

/* REC_GPU_STATE into the calling thread's stream. `ticks`: since when it is so. */
void gpu_write_state(enum gpu_state state, uint64_t ticks, uint64_t detail);

/* In a forked child: the buffers are the parent's. Cheap; gpu_records_setup clears the rest. */
void gpu_records_forget(void);

#endif
