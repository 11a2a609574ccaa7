/*
 * Modes whose steps begin with a call: the launch of a repeated graph, an NVTX range,
 * cudaProfilerStart or profrun_step().
 */
#include "preload/steps_state.h"

#include "preload/gpu.h"
#include "preload/life.h"
#include "preload/ranges.h"

#include <errno.h>
#include <string.h>

static struct steps_state *const g = &steps_state;

/* ---- PROF_STEP=graph ---- */

bool steps_is_anchor_graph(uint64_t exec)
{
	if (g->mode != STEP_MODE_GRAPH)
		return false;
	uint64_t known = atomic_load_explicit(&g->graph, memory_order_relaxed);
	if (known)
		return exec == known;
	if (!steps_enter_crossing(true))
		return false;
	for (unsigned i = 0; i < sizeof(g->graphs) / sizeof(*g->graphs); i++)
		if (g->graphs[i] == exec)
			atomic_store_explicit(&g->graph, exec, memory_order_relaxed);
	g->graphs[g->next_graph++ % (sizeof(g->graphs) / sizeof(*g->graphs))] = exec;
	g->counted_first |= atomic_load_explicit(&g->graph, memory_order_relaxed) != 0;
	steps_leave_crossing();
	return atomic_load_explicit(&g->graph, memory_order_relaxed) == exec;
}

/* ---- PROF_STEP=nvtx ---- */

/* Compares a range with the setting. NAME in the setting matches in any domain, NAME@DOMAIN (as in
 * Nsight Systems) only in that domain. The default domain has the name "". */
bool steps_is_anchor_range(const char *domain, const char *name)
{
	size_t length = strlen(name);
	if (strncmp(g->range, name, length) != 0)
		return false;
	return !g->range[length] ||
	       (g->range[length] == '@' && !strcmp(g->range + length + 1, domain));
}

static void note_first_range(void)
{
	journal_put_info(JOURNAL_INFO_STEP_RANGE, "seen");
}

void steps_range(void)
{
	if (arm_is_off(&g->arm) || !steps_enter_crossing(true))
		return;
	int saved = errno;
	hook_thread.depth = 1;
	if (!g->counted_first)
		note_first_range();
	steps_begin_with_this(hook_ticks());
	hook_thread.depth = 0;
	steps_leave_crossing();
	errno = saved;
}

/* Begins to watch ranges. A range that was opened before the first CUDA call counts, too: it begins
 * step 0. */
void steps_watch_ranges(const char *range)
{
	g->range = range;
	g->counted_first = ranges_any_begins_step();
	if (g->counted_first)
		note_first_range();
	atomic_store(&hook_switch.steps.ranges, true);
}

/* ---- PROF_STEP=api ---- */

static void api_boundary(void)
{
	if (g->mode != STEP_MODE_API || arm_is_off(&g->arm) || !steps_enter_crossing(true))
		return;
	atomic_store_explicit(&g->outside, false, memory_order_relaxed);
	steps_begin(g->counted_first ? g->number + 1 : 0, hook_ticks());
	g->counted_first = true;
	steps_leave_crossing();
}

void profiler_started(void)
{
	if (atomic_load_explicit(&g->outside, memory_order_relaxed))
		api_boundary();
}

void profiler_stopped(void)
{
	if (g->mode != STEP_MODE_API || atomic_load_explicit(&g->outside, memory_order_relaxed) ||
	    !steps_enter_crossing(true))
		return;
	atomic_store_explicit(&g->outside, true, memory_order_relaxed);
	if (g->action != SCHED_NONE)
		gpu_stop();
	g->action = SCHED_NONE;
	steps_write(STEP_OUTSIDE, g->number, hook_ticks());
	steps_set_switch();
	steps_leave_crossing();
}

/* For programs that mark their own steps. A program calls it where a step begins, and finds it with
 * dlsym(RTLD_DEFAULT, "profrun_step"), which returns NULL if profrun is not loaded. */
EXPORT void profrun_step(void);
void profrun_step(void)
{
	if (hook_thread.depth || !hook_watches(CAT_PROFILER))
		return;
	int saved = errno;
	hook_thread.depth = 1;
	bool is_recorded = atomic_load_explicit(&hook_switch.setup, memory_order_acquire) ||
			   life_arm();
	if (is_recorded && hook_records(CAT_PROFILER))
		api_boundary();
	hook_thread.depth = 0;
	errno = saved;
}
