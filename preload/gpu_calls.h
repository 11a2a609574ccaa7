/* Makes CUPTI record only those API calls that launch GPU work. */
#ifndef PRELOAD_GPU_CALLS_H
#define PRELOAD_GPU_CALLS_H

#include "preload/hook.h" /* before cuda.h, whose macros rename functions that hooks.def names */

#include <cupti.h>

/*
 * CUPTI's functions that this module calls. `name` and the last two may be NULL; the last two exist
 * since CUPTI 12.5.
 */
struct gpu_calls_cupti {
	CUptiResult (*name)(CUpti_CallbackDomain, uint32_t, const char **);
	CUptiResult (*enable_kind)(CUpti_ActivityKind);
	CUptiResult (*disable_kind)(CUpti_ActivityKind);
	CUptiResult (*switch_runtime)(CUpti_CallbackId, uint8_t);
	CUptiResult (*switch_driver)(CUpti_CallbackId, uint8_t);
};

/*
 * Switches the records of API calls on or off. Any thread may call it, but only one at a time, as
 * with all functions that enable or disable CUPTI records.
 */
void gpu_calls_switch(const struct gpu_calls_cupti *cupti, bool on);

/*
 * Returns whether `record`, of kind RUNTIME or DRIVER, is of a call that launches GPU work. If
 * CUPTI cannot select functions, it delivers records of all calls. Any thread, after the first
 * gpu_calls_switch().
 */
bool gpu_calls_wanted(const CUpti_ActivityAPI *record);

/* Resets everything. Called in a forked child, which may load another CUPTI library. */
void gpu_calls_forget(void);

#endif
