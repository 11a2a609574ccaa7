/*
 * Enables records of all functions of the runtime and the driver, then disables the functions that
 * are not needed. According to CUPTI's header, functions can also be enabled one by one, but then
 * no records are made once a context exists (13.0 on an H100; without a context it works).
 *
 * A call of a disabled function still passes through CUPTI's own code. cudaGetDevice, which PyTorch
 * calls a thousand times a step, takes 180 ns instead of 45 ns, and 240 to 340 ns if it is
 * recorded.
 *
 * Records of both the runtime and the driver are needed. A launch through the runtime has only the
 * runtime's record, which has the kernel's correlation id. cuBLAS and Triton launch through the
 * driver.
 */
#include "preload/gpu_calls.h"

#include "preload/lookup.h"

#include <stdio.h>
#include <string.h>

enum { CALLBACKS_MOST = 2000, DOMAINS = 2 };

enum need { NEED_UNKNOWN, NEED_RECORD, NEED_NOTHING };

static struct {
	bool known;
	uint8_t need[DOMAINS][CALLBACKS_MOST]; /* enum need; NEED_UNKNOWN: no such function */
} g;

static const CUpti_CallbackDomain domains[DOMAINS] = { CUPTI_CB_DOMAIN_RUNTIME_API,
						       CUPTI_CB_DOMAIN_DRIVER_API };

/*
 * Returns whether CUPTI's name of a function is that of a call that launches GPU work. CUPTI's
 * names end in a version, which follows the suffix of a twin: cudaLaunchKernel_ptsz_v7000.
 */
static bool makes_work(const char *name)
{
	char symbol[128];
	const char *version = strstr(name, "_v");
	while (version && strstr(version + 1, "_v"))
		version = strstr(version + 1, "_v");
	size_t length = version ? (size_t)(version - name) : strlen(name);
	snprintf(symbol, sizeof(symbol), "%.*s", (int)length, name);
	int row = lookup_row(symbol);
	if (row < 0)
		row = lookup_row(name);
	return row >= 0 && (record_gpu_work >> hook_rows[row].category & 1);
}

/*
 * Determines which functions are needed. Runs once: looking up 4,000 names takes half a
 * millisecond.
 */
static void find(const struct gpu_calls_cupti *cupti)
{
	for (unsigned d = 0; d < DOMAINS; d++)
		for (uint32_t id = 1; id < CALLBACKS_MOST; id++) {
			const char *name = NULL;
			if (!cupti->name(domains[d], id, &name) && name)
				g.need[d][id] = makes_work(name) ? NEED_RECORD : NEED_NOTHING;
		}
	g.known = true;
}

void gpu_calls_switch(const struct gpu_calls_cupti *cupti, bool on)
{
	CUptiResult (*turn)(CUpti_ActivityKind) = on ? cupti->enable_kind : cupti->disable_kind;
	turn(CUPTI_ACTIVITY_KIND_RUNTIME);
	turn(CUPTI_ACTIVITY_KIND_DRIVER);
	if (!on || !cupti->name)
		return;
	if (!g.known)
		find(cupti);
	for (unsigned d = 0; d < DOMAINS; d++) {
		CUptiResult (*choose)(CUpti_CallbackId, uint8_t) =
			domains[d] == CUPTI_CB_DOMAIN_RUNTIME_API ? cupti->switch_runtime
								  : cupti->switch_driver;
		for (uint32_t id = 1; choose && id < CALLBACKS_MOST; id++)
			if (g.need[d][id] == NEED_NOTHING)
				choose(id, 0);
	}
}

bool gpu_calls_wanted(const CUpti_ActivityAPI *record)
{
	unsigned d = record->kind == CUPTI_ACTIVITY_KIND_DRIVER;
	return record->cbid >= CALLBACKS_MOST || g.need[d][record->cbid] != NEED_NOTHING;
}

void gpu_calls_forget(void)
{
	memset(&g, 0, sizeof(g));
}
