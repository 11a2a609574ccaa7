/*
 * Recorded programs (test/steps/data/README.md has the format) as made ones. There are no times in a recording: every launch
 * takes 5 us, and the next comes 10 us after it began. Nor frames: the phase is told by kernels' names alone.
 */
#ifndef TEST_STEPS_RECORDED_H
#define TEST_STEPS_RECORDED_H

#include "core/runtime/err.h"
#include "test/steps/program.h"

/* A .tsv or .tsv.gz file. 0 or -errno with the reason in `e`; program_free() also then. */
int program_load(struct program *p, const char *path, struct err *e);

#endif
