/*
 * Lengths and ends of a loop's iterations. Iteration k covers the events from at[k] to at[k + 1];
 * `at` has `n` entries. Pure functions, used by core/steps/levels_iterations.c only.
 */
#ifndef CORE_LEVELS_SHAPE_H
#define CORE_LEVELS_SHAPE_H

#include "core/steps/levels_find.h"

/*
 * Whether most iterations have as many optimizer phases as the median one; if there are none,
 * whether most are about as long. Launches that are lost or exchanged can form a loop by chance,
 * which is irregular.
 */
bool iterations_are_steady(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/* Whether all iterations but at most two are equally long. */
bool iterations_are_regular(const uint32_t *at, uint32_t n);

/*
 * Whether nearly all iterations are about as long as the median one. A loop formed by chance is
 * not.
 */
bool iterations_are_even(const uint32_t *at, uint32_t n, uint32_t usual);

/*
 * Whether the host waits for the device once in nearly every iteration, in a loop that copies
 * nothing and so has no other end, and the iterations are not equally long as layers are. Then each
 * wait ends an iteration, whatever it contains.
 */
bool iterations_are_waited(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/* Whether the level is a burst: a few short iterations in a row, now and then. */
bool iterations_are_burst(const struct levels_level *level, uint32_t length);

/*
 * Whether iterations have similar lengths. Training steps contain the forward pass of an
 * evaluation's batch, and much more, so a loop over both does not.
 */
bool iterations_are_like(const uint32_t *at, uint32_t n, uint32_t usual);

#endif
