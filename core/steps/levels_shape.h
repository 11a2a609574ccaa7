/*
 * How long a loop's iterations are, and where they end: turn k goes from event at[k] to at[k + 1], `n` places in all. Pure functions, of
 * core/steps/levels_iterations.c alone.
 */
#ifndef CORE_LEVELS_SHAPE_H
#define CORE_LEVELS_SHAPE_H

#include "core/steps/levels_find.h"

/* Whether most iterations have as many optimizers' phases as the median one, or, where there are none, are about as long. What launches that are
 * lost or exchanged leave behind by chance comes at any time. */
bool iterations_are_steady(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/* Whether all iterations but some at either end are equally long. */
bool iterations_are_regular(const uint32_t *at, uint32_t n);

/* Whether nearly all iterations are nearly as long as the median one: what comes by chance does not come so. */
bool iterations_are_even(const uint32_t *at, uint32_t n, uint32_t usual);

/* Whether the host waits for the device once in nearly every iteration of a loop that copies nothing, and so nowhere else, and turns are not equally long
 * as those of layers are: where one iteration ends and the next begins, whatever these hold. */
bool iterations_are_waited(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/* A few short turns after one another, now and then. */
bool iterations_are_burst(const struct levels_level *level, uint32_t length);

/* Whether turns are nearly as long as each other: a step of training holds the forward pass of an evaluation's batch, and much more. */
bool iterations_are_like(const uint32_t *at, uint32_t n, uint32_t usual);

#endif
