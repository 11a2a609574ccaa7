#ifndef CORE_SUMMARY_GROWTH_H
#define CORE_SUMMARY_GROWTH_H

#include "core/analysis/findings.h"
#include "core/model/run.h"

/* Fills f->growth. */
void summary_fill_growth(struct findings *f, const struct run *run);

#endif
