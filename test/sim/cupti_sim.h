/*
 * Internals of the simulated CUPTI (libcupti.so.12 and .13): the activity API on the engine's calls
 * and operations. One mutex, cupti_lock; no callback of the consumer (buffers, subscriber) runs
 * under it. As in the real one, device records get their place in a buffer when the work is
 * submitted, and are complete once its end has passed.
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

/* PROFSIM_CUPTI */
struct cupti_mode {
	bool busy, missing;
	long drop_every;     /* 0: none */
	long buffer_records; /* 0: as many as fit */
};
const struct cupti_mode *cupti_mode(void);
bool cupti_absent(void);
int ct_missing(const char *name);
/* Finds the engine and becomes one of its sinks. */
CUptiResult cupti_attach(void);
uint32_t cupti_finalized(void); /* how often: correlation ids come again behind it */

/* ---- switches (cupti_switch.c) ---- */
bool cupti_kind_on(CUpti_ActivityKind kind);
bool cupti_api_on(enum sim_domain domain, uint32_t cbid);
void cupti_switches_reset(void);

/* ---- clock (cupti_clock.c) ---- */
uint64_t cupti_clock_now(void);
void cupti_clock_note(void); /* keeps a pair (CLOCK_MONOTONIC, the records' clock) now and then */
void cupti_clock_fix(void);  /* before converting: a pair of just now */
uint64_t cupti_clock_convert(int64_t monotonic_ns);
void cupti_clock_register(CUpti_TimestampCallbackFunc callback);

/* ---- buffers (cupti_buffer.c) ---- */

struct write {
	const void *record;
	size_t bytes;
};
/*
 * Writes the records, adjacent to each other, into this thread's buffer, or drops and counts them.
 * A nonzero `op_id` marks the last one as incomplete until cupti_buffer_resolve(); else it is
 * complete at end_ns.
 */
void cupti_buffer_write(const struct write *records, int count, int64_t end_ns, uint64_t op_id);
void cupti_buffer_resolve(uint64_t op_id, int64_t start_ns, int64_t end_ns);
CUptiResult cupti_buffer_register(CUpti_BuffersCallbackRequestFunc request,
				  CUpti_BuffersCallbackCompleteFunc complete);
void cupti_buffer_flush(bool forced);
/* What nothing was written to is not given back: the consumer's memory is forgotten. */
void cupti_buffer_forget(void);
void cupti_buffer_period(uint32_t ms);
bool cupti_buffer_registered(void);
size_t cupti_dropped_take(void);
void cupti_per_thread_set(bool on);

/* ---- records (cupti_record.c) ---- */
size_t cupti_record_bytes(CUpti_ActivityKind kind);
uint32_t cupti_process_id(void);
/*
 * Returns where a device record keeps its times; NULL if its times are on the records' clock
 * already.
 */
uint64_t *cupti_record_times(CUpti_Activity *record);
void cupti_record_op(const struct sim_op *op);

/* ---- copies within a device, which break kernel records (cupti_copies.c) ---- */
void cupti_copy_note(const struct sim_op *op); /* it was recorded */
void cupti_copy_resolve(uint64_t op_id, int64_t end_ns);
void cupti_copies_switching_off(CUpti_ActivityKind kind); /* that may be on still */
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
