/*
 * The files of all formats that a process's steps go to. Most formats have one file per step. Those
 * with `has_windows` have one per window, which ends with the step that the schedule saves, or
 * where steps are missing. If the user has chosen steps, each format has one file with all of them;
 * only a format with `write_step` then still has one per step.
 */
#ifndef EXPORT_STEP_FILES_H
#define EXPORT_STEP_FILES_H

#include "export/exporter.h"

#include <limits.h>

/* Numbers of steps, both included. */
struct step_choice {
	bool is_set; /* false: all steps */
	uint64_t first, last;
};

/* Parses "10-20" or "10". Returns 0, or -EINVAL with one line in `e`. */
int step_choice_parse(struct step_choice *to, const char *text, struct err *e);

static inline bool step_choice_has(const struct step_choice *c, uint64_t number)
{
	return !c->is_set || (number >= c->first && number <= c->last);
}

struct step_file;

struct step_files {
	/* set by the caller, before the first step: */
	const struct exporter *const *formats; /* `n_formats` */
	int n_formats;
	struct step_choice choice;
	const char *folder; /* of the run */
	bool is_plain;	    /* files go directly into `folder`, without the format's folder */
	const char *name;   /* of the process's folder: its rank, or another name */
	void *context;
	/* Is called for each complete file: the format's index, the path below `folder`, and
	 * whether the file is empty (`is_empty` of the format). */
	void (*written)(void *context, int format, const char *relative, bool is_empty);
	void (*failed)(void *context, const struct err *e);
	/* private: */
	struct step_files_open {
		struct step_file *file; /* NULL: none is open */
		uint64_t first, last;	/* numbers of its steps */
		char name[PATH_MAX];	/* of a format with `name_file`, else "" */
	} open[EXPORTERS_MOST];
};

/* Writes a step, unless it is not chosen. Returns whether it was written to some file. */
bool step_files_add(struct step_files *f, const struct analyzed_step *step);

/* Completes all open files. */
void step_files_end(struct step_files *f);

/* Removes all open files. */
void step_files_abandon(struct step_files *f);

#endif
