/*
 * A source of runs that is no journal: a few lines of text. It shows that analysis, report, what-if
 * and traces need nothing but the run model.
 *
 *   device ID NAME
 *   stack ID FILE:LINE FUNCTION
 *   step NUMBER BEGIN END              times are microseconds
 *   launch BEGIN END STACK KERNEL WORK_BEGIN WORK_END STREAM
 *   sync BEGIN END STACK STREAM
 *
 * Calls and work belong to the step above them. Lines that begin with # are skipped.
 */
#ifndef TEST_UNIT_TEXT_SOURCE_H
#define TEST_UNIT_TEXT_SOURCE_H

#include "core/model/model.h"
#include "core/model/run.h"

struct text_source {
	struct run run;
	struct tables tables;
	struct strtab texts;
	VEC(struct source_frame) stacks; /* by id: one frame each */
	VEC(struct model_step) steps;
};

/* Reads the file; false where a line is not understood. Free with text_source_free(). */
bool text_source_read(struct text_source *s, const char *path);
void text_source_free(struct text_source *s);

#endif
