/* Which API functions' records CUPTI is asked for: those of calls that make GPU work, by CUPTI's own numbers. */
#ifndef PRELOAD_GPU_CALLS_H
#define PRELOAD_GPU_CALLS_H

#include "preload/hook.h" /* before cuda.h, whose macros rename what the table names */

#include <cupti.h>

/* Any may be NULL: the last two came with 12.5. */
struct gpu_calls_cupti {
	CUptiResult (*name)(CUpti_CallbackDomain, uint32_t, const char **);
	CUptiResult (*enable_kind)(CUpti_ActivityKind);
	CUptiResult (*disable_kind)(CUpti_ActivityKind);
	CUptiResult (*switch_runtime)(CUpti_CallbackId, uint8_t);
	CUptiResult (*switch_driver)(CUpti_CallbackId, uint8_t);
};

/* Any thread but not two at once, like all that switches CUPTI. */
void gpu_calls_switch(const struct gpu_calls_cupti *cupti, bool on);

/* Whether a record of kind RUNTIME or DRIVER is of such a call: a CUPTI that cannot choose sends all. Any thread, behind the first switch. */
bool gpu_calls_wanted(const CUpti_ActivityAPI *record);

/* In a forked child: another library may be found there. */
void gpu_calls_forget(void);

#endif
