/* See html_lists.h. Column: member, heading, kind, meaning. */
#include "export/html_lists.h"

#define PLACE                                                               \
	{                                                                   \
		".", "line", HTML_PLACE, "innermost line outside libraries" \
	}
#define CALLS                                                \
	{                                                    \
		"per_step", "calls", HTML_NUMBER, "per step" \
	}
#define IN_GRAPHS                                                                             \
	{                                                                                     \
		"graph_gpu_ms_per_step", "in graphs ms", HTML_MS, "part that CUDA graphs ran" \
	}
#define SOURCE                                      \
	{                                           \
		"source", "source", HTML_CODE, NULL \
	}
#define CALLED_FROM                                                                         \
	{                                                                                   \
		"called_from", "called from", HTML_PLACE, "your line that started the loop" \
	}
#define ARITHMETIC                                                                        \
	{ "tflops", "TFLOP/s", HTML_NUMBER, "of matrix products" },                       \
	{                                                                                 \
		"peak_pct", "of peak", HTML_PERCENT, "of the device's peak for this type" \
	}

const struct html_list html_list_steps = {
	"baseline",
	"step-times",
	"Step time",
	NULL,
	{
		{ "name", "steps", HTML_TEXT, NULL },
		{ "n", "n", HTML_NUMBER, NULL },
		{ "mean", "mean ms", HTML_MS, NULL },
		{ "std", "std ms", HTML_MS, "standard deviation" },
		{ "min", "min ms", HTML_MS, NULL },
		{ "p50", "p50 ms", HTML_MS, "median" },
		{ "p95", "p95 ms", HTML_MS, NULL },
		{ "p99", "p99 ms", HTML_MS, NULL },
		{ "max", "max ms", HTML_MS, NULL },
	},
};

const struct html_list html_lists_idle[] = {
	{
		"idle",
		"idle-causes",
		"GPU idle time by cause",
		"Each nanosecond of idle time has one cause. The idle time of a cause is not what "
		"you "
		"save by removing the cause, because another cause may take its place.",
		{
			{ "cause", "cause", HTML_CAUSE, NULL },
			{ "device", "GPU", HTML_ID, NULL },
			{ "ms_per_step", "ms", HTML_BAR_MS, "per step" },
			{ "pct", "of step", HTML_PERCENT, NULL },
			PLACE,
			{ "cause", "meaning", HTML_CAUSE_MEANING, NULL },
			{ "after", "after", HTML_PLACE,
			  "line that captured the work before the gap" },
		},
	},
	{
		"gpu",
		"gpu",
		"GPU utilization",
		NULL,
		{
			{ "device", "GPU", HTML_ID, NULL },
			{ "busy_pct", "utilization", HTML_PERCENT, NULL },
			{ "busy_ms_per_step", "busy ms", HTML_MS, "per step" },
			{ "idle_ms_per_step", "idle ms", HTML_MS, "per step" },
			{ "late_ms_per_step", "late ms", HTML_MS,
			  "GPU time of work that ran after the recorded steps" },
			{ "kernels_per_step", "kernels", HTML_NUMBER, "per step" },
			{ "tensor_core_pct", "tensor cores", HTML_PERCENT,
			  "share of kernel time on tensor cores" },
			{ "sm_efficiency_pct", "SM efficiency", HTML_PERCENT,
			  "estimated share of the steps and multiprocessors with blocks" },
			{ "occupancy_pct", "occupancy", HTML_PERCENT,
			  "estimated, while kernels run" },
			{ "hidden_communication_pct", "hidden communication", HTML_PERCENT,
			  "share of communication during which the GPU also computed" },
			{ "typical_busy_ms", "busy, typical ms", HTML_MS, "typical steps only" },
			{ "typical_idle_ms", "idle, typical ms", HTML_MS, "typical steps only" },
		},
	},
	{
		"gpu_use",
		"gpu-use",
		"GPU time by what runs at once",
		NULL,
		{
			{ "device", "GPU", HTML_ID, NULL },
			{ "what", "what runs", HTML_TEXT, NULL },
			{ "ms_per_step", "ms", HTML_BAR_MS, "per step" },
			{ "pct", "of step", HTML_PERCENT, NULL },
		},
	},
	{ NULL, NULL, NULL, NULL, { { NULL, NULL, HTML_TEXT, NULL } } },
};

const struct html_list html_lists_syncs[] = {
	{
		"syncs",
		"sync-lines",
		"Waits by line",
		"Saved: what a step saves if the wait is removed. Without the line: what a step "
		"saves "
		"if the whole line is removed.",
		{
			PLACE,
			{ "kind", "kind", HTML_WAIT, NULL },
			CALLS,
			{ "blocked_ms_per_step", "blocked ms", HTML_BAR_MS,
			  "CPU time blocked in these calls, per step" },
			{ "gpu_idle_ms_per_step", "GPU idle ms", HTML_MS,
			  "GPU idle time that these calls caused, per step" },
			{ "recoverable_ms_per_step", "saved ms", HTML_MS,
			  "what a step saves if the wait is removed" },
			{ "line_ms_per_step", "without the line ms", HTML_MS,
			  "what a step saves if the whole line is removed" },
			SOURCE,
			{ "api", "waits in", HTML_NAME, NULL },
			{ "inner", "within", HTML_PLACE, "library's line that your line calls" },
			CALLED_FROM,
			{ "stack", "stack", HTML_STACK, NULL },
		},
	},
	{ NULL, NULL, NULL, NULL, { { NULL, NULL, HTML_TEXT, NULL } } },
};

#define BLOCKS                                      \
	PLACE, { "what", "what", HTML_TEXT, NULL }, \
	{                                           \
		"bytes", "bytes", HTML_BYTES, NULL  \
	}

const struct html_list html_lists_memory[] = {
	{ "memory.at_peak", "at-peak", "What was live at the peak", NULL, { BLOCKS } },
	{ "memory.leaks",
	  "leaks",
	  "Memory that grows from step to step",
	  NULL,
	  { PLACE,
	    { "what", "what", HTML_TEXT, NULL },
	    { "bytes_per_step", "bytes per step", HTML_BYTES, NULL } } },
	{ "memory.by_kind",
	  "by-kind",
	  "Memory by kind",
	  NULL,
	  { { "kind", "kind", HTML_TEXT, NULL },
	    { "bytes", "at the peak", HTML_BYTES, "at the peak of all memory" },
	    { "peak_bytes", "own peak", HTML_BYTES, "peak of this kind" },
	    { "blocks_per_step", "blocks", HTML_NUMBER, "per step" } } },
	{ "memory.by_phase",
	  "by-phase",
	  "Memory by allocating phase",
	  NULL,
	  { { "phase", "phase", HTML_TEXT, NULL },
	    { "bytes", "at the peak", HTML_BYTES, "at the peak of all memory" },
	    { "peak_bytes", "own peak", HTML_BYTES, "peak of this phase" },
	    { "blocks_per_step", "blocks", HTML_NUMBER, "per step" } } },
	{ NULL, NULL, NULL, NULL, { { NULL, NULL, HTML_TEXT, NULL } } },
};

const struct html_list html_list_phases = {
	"phases",
	"phases",
	"Phases",
	"CPU times of the phases add up to the step time.",
	{
		{ "name", "phase", HTML_TEXT, NULL },
		{ "host_ms_per_step", "CPU ms", HTML_BAR_MS, "per step" },
		{ "gpu_ms_per_step", "GPU ms", HTML_MS, "per step" },
		IN_GRAPHS,
		{ "typical_host_ms", "CPU, typical ms", HTML_MS, "typical steps only" },
	},
};

const struct html_list html_lists_tables[] = {
	{
		"lines",
		"lines",
		"Lines",
		"GPU time of the work that the line launched; CPU time of its CUDA calls.",
		{
			PLACE,
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "host_ms_per_step", "CPU ms", HTML_MS, "in CUDA calls, per step" },
			{ "backward_gpu_ms_per_step", "backward GPU ms", HTML_MS,
			  "backward pass that this line made necessary" },
			IN_GRAPHS,
			{ "launches_per_step", "launches", HTML_NUMBER,
			  "of kernels and graphs, per step" },
			{ "module", "module", HTML_NAME, NULL },
			SOURCE,
			ARITHMETIC,
			CALLED_FROM,
		},
	},
	{
		"host",
		"host",
		"CPU time between CUDA calls",
		"From samples of the launching threads while they were in no CUDA call.",
		{
			PLACE,
			{ "after", "after", HTML_PLACE, "line of the CUDA call before" },
			{ "before", "before", HTML_PLACE, "line of the CUDA call after" },
			{ "kind", "kind", HTML_TEXT, NULL },
			{ "self_ms_per_step", "self ms", HTML_BAR_MS, "the line itself, per step" },
			{ "total_ms_per_step", "total ms", HTML_MS,
			  "with functions that it called" },
			{ "user_ms_per_step", "user ms", HTML_MS,
			  "as the innermost line of your program" },
			{ "samples", "samples", HTML_NUMBER, NULL },
			SOURCE,
			{ "native_function", "native function", HTML_NAME, NULL },
			{ "native_library", "library", HTML_NAME, NULL },
		},
	},
	{
		"operators",
		"operators",
		"Operators",
		"Total times include nested operators, self times do not.",
		{
			{ "name", "operator", HTML_NAME, NULL },
			CALLS,
			{ "self_gpu_ms_per_step", "self GPU ms", HTML_BAR_MS, "per step" },
			{ "gpu_ms_per_step", "total GPU ms", HTML_MS, "per step" },
			{ "self_host_ms_per_step", "self CPU ms", HTML_MS, "per step" },
			{ "host_ms_per_step", "total CPU ms", HTML_MS, "per step" },
			IN_GRAPHS,
			ARITHMETIC,
		},
	},
	{
		"modules",
		"modules",
		"Modules",
		"A module's row includes the modules within it.",
		{
			{ "name", "module", HTML_NAME, NULL },
			CALLS,
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "backward_gpu_ms_per_step", "backward GPU ms", HTML_MS, "per step" },
			{ "host_ms_per_step", "CPU ms", HTML_MS, "per step" },
			IN_GRAPHS,
		},
	},
	{
		"kernels",
		"kernels",
		"Kernels",
		NULL,
		{
			{ "name", "kernel", HTML_KERNEL, NULL },
			CALLS,
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "pct", "of GPU time", HTML_PERCENT, NULL },
			IN_GRAPHS,
			{ "tensor_core", "tensor cores", HTML_TRUTH, NULL },
			{ "occupancy_pct", "occupancy", HTML_PERCENT, "estimated" },
			ARITHMETIC,
		},
	},
	{
		"copies",
		"copies",
		"Copies",
		"Blocking: the CPU waits for most of the bytes.",
		{
			{ "kind", "kind", HTML_TEXT, NULL },
			{ "memory", "memory", HTML_TEXT, NULL },
			PLACE,
			CALLS,
			{ "bytes_per_step", "bytes", HTML_BYTES, "per step" },
			{ "gb_per_s", "GB/s", HTML_NUMBER, NULL },
			{ "blocking", "blocking", HTML_TRUTH, NULL },
		},
	},
	{
		"collectives",
		"collectives",
		"Collectives",
		NULL,
		{
			{ "name", "collective", HTML_NAME, NULL },
			{ "ranks", "ranks", HTML_NUMBER, NULL },
			CALLS,
			{ "bytes_per_step", "bytes", HTML_BYTES, "per step" },
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "wait_ms_per_step", "wait ms", HTML_MS, "for other ranks, per step" },
			{ "gb_per_s", "GB/s", HTML_NUMBER, NULL },
			{ "bus_gb_per_s", "bus GB/s", HTML_NUMBER, NULL },
			{ "bus_gb_per_s_moving", "bus GB/s, moving", HTML_NUMBER, "without waits" },
			{ "last_rank", "last rank", HTML_ID, "rank that mostly comes last" },
			PLACE,
		},
	},
	{
		"calls",
		"calls",
		"CUDA calls",
		"CPU time from the begin to the end of the calls, waits included.",
		{
			{ "name", "function", HTML_NAME, NULL },
			CALLS,
			{ "host_ms_per_step", "CPU ms", HTML_BAR_MS, "per step" },
		},
	},
	{
		"launches",
		"launches",
		"Launches and copies",
		"Delay: from the end of the call to the begin of its work. Short: calls whose work "
		"takes less time than they do.",
		{
			{ "name", "function", HTML_NAME, NULL },
			{ "per_step", "calls", HTML_NUMBER, "per step" },
			{ "call_us.mean", "call us", HTML_NUMBER, "mean" },
			{ "delay_us.p50", "delay us", HTML_NUMBER, "median" },
			{ "delay_us.p95", "delay p95 us", HTML_NUMBER, NULL },
			{ "short_pct", "short", HTML_PERCENT, NULL },
		},
	},
	{
		"queues",
		"queues",
		"Launches and copies that wait in streams",
		NULL,
		{
			{ "device", "GPU", HTML_ID, NULL },
			{ "stream", "stream", HTML_ID, NULL },
			{ "per_step", "calls", HTML_NUMBER, "per step" },
			{ "mean_length", "mean length", HTML_NUMBER, NULL },
			{ "max_length", "longest", HTML_NUMBER, NULL },
			{ "wait_us", "wait us", HTML_NUMBER, "mean of the calls" },
		},
	},
	{
		"critical_path_kinds",
		"critical-path-kinds",
		"Critical path by kind",
		"The chain of CPU code, launches, GPU work and waits that the steps' time consists "
		"of. Only what is on it makes a step longer.",
		{
			{ "kind", "kind", HTML_LINK, NULL },
			{ "ms_per_step", "ms", HTML_BAR_MS, "per step" },
			{ "pct", "of the path", HTML_PERCENT, NULL },
		},
	},
	{
		"critical_path",
		"critical-path",
		"Critical path",
		"Its links, by kind and by what they are about. A delay is named after the GPU "
		"work that it delays.",
		{
			{ "kind", "kind", HTML_LINK, NULL },
			{ "name", "name", HTML_KERNEL, NULL },
			{ "ms_per_step", "ms", HTML_BAR_MS, "per step" },
			{ "pct", "of the path", HTML_PERCENT, NULL },
			{ "per_step", "links", HTML_NUMBER, "per step" },
			PLACE,
			{ "operator", "operator", HTML_NAME, NULL },
		},
	},
	{
		"operator_delays",
		"operator-delays",
		"Operators until their GPU work begins",
		"From the begin of the operator to that of the first launch that it makes itself, "
		"and from there to the begin of the launch's GPU work. Means of the runs.",
		{
			{ "name", "operator", HTML_NAME, NULL },
			{ "per_step", "runs", HTML_NUMBER, "per step" },
			{ "to_launch_us", "to launch us", HTML_NUMBER, NULL },
			{ "launch_to_work_us", "launch to work us", HTML_NUMBER, NULL },
			{ "to_work_us", "to work us", HTML_NUMBER, NULL },
		},
	},
	{
		"kernel_sequences",
		"kernel-sequences",
		"Kernel sequences by operator",
		"Kernels, copies and memsets that an operator launches, in order.",
		{
			{ "operator", "operator", HTML_NAME, NULL },
			{ "n_kernels", "length", HTML_NUMBER, NULL },
			{ "kernels", "kernels", HTML_KERNELS, "the first 32" },
			{ "per_step", "runs", HTML_NUMBER, "per step" },
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "host_ms_per_step", "CPU ms", HTML_MS, "of the operator, per step" },
		},
	},
	{
		"graphs",
		"graphs",
		"CUDA graphs",
		NULL,
		{
			{ "graph", "graph", HTML_ID, NULL },
			{ "nodes", "nodes", HTML_NUMBER, NULL },
			{ "launches_per_step", "launches", HTML_NUMBER, "per step" },
			{ "gpu_ms_per_launch", "GPU ms", HTML_BAR_MS, "per launch" },
			{ "idle_ms_per_launch", "idle ms", HTML_MS, "between nodes, per launch" },
			{ "steps", "steps", HTML_NUMBER, "that launched the graph" },
			{ "step_ms", "step ms", HTML_MS, "median of these steps" },
			{ ".", "captured at", HTML_PLACE, NULL },
			{ "launched_from", "launched from", HTML_PLACE, NULL },
			{ "module", "module", HTML_NAME, NULL },
			{ "ms_between_launches", "between launches ms", HTML_MS, NULL },
		},
	},
	{
		"graph_steps",
		"graph-steps",
		"Steps by the CUDA graphs that they launch",
		NULL,
		{
			{ "graphs", "graphs", HTML_NUMBERS, NULL },
			{ "steps", "steps", HTML_NUMBER, NULL },
			{ "step_ms", "step ms", HTML_MS, "median" },
			{ "launches_least", "launches, least", HTML_NUMBER, NULL },
			{ "launches_most", "most", HTML_NUMBER, NULL },
		},
	},
	{
		"shapes",
		"shapes",
		"Operators by the shapes of their inputs",
		NULL,
		{
			{ "name", "operator", HTML_NAME, NULL },
			{ "shape", "shape", HTML_NAME, NULL },
			{ "type", "type", HTML_TEXT, NULL },
			CALLS,
			{ "gpu_ms_per_step", "GPU ms", HTML_BAR_MS, "per step" },
			{ "flops_per_step", "FLOP", HTML_NUMBER, "per step" },
			{ "bytes_per_step", "bytes", HTML_BYTES, "per step" },
			{ "tflops", "TFLOP/s", HTML_NUMBER, NULL },
			{ "gb_per_s", "GB/s", HTML_NUMBER, NULL },
			{ "roofline_pct", "of roofline", HTML_PERCENT, NULL },
			{ "bound", "limited by", HTML_TEXT, NULL },
		},
	},
	{
		"once",
		"once",
		"Startup and warm-up cost",
		"Slow calls that are not part of a normal step.",
		{
			{ "what", "what", HTML_TEXT, NULL },
			{ "ms", "ms", HTML_BAR_MS, "in the whole run" },
			PLACE,
		},
	},
	{ NULL, NULL, NULL, NULL, { { NULL, NULL, HTML_TEXT, NULL } } },
};

const struct html_list html_list_ranks = {
	"ranks.list",
	"ranks",
	"Ranks",
	NULL,
	{
		{ "rank", "rank", HTML_ID, NULL },
		{ "step_ms", "step ms", HTML_BAR_MS, "mean of the recorded steps" },
		{ "p95_ms", "p95 ms", HTML_MS, NULL },
		{ "gpu_busy_pct", "GPU utilization", HTML_PERCENT, NULL },
		{ "collective_ms", "collectives ms", HTML_MS, NULL },
		{ "data_ms", "data ms", HTML_MS, NULL },
		{ "forward_ms", "forward ms", HTML_MS, NULL },
		{ "backward_ms", "backward ms", HTML_MS, NULL },
		{ "optimizer_ms", "optimizer ms", HTML_MS, NULL },
		{ "other_ms", "other ms", HTML_MS, NULL },
		{ "gpu_computation_ms", "GPU computes ms", HTML_MS, "without communication" },
		{ "gpu_overlap_ms", "both ms", HTML_MS, "computes and communicates" },
		{ "gpu_communication_ms", "communicates ms", HTML_MS, "without computation" },
		{ "wait_ms", "waits ms", HTML_MS, "for other ranks, in its collectives" },
		{ "late_ms", "waited for ms", HTML_MS, "how long the others wait for it" },
		{ "last_pct", "comes last", HTML_PERCENT, "share of its collectives" },
		{ "verdict", "bottleneck", HTML_VERDICT, NULL },
		{ "pid", "process", HTML_ID, NULL },
	},
};

const struct html_list html_list_processes = {
	"processes",
	"processes",
	"Processes",
	NULL,
	{
		{ "pid", "process", HTML_ID, NULL },
		{ "rank", "rank", HTML_ID, NULL },
		{ "command", "command", HTML_NAME, NULL },
		{ "steps.count", "steps", HTML_NUMBER, NULL },
		{ "baseline.step_ms.p50", "step ms", HTML_BAR_MS, "median" },
		{ "baseline.step_ms.p95", "p95 ms", HTML_MS, NULL },
		{ "bound.verdict", "bottleneck", HTML_VERDICT, NULL },
	},
};
