/*
 * Internals of the simulated CUPTI (libcupti.so.12 and .13). Implements the activity and callback
 * APIs on the engine's calls and operations. One mutex, cupti_lock, guards the state; no callback
 * of the consumer (buffers, subscriber) runs while it is held. As in the real CUPTI, a device
 * record gets its place in a buffer when the work is submitted, and is complete when the work's end
 * time has passed.
 */
#ifndef TEST_SIM_CUPTI_SIM_H
#define TEST_SIM_CUPTI_SIM_H

#include <cupti.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim_tools.h"

#ifndef SIM_CUPTI
#define SIM_CUPTI 13
#endif

extern pthread_mutex_t cupti_lock;
extern const struct sim_tools *cupti_tools;

/* the setting PROFSIM_CUPTI */
struct cupti_mode {
	bool busy, missing;
	long drop_every;     /* drop every Nth record; 0: drop none */
	long buffer_records; /* most records in a buffer; 0: as many as fit */
	/* faults of single versions of CUPTI, see README.md */
	bool no_device_sync, disable_hangs, flush_crashes, graph_ids;
	long zero_every;  /* with a timestamp callback, every Nth device record has no times */
	uint32_t version; /* what cuptiGetVersion returns; 0: its usual version */
};
const struct cupti_mode *cupti_mode(void);
bool cupti_absent(void);
int ct_missing(const char *name);
/* Finds the engine in the driver and registers this CUPTI as one of its sinks. */
CUptiResult cupti_attach(void);
/* Returns how often cuptiFinalize was called. Correlation ids start again after each call. */
uint32_t cupti_finalized(void);

/*
 * Brackets a call that flushes buffers or changes what is recorded. With the fault flush-crashes, a
 * flush ends the process if another such call is under way.
 */
void cupti_control_begin(bool flushes);
void cupti_control_end(bool flushes);

/* ---- switches (cupti_switch.c) ---- */
bool cupti_kind_on(CUpti_ActivityKind kind);
bool cupti_api_on(enum sim_domain domain, uint32_t cbid);
void cupti_switches_reset(void);

/*
 * Returns the correlation id in the records of a graph launch and of its operations. With the fault
 * graph_ids, and once kernels were switched off, that is the id of the last launch before.
 */
uint32_t cupti_graph_id(uint32_t correlation);

/* ---- clock (cupti_clock.c) ---- */
uint64_t cupti_clock_now(void);
void cupti_clock_note(void); /* now and then stores a pair (CLOCK_MONOTONIC, the records' clock) */
void cupti_clock_fix(void);  /* stores a pair now; called before records are converted */
uint64_t cupti_clock_convert(int64_t monotonic_ns);
void cupti_clock_register(CUpti_TimestampCallbackFunc callback);
void cupti_clock_reset(void);
bool cupti_clock_is_registered(void);

/* ---- buffers (cupti_buffer.c) ---- */

struct write {
	const void *record;
	size_t bytes;
};
/*
 * Writes the records, adjacent to each other, into this thread's buffer. Records that do not fit
 * are dropped and counted. If `op_id` is not 0, the last record is incomplete until
 * cupti_buffer_resolve(op_id). Otherwise it is complete at end_ns.
 */
void cupti_buffer_write(const struct write *records, int count, int64_t end_ns, uint64_t op_id);
void cupti_buffer_resolve(uint64_t op_id, int64_t start_ns, int64_t end_ns);
CUptiResult cupti_buffer_register(CUpti_BuffersCallbackRequestFunc request,
				  CUpti_BuffersCallbackCompleteFunc complete);
void cupti_buffer_flush(bool forced);
/* Forgets the buffers to which nothing was written, without giving their memory back to the
 * consumer. */
void cupti_buffer_forget(void);
void cupti_buffer_period(uint32_t ms);
bool cupti_buffer_registered(void);
size_t cupti_dropped_take(void);
void cupti_per_thread_set(bool on);

/* ---- records (cupti_record.c) ---- */
size_t cupti_record_bytes(CUpti_ActivityKind kind);
uint32_t cupti_process_id(void);
/*
 * Returns the address of a device record's start and end times. Returns NULL if the record's times
 * are already on the records' clock.
 */
uint64_t *cupti_record_times(CUpti_Activity *record);
void cupti_record_op(const struct sim_op *op);

/* ---- copies within a device; they can break kernel records (cupti_copies.c) ---- */
void cupti_copy_note(const struct sim_op *op); /* `op` has a record */
void cupti_copy_resolve(uint64_t op_id, int64_t end_ns);
void cupti_copies_switching_off(CUpti_ActivityKind kind); /* called before `kind` is switched off */
bool cupti_kernels_lost(void);
void cupti_copies_reset(void);

/* ---- calls (cupti_api.c) ---- */
void cupti_api_enter(struct sim_sink *sink, struct sim_frame *frame);
void cupti_api_exit(struct sim_sink *sink, struct sim_frame *frame, int status);

/* ---- subscriber (cupti_callback.c) ---- */
void cupti_callback_enter(struct sim_frame *frame);
void cupti_callback_exit(struct sim_frame *frame, int status);
void cupti_callback_reset(void);

#endif
