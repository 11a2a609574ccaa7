/*
 * Walks an analyzed step and calls a visitor for everything that a trace of it shows. What is
 * shown, where, in which order and with which arguments is decided here, once for all formats. A
 * format is a visitor: it only encodes.
 *
 * A step comes as one process, then tracks one after another. The events of a track follow it
 * directly, in order of time. The slices of a track nest: one that begins within another ends no
 * later.
 */
#ifndef EXPORT_TRACE_WALK_H
#define EXPORT_TRACE_WALK_H

#include "core/analysis/analyzer.h"
#include "export/trace_names.h"
#include "export/trace_words.h"

struct trace_process {
	const struct trace_words *words; /* what all words of the walk mean; grows during it */
	uint32_t pid;
	uint64_t start;	     /* distinguishes processes with the same pid */
	const char *command; /* "" if unknown */
	uint64_t step;	     /* its number */
	struct model_clock clock;
};

enum trace_track_kind {
	TRACE_TRACK_PROCESS =
		1, /* the process itself: no track of its own, but the default parent */
	TRACE_TRACK_THREAD,
	TRACE_TRACK_STEPS,
	TRACE_TRACK_NOTES,
	TRACE_TRACK_GPU, /* a group: the tracks of one of several devices */
	TRACE_TRACK_STREAM,
	TRACE_TRACK_COUNTER,
	TRACE_TRACK_OVERHEAD,
	TRACE_TRACK_RANGES,
	TRACE_TRACK_PHASES,
	TRACE_TRACK_MODULES,
	TRACE_TRACK_IDLE,
};

struct trace_track {
	enum trace_track_kind kind;
	uint64_t id; /* of those of a kind; the same in all traces of the process */
	const char *name;
	const char *description;	  /* NULL: none */
	const struct trace_track *parent; /* a group; NULL: the process */
	bool is_group;			  /* holds tracks, no events */
	bool is_ranked;			  /* stands at `rank` among its siblings */
	uint32_t rank;
	uint64_t begin_ns;    /* its events begin no earlier */
	uint32_t tid;	      /* THREAD; PHASES and MODULES: the thread that they are of */
	uint32_t device;      /* GPU, STREAM, IDLE, COUNTER; DEVICE_UNKNOWN: of no device */
	uint32_t stream;      /* STREAM: CUPTI's number */
	enum model_unit unit; /* COUNTER */
};

enum trace_arg_kind {
	TRACE_UINT,
	TRACE_POINTER,
	TRACE_DOUBLE,
	TRACE_TEXT, /* short, and not worth a word */
	TRACE_WORD,
	TRACE_TRIPLE,
};

struct trace_arg {
	uint8_t name; /* enum trace_arg_name */
	uint8_t kind; /* enum trace_arg_kind */
	union {
		uint64_t uint; /* TRACE_POINTER too */
		double real;
		const char *text;
		uint32_t word;
		const uint32_t *triple; /* three numbers */
	};
};

enum { TRACE_ARGS_MOST = 32 };

/* A slice, or an instant, which ends when it begins. */
struct trace_slice {
	uint64_t begin_ns, end_ns;
	const char *text; /* its name, where that occurs once or rarely; NULL: */
	uint32_t word;	  /* its name */
	enum trace_category category;
	const struct trace_arg *args;
	size_t n_args;
	/* Arrows from calls to the GPU work that they launched. The number of an arrow occurs in
	 * two slices of the step. */
	const uint32_t *flows_out; /* of the arrows that begin here */
	size_t n_flows_out;
	bool has_flow_in;
	uint32_t flow_in; /* of the arrow that ends here */
};

/* What is passed is valid during the call only. A callback that a format does not need is NULL. */
struct trace_visitor {
	void (*process)(void *context, const struct trace_process *p);
	void (*track)(void *context, const struct trace_track *t);
	void (*slice)(void *context, const struct trace_slice *s);
	/* The end of the slice that began last and has not ended. */
	void (*slice_end)(void *context, uint64_t ns);
	void (*instant)(void *context, const struct trace_slice *s);
	void (*point)(void *context, uint64_t ns, int64_t value);
};

void trace_walk(const struct analyzed_step *step, const struct trace_visitor *visitor,
		void *context);

/* Returns a hash of two numbers, never 0. */
uint64_t trace_mix(uint64_t a, uint64_t b);

#endif
