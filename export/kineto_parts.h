/*
 * Shared by the parts of the Kineto format, which are the only files that include this header:
 * kineto.c (the file, tracks, steps and phases), kineto_head.c (facts before the events),
 * kineto_event.c (writes events), kineto_cpu.c (operators, ranges, calls, memory), kineto_nccl.c
 * (NCCL's calls), kineto_python.c (Python functions), kineto_gpu.c (GPU work) and
 * kineto_counters.c.
 */
#ifndef EXPORT_KINETO_PARTS_H
#define EXPORT_KINETO_PARTS_H

#include "core/util/map.h"
#include "core/util/strtab.h"
#include "export/call_waits.h"
#include "export/json_out.h"
#include "export/trace_walk.h"

enum {
	/* Ids of threads that do not exist, for tracks that are not threads. Linux gives no thread
	 * id above 2^22. Kineto shows the waits for a stream at this number plus the stream's. */
	KINETO_WAITS_TID = 1000000,
	KINETO_MADE_UP_TID = 10000000,
	KINETO_NONE = 0, /* External id: none */
	/*
	 * An event within another one ends this much earlier at least. Readers store times as
	 * doubles, in microseconds since the base time, so the ends that they compute are wrong by
	 * up to 1 ns each. TensorBoard's plugin drops an event that seems to end after the event
	 * around it.
	 */
	KINETO_MARGIN_NS = 3,
	CLOCK_STEP_MOST_NS = 1000, /* steps overlap by less if only the clocks differ; seen: 4 ns */
};

/* A range, phase or operator that is open on the current track. */
struct kineto_open {
	uint64_t end_ns;     /* as written */
	uint32_t external;   /* of an operator; KINETO_NONE: not one */
	uint32_t annotation; /* index in `annotations` + 1; 0: not one */
};

/* An annotation whose GPU work is shown on the GPU's tracks, too. */
struct kineto_annotation {
	uint64_t begin_ns, end_ns;
	const char *name;
	uint32_t external;
};

/* A piece of work that was launched within an annotation. */
struct kineto_covered {
	uint32_t annotation, work;
};

/* A call that recorded a CUDA event. */
struct kineto_record {
	uint64_t event, ns; /* the event's handle; when the call began */
	uint32_t call;
};

/* A counter of a device: the length of a stream's queue, or a bandwidth. */
struct kineto_counter {
	uint32_t name;	     /* in counter_names */
	uint32_t device, id; /* `id`: the stream of a queue */
	bool is_queue;
	int64_t value; /* launches, or bytes per second */
};

struct kineto_change {
	uint64_t ns; /* shifted */
	int64_t change;
	uint32_t counter; /* in counters */
};

struct kineto_file {
	struct json_out out;
	uint64_t n_steps;
	/* added to CLOCK_MONOTONIC, in the file and in this step; the sums may wrap around */
	uint64_t file_shift_ns, shift_ns;
	uint64_t step_end_ns; /* of the step before, shifted */
	uint64_t first_ns, last_ns;
	uint32_t pid;
	uint32_t external;    /* the last External id */
	uint32_t python;      /* the last Python id */
	uint32_t correlation; /* of the step's first call */
	struct map tracks;    /* pid and tid of the tracks that have a name -> 1 */
	struct map tid_of;    /* hash of a track's kind and id -> made-up tid */
	uint32_t n_made_up;
	struct call_waits waits;
	struct map line_of_function;	     /* hash of a Python function -> the line in its name */
	struct map instance_of, n_instances; /* of modules, see kineto_python.c */
	VEC(struct kineto_counter) counters;
	VEC(struct kineto_change) changes; /* not yet written */
	VEC(uint32_t) first_works;	   /* of a call: in the model's works */
	struct map counter_of;
	struct strtab counter_names;
	/* the step: */
	const struct analyzed_step *step;
	const struct model_step *m;
	const struct trace_words *words;
	uint32_t main_tid;
	uint32_t *external_of_call; /* by call of the model */
	uint32_t *comm_of_work;	    /* by work of the model: index in `libraries` + 1; 0: none */
	VEC(struct kineto_annotation) annotations;
	VEC(struct kineto_covered) covered;
	VEC(struct kineto_record) records; /* sorted by event, then by time */
	/* the track: */
	enum trace_track_kind kind;
	uint32_t tid;
	VEC(struct kineto_open) open;
	bool has_args; /* the event that is being written has an argument */
};

/* ---- kineto_event.c ---- */

/* Begins a complete event. Arguments follow, then kineto_end(). `begin_ns`, `end_ns`:
 * CLOCK_MONOTONIC. A text must not be NULL. */
void kineto_begin(struct kineto_file *k, const char *category, const char *name, int64_t pid,
		  uint32_t tid, uint64_t begin_ns, uint64_t end_ns);
void kineto_end(struct kineto_file *k);
void kineto_arg_int(struct kineto_file *k, const char *key, int64_t value);
void kineto_arg_double(struct kineto_file *k, const char *key, double value);
void kineto_arg_text(struct kineto_file *k, const char *key, const char *value);
void kineto_arg_three(struct kineto_file *k, const char *key, const uint32_t value[3]);
/* Writes an argument that is null. */
void kineto_arg_null(struct kineto_file *k, const char *key);
/* Writes one end of an arrow: `phase` 's' or 'f'. */
void kineto_arrow(struct kineto_file *k, char phase, uint32_t id, int64_t pid, uint32_t tid,
		  uint64_t ns);
/* Writes a number of bytes that an allocator handed out, or took back if `bytes` is negative. */
void kineto_memory(struct kineto_file *k, const struct model_block *b, uint32_t tid, int64_t bytes);
/* Names a track, unless it has a name. `order`: its place among the tracks of `pid`. */
void kineto_name_track(struct kineto_file *k, int64_t pid, uint32_t tid, const char *name,
		       uint32_t order);
/* Names a process of the viewer: the program, or a GPU. `label`: "CPU" or "GPU 0". */
void kineto_name_process(struct kineto_file *k, int64_t pid, const char *name, const char *label,
			 uint32_t order);
/* Returns the end of a slice of the current track, so that it ends within the open one. */
uint64_t kineto_inner_end(const struct kineto_file *k, const struct trace_slice *s);
/* Writes the events that a viewer expects at the beginning and at the end. */
void kineto_write_start(struct kineto_file *k);
void kineto_write_end(struct kineto_file *k);

/* Writes the counter's value. `ns`: shifted. */
void kineto_count(struct kineto_file *k, const struct kineto_counter *c, uint64_t ns);

/* ---- kineto_counters.c ---- */

/* Adds the changes of the step's counters. */
void kineto_write_counters(struct kineto_file *k);
/* Writes the last changes, and frees the counters. */
void kineto_end_counters(struct kineto_file *k);

/* ---- kineto_head.c ---- */

/* Writes everything before the list of events. */
void kineto_write_head(struct kineto_file *k);

/* ---- kineto_cpu.c ---- */

void kineto_cpu_slice(struct kineto_file *k, const struct trace_slice *s);
/* Writes an annotation: a step, a phase or a range. Returns its index in `annotations` + 1. */
uint32_t kineto_annotate(struct kineto_file *k, const char *name, uint32_t tid, uint64_t begin_ns,
			 uint64_t end_ns);
void kineto_write_memory(struct kineto_file *k);

/* Returns the correlation id of a call of the step. No two calls of a file have the same. */
static inline uint32_t kineto_correlation(const struct kineto_file *k, uint32_t call)
{
	return k->correlation + call;
}

/* ---- kineto_nccl.c ---- */

/* Returns whether the call is a collective or a message. */
bool kineto_is_comm(const struct model_library *l);
/* Returns PyTorch's name of the call, "nccl:all_reduce". */
const char *kineto_comm_name(const struct kineto_file *k, const struct model_library *l);
/* Writes the arguments of the call, of its operator or its kernel. */
void kineto_comm_args(struct kineto_file *k, const struct model_library *l);
/* Fills `comm_of_work`. The works of a group of calls belong to no single one. */
void kineto_find_comms(struct kineto_file *k);
/* Writes the step's process groups into "distributedInfo". */
void kineto_put_groups(struct kineto_file *k);

/* ---- kineto_python.c ---- */

/* Writes the Python functions of the step's threads. */
void kineto_write_python(struct kineto_file *k);
/* Returns the line of the innermost Python frame of a stack, if no operator is inside that frame;
 * with `operator`, of the innermost one outside the operator. 0: none. */
uint32_t kineto_python_line(struct kineto_file *k, uint32_t stack, const char *operator_name,
			    const char **file);

/* ---- kineto_gpu.c ---- */

void kineto_gpu_slice(struct kineto_file *k, const struct trace_slice *s);
/* Writes what a call waited for, unless it did not wait or CUPTI has recorded it. */
void kineto_write_wait(struct kineto_file *k, uint32_t call, uint64_t end_ns);
/* Writes the annotations of the step on the GPU's tracks. */
void kineto_write_covered(struct kineto_file *k);

#endif
