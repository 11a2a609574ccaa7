/*
 * Recorded programs in the form of made ones (test/steps/data/README.md has the format). A
 * recording has no times: every launch takes 5 us and begins 10 us after the previous one. It has
 * no frames either: the phase is detected from kernels' names alone.
 */
#ifndef TEST_STEPS_RECORDED_H
#define TEST_STEPS_RECORDED_H

#include "core/runtime/err.h"
#include "test/steps/program.h"

/*
 * Reads a .tsv or .tsv.gz file. Returns 0, or -errno with the reason in `e`; call program_free() in
 * either case.
 */
int program_load(struct program *p, const char *path, struct err *e);

#endif
