/*
 * The comparison of two runs or traces, A and B (docs/diff.md). diff_side.c chooses which processes
 * are compared, diff_items.c reads the rows of their reports, diff_match.c finds the rows of both
 * that belong together, diff_steps.c compares the step times, diff_make.c the rows, diff_notes.c
 * adds notes. diff_text.c and diff.def print the result. Pairs of values are ranges: `low` is A's
 * value, `high` is B's; NAN: not known.
 */
#ifndef EXPORT_DIFF_H
#define EXPORT_DIFF_H

#include "core/util/strtab.h"
#include "core/verdict/difference.h"
#include "export/report.h"
#include "export/report_make.h"

enum { DIFF_A, DIFF_B, DIFF_SIDES };

/* ---- Lists of rows: diff_items.c ---- */

/* What a list's rows measure, in milliseconds per step. */
enum diff_measure { DIFF_GPU_MS, DIFF_HOST_MS, DIFF_IDLE_MS, DIFF_MEASURES };

enum {
	DIFF_OF_GPU = 1 << DIFF_GPU_MS,
	DIFF_OF_HOST = 1 << DIFF_HOST_MS,
	DIFF_OF_IDLE = 1 << DIFF_IDLE_MS,
	DIFF_OF_BOTH = DIFF_OF_GPU | DIFF_OF_HOST,
};

enum {
	/* The rows exist only with GPU times. */
	DIFF_NEEDS_GPU = 1,
	/* A run has no such row at all because something was not recorded, not because nothing
	 * ran. */
	DIFF_IS_RECORDED = 2,
	/* profrun and torch.profiler record different rows. */
	DIFF_BY_TOOL = 4,
	/* Each row is a line. */
	DIFF_IS_LINES = 8,
};

/* The lists: id, field in JSON, title of the text, measures, flags. */
#define DIFF_LISTS(X)                                                                       \
	X(IDLE, "idle", "GPU idle time by cause", DIFF_OF_IDLE, DIFF_NEEDS_GPU)             \
	X(KERNELS, "kernels", "Kernels", DIFF_OF_GPU, DIFF_NEEDS_GPU)                       \
	X(COPIES, "copies", "Copies", DIFF_OF_GPU, DIFF_NEEDS_GPU)                          \
	X(COLLECTIVES, "collectives", "Collectives", DIFF_OF_GPU, DIFF_IS_RECORDED)         \
	X(SYNCS, "syncs", "Synchronization by line", DIFF_OF_HOST, DIFF_NEEDS_GPU)          \
	X(HOST, "host", "CPU time between CUDA calls by line", DIFF_OF_HOST,                \
	  DIFF_IS_RECORDED | DIFF_BY_TOOL | DIFF_IS_LINES)                                  \
	X(LINES, "lines", "Lines with CUDA calls", DIFF_OF_BOTH,                            \
	  DIFF_IS_RECORDED | DIFF_BY_TOOL | DIFF_IS_LINES)                                  \
	X(OPERATORS, "operators", "Operators (without the operators within)", DIFF_OF_BOTH, \
	  DIFF_IS_RECORDED | DIFF_BY_TOOL)                                                  \
	X(MODULES, "modules", "Modules", DIFF_OF_BOTH, DIFF_IS_RECORDED | DIFF_BY_TOOL)     \
	X(PHASES, "phases", "Phases", DIFF_OF_BOTH, DIFF_IS_RECORDED)                       \
	X(CALLS, "calls", "CUDA calls", DIFF_OF_HOST, DIFF_IS_RECORDED | DIFF_BY_TOOL)

enum diff_list_id {
#define X(id, ...) DIFF_##id,
	DIFF_LISTS(X)
#undef X
		DIFF_LISTS_N
};

struct diff_kind {
	const char *field, *title;
	unsigned measures, flags; /* measures: bits 1 << enum diff_measure */
};

extern const struct diff_kind diff_kinds[DIFF_LISTS_N];

/* A row of one side: the mean of the compared processes. The report owns the texts. */
struct diff_item {
	const char *name;	   /* "": the place identifies the row */
	struct report_place place; /* file "": the name identifies the row */
	const char *source;	   /* text of the line; "": not known */
	double per_step, bytes, ms[DIFF_MEASURES];
};

typedef VEC(struct diff_item) diff_items;

/* ---- What is compared: diff_side.c ---- */

struct diff_side {
	const char *path;
	bool is_trace;	/* of torch.profiler */
	bool has_gpu;	/* all compared processes have GPU times */
	bool has_lines; /* the line of some call is known */
	bool is_opened; /* `made` and `stored` are to be freed */
	struct report_made made;
	struct report stored; /* report.json, which has the texts of lines as they were */
	bool is_stored;
	int64_t began_s;			     /* since 1970; 0: not known */
	VEC(const struct report_process *) compared; /* in the same order on both sides */
	const struct report_process *slowest;	     /* of `compared`, by its median step */
};

/* Reads a side. Returns 0, or -errno with one line in `e`. Free with diff_side_free() in any
 * case. */
int diff_side_open(struct diff_side *s, const char *path, struct err *e);
void diff_side_free(struct diff_side *s);

/*
 * Reads the rows of a list: the mean over the compared processes. `has_places`: rows with a name
 * and a place differ by both, else by their name alone. Texts that are no report's belong to
 * `texts`. Free `to` with vec_free().
 */
void diff_items_read(diff_items *to, const struct diff_side *s, enum diff_list_id list,
		     bool has_places, struct strtab *texts);

/* Returns the text that a line had during the run; "": not known, as the file may have changed
 * since. */
const char *diff_text_of_line(const struct diff_side *s, const struct report_place *at);

/* ---- Which rows belong together: diff_match.c ---- */

/* Rows of both sides that are compared. Several rows of a side: lines with the same text, of which
 * it isn't known which became which. */
struct diff_match {
	VEC(size_t)
	of[DIFF_SIDES]; /* indices in the sides' items; none: the other side's are new
				     * or gone */
};

struct diff_matches {
	VEC(struct diff_match) at;
};

/* The rows are of two sides. A file is the same if its path, relative to the side's folder, is. */
void diff_match(struct diff_matches *m, const diff_items items[DIFF_SIDES],
		const char *const cwd[DIFF_SIDES]);
void diff_matches_free(struct diff_matches *m);

/* ---- The result: diff_make.c ---- */

struct diff_source {
	const char *path, *tool, *command, *process, *steps; /* `process`, `steps`: in words */
	int64_t processes, ranks, n_steps;
};

struct diff_row {
	const char *name, *state, *source;
	struct report_place place;
	int64_t line_before;	      /* in A, if it differs from place.line; else -1 */
	int64_t n_lines_a, n_lines_b; /* if a row stands for several lines; else -1 */
	struct field_range per_step, gpu_ms, host_ms, idle_ms, bytes;
	double change_ms; /* the largest change of its measures */
};

struct diff_step {
	double a_ms, b_ms, change_ms, change_pct;
	struct field_range interval_ms, interval_pct;
};

struct diff_rank {
	int64_t rank;
	struct diff_step step; /* of the median */
	struct field_range busy_pct;
	const char *cause; /* the idle cause that changed most; "": none */
	double cause_ms;   /* by how much */
};

struct diff_gate {
	double pct;
	const char *result; /* "passed", "failed" or "not judged" */
	const char *why;
};

struct diff_list {
	LIST(struct diff_row) rows; /* sorted by the size of the change */
};

struct diff {
	struct diff_source source[DIFF_SIDES];
	const char *unit;	 /* "step" or "run": to what all figures refer */
	const char *verdict;	 /* "slower", "faster", "no difference" or "unknown" */
	const char *verdict_why; /* "": a verdict is known */
	struct diff_step *median, *mean, *recorded; /* NULL: not known */
	struct field_range busy_ms, idle_ms, kernels, device_peak_bytes, allocator_peak_bytes;
	LIST(struct diff_rank) ranks; /* if several were compared */
	struct diff_list lists[DIFF_LISTS_N];
	VEC(struct report_gap) not_compared;
	VEC(const char *) notes;
	struct diff_gate *gate; /* NULL: none was asked for */
	struct arena arena;
	struct strtab texts;
};

/*
 * Chooses which processes are compared: those of the ranks that both sides have or, without such,
 * the main process of each. Returns 0, or -EINVAL with one line in `e` if nothing can be compared.
 */
int diff_choose(struct diff_side sides[DIFF_SIDES], struct err *e);

/* Compares two sides, of which diff_choose() has chosen the processes. `to` refers to texts of the
 * sides. Free with diff_free(). */
void diff_make(struct diff *to, const struct diff_side sides[DIFF_SIDES]);
void diff_free(struct diff *d);

/* ---- Steps: diff_steps.c ---- */

/* Fills what is compared, the step times, the verdict and the ranks. */
void diff_steps(struct diff *to, const struct diff_side sides[DIFF_SIDES]);

/* Returns whether the side has steps; else it has slices of time, or nothing of the kind. */
bool diff_has_steps(const struct diff_side *s);
/* Returns whether the rows of the side are sums over the whole run, because no step was
 * recorded. */
bool diff_is_whole_run(const struct diff_side *s);

/* Judges whether the step became longer by more than `pct` percent. */
void diff_judge(struct diff *d, double pct);

/* ---- Notes: diff_notes.c ---- */

/* Adds what the reader must know: what makes the two runs differ in any case. */
void diff_notes(struct diff *d, const struct diff_side sides[DIFF_SIDES]);

/* Returns whether one side is a trace of torch.profiler and the other is not. */
bool diff_is_mixed(const struct diff_side sides[DIFF_SIDES]);
/* Returns whether places can be compared: profrun knows the line of a call, torch.profiler in most
 * traces only that of the function. */
bool diff_has_places(const struct diff_side sides[DIFF_SIDES]);

/* Returns a text that `d` owns. */
__attribute__((format(printf, 2, 3))) const char *diff_words(struct diff *d, const char *format,
							     ...);

/* ---- Printing ---- */

struct textout;

/* `top`: rows of each list. */
void diff_text(struct textout *o, const struct diff *d, unsigned top);

extern const struct fields diff_fields;

#endif
