/* Selects the API functions that CUPTI records: those that launch GPU work. */
#ifndef PRELOAD_GPU_CALLS_H
#define PRELOAD_GPU_CALLS_H

#include "preload/hook.h" /* before cuda.h, whose macros rename what the table names */

#include <cupti.h>

/* Each may be NULL; the last two exist since 12.5. */
struct gpu_calls_cupti {
	CUptiResult (*name)(CUpti_CallbackDomain, uint32_t, const char **);
	CUptiResult (*enable_kind)(CUpti_ActivityKind);
	CUptiResult (*disable_kind)(CUpti_ActivityKind);
	CUptiResult (*switch_runtime)(CUpti_CallbackId, uint8_t);
	CUptiResult (*switch_driver)(CUpti_CallbackId, uint8_t);
};

/* Any thread, but only one at a time, like all functions that enable or disable CUPTI records. */
void gpu_calls_switch(const struct gpu_calls_cupti *cupti, bool on);

/*
 * Returns whether a record of kind RUNTIME or DRIVER is of a call that launches GPU work. A CUPTI
 * that cannot select functions sends records of all calls. Any thread, after the first
 * gpu_calls_switch().
 */
bool gpu_calls_wanted(const CUpti_ActivityAPI *record);

/* Called in a forked child, which may find another CUPTI library. */
void gpu_calls_forget(void);

#endif
