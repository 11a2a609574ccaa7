/*
 * Examines lengths and ends of a loop's iterations. Iteration k covers the events from at[k] to
 * at[k + 1] - 1; `at` has `n` entries. The functions have no state, and only
 * core/steps/levels_iterations.c uses them.
 */
#ifndef CORE_LEVELS_SHAPE_H
#define CORE_LEVELS_SHAPE_H

#include "core/steps/levels_find.h"

/*
 * Returns whether most iterations have as many optimizer phases as the median iteration or, if that
 * one has none, about the same length. A loop that exists only because launches were lost or
 * exchanged is irregular.
 */
bool iterations_are_steady(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/* Returns whether all iterations except for at most two have the same length. */
bool iterations_are_regular(const uint32_t *at, uint32_t n);

/*
 * Returns whether nearly all iterations are about as long as the median one, which has `usual`
 * events. A loop formed by chance does not have such iterations.
 */
bool iterations_are_even(const uint32_t *at, uint32_t n, uint32_t usual);

/*
 * Returns whether the host waits for the device exactly once in nearly every iteration, in a loop
 * that copies nothing. Such a loop has no other end, so each wait ends an iteration, whatever the
 * iteration contains. Returns false if all iterations have the same length, as layers have.
 */
bool iterations_are_waited(const struct levels_stored *events, const uint32_t *at, uint32_t n);

/*
 * Returns whether the level is a burst, that is, a few short iterations in a row now and then.
 * `length`: number of events from the first iteration to the last.
 */
bool iterations_are_burst(const struct levels_level *level, uint32_t length);

/*
 * Returns whether nearly all iterations have similar lengths; `usual` is the median. The iterations
 * of a loop over training steps and an evaluation's batches do not: a step contains the forward
 * pass of a batch, and much more.
 */
bool iterations_are_like(const uint32_t *at, uint32_t n, uint32_t usual);

#endif
