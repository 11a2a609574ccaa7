/*
 * Walks an analyzed step and calls a visitor for everything that a trace of the step shows. The
 * walk decides for all formats what a trace shows, where, in which order and with which arguments.
 * A format is a visitor, and only encodes.
 *
 * The visitor gets one process, then one track after another. The events of a track follow directly
 * after the track, in order of time. The slices of a track nest: a slice that begins within another
 * slice ends no later than that slice.
 */
#ifndef EXPORT_TRACE_WALK_H
#define EXPORT_TRACE_WALK_H

#include "core/analysis/analyzer.h"
#include "export/trace_names.h"
#include "export/trace_words.h"

struct trace_process {
	const struct trace_words *words; /* the texts of all words; the walk adds words */
	uint32_t pid;
	uint64_t start;	     /* distinguishes processes with the same pid */
	const char *command; /* "" if unknown */
	uint64_t step;	     /* number of the step */
	struct model_clock clock;
};

enum trace_track_kind {
	TRACE_TRACK_PROCESS =
		1, /* the process itself: default parent of tracks, but not a track of the walk */
	TRACE_TRACK_THREAD,
	TRACE_TRACK_STEPS,
	TRACE_TRACK_NOTES,
	TRACE_TRACK_GPU, /* a group: the tracks of one device, if there are several devices */
	TRACE_TRACK_STREAM,
	TRACE_TRACK_COUNTER,
	TRACE_TRACK_OVERHEAD,
	TRACE_TRACK_RANGES,
	TRACE_TRACK_PHASES,
	TRACE_TRACK_MODULES,
	TRACE_TRACK_IDLE,
	TRACE_TRACK_SAMPLES,
	TRACE_TRACK_CRITICAL,
};

struct trace_track {
	enum trace_track_kind kind;
	uint64_t id; /* unique among tracks of its kind; the same in all traces of the process */
	const char *name;
	const char *description;	  /* NULL: none */
	const struct trace_track *parent; /* a group; NULL: the process */
	bool is_group;			  /* contains tracks, no events */
	bool is_ranked;			  /* is shown at position `rank` among the tracks of its
					   * parent */
	uint32_t rank;
	uint64_t begin_ns;    /* the track's events begin no earlier */
	uint32_t tid;	      /* for THREAD, PHASES, MODULES, SAMPLES: id of the thread */
	uint32_t device;      /* for GPU, STREAM, IDLE, COUNTER; DEVICE_UNKNOWN: no device */
	uint32_t stream;      /* for STREAM: CUPTI's number */
	enum model_unit unit; /* for COUNTER */
};

enum trace_arg_kind {
	TRACE_UINT,
	TRACE_POINTER,
	TRACE_DOUBLE,
	TRACE_TEXT, /* a short text, not stored as a word */
	TRACE_WORD,
	TRACE_TRIPLE,
};

struct trace_arg {
	uint8_t name; /* enum trace_arg_name */
	uint8_t kind; /* enum trace_arg_kind */
	union {
		uint64_t uint; /* also for TRACE_POINTER */
		double real;
		const char *text;
		uint32_t word;
		const uint32_t *triple; /* three numbers */
	};
};

enum { TRACE_ARGS_MOST = 32 };

#define TRACE_NO_ITEM UINT32_MAX

/* A slice, or an instant, which ends when it begins. */
struct trace_slice {
	uint64_t begin_ns, end_ns;
	const char *text; /* a name that occurs once or rarely; NULL: `word` is the name */
	uint32_t word;	  /* the name if `text` is NULL */
	enum trace_category category;
	/* What the slice shows: an index in the model's calls, works, ranges or libraries, by the
	 * category. For an operator, the index of its first call. TRACE_NO_ITEM: none of these. */
	uint32_t item;
	const struct trace_arg *args;
	size_t n_args;
	/* Numbers of arrows, which lead from a call to the GPU work that it launched. Each number
	 * occurs in two slices of the step. */
	const uint32_t *flows_out; /* arrows that begin at this slice */
	size_t n_flows_out;
	bool has_flow_in;
	uint32_t flow_in; /* the arrow that ends at this slice */
};

/*
 * Arguments are valid only during the call. A format sets callbacks that it does not need to NULL.
 */
struct trace_visitor {
	void (*process)(void *context, const struct trace_process *p);
	void (*track)(void *context, const struct trace_track *t);
	void (*slice)(void *context, const struct trace_slice *s);
	/* Ends the innermost open slice. */
	void (*slice_end)(void *context, uint64_t ns);
	void (*instant)(void *context, const struct trace_slice *s);
	void (*point)(void *context, uint64_t ns, int64_t value);
};

void trace_walk(const struct analyzed_step *step, const struct trace_visitor *visitor,
		void *context);

/* Returns a hash of two numbers, never 0. */
uint64_t trace_mix(uint64_t a, uint64_t b);

#endif
