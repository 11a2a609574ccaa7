/*
 * Loads recorded programs (test/steps/data/README.md describes the format) in the form of generated
 * ones. A recording has no times, so every launch takes 5 us and begins 10 us after the previous
 * one. It has no frames either, so optimizers are detected from kernels' names alone.
 */
#ifndef TEST_STEPS_RECORDED_H
#define TEST_STEPS_RECORDED_H

#include "core/runtime/err.h"
#include "test/steps/program.h"

/*
 * Reads a .tsv or .tsv.gz file into `p`. Returns 0, or -errno with the reason in `e`. Call
 * program_free() in either case.
 */
int program_load(struct program *p, const char *path, struct err *e);

#endif
