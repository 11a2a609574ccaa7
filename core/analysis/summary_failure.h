#ifndef CORE_SUMMARY_FAILURE_H
#define CORE_SUMMARY_FAILURE_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

/* The result code of both cudaErrorMemoryAllocation and CUDA_ERROR_OUT_OF_MEMORY. */
enum { FAILURE_OUT_OF_MEMORY = 2 };

/* Fills f->failure and f->last_call. If memory ran out, replaces f->at_peak by what was held
 * then. */
void summary_fill_failure(struct findings *f, const struct run *run);

#endif
