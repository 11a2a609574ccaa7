/*
 * Reads a trace of torch.profiler (Kineto) as a run of one process. It fills the same run model as
 * a journal does, so that all analyses work on it. One thread per trace.
 */
#ifndef CORE_KINETO_H
#define CORE_KINETO_H

#include "core/model/completeness.h"
#include "core/model/model.h"
#include "core/model/run.h"
#include "core/runtime/err.h"
#include "core/source/process/facts.h"

#include <stdbool.h>
#include <stddef.h>

struct kineto;

/* Loads a trace. Returns 0, or -errno with one line in `e`. Free `*to` with kineto_close(). */
int kineto_open(struct kineto **to, const char *path, struct err *e);
void kineto_close(struct kineto *k);

/* Returns whether the file looks like a trace. Reads a few bytes. */
bool kineto_is_one(const char *path);

/* Returns the trace's run. Valid until kineto_close(). */
const struct run *kineto_run(const struct kineto *k);

/*
 * Passes the steps to `take`, in order; if the trace marks none, the whole trace as one. A trace
 * without GPU work has no steps that can be analyzed, so none are passed: kineto_diagnostic() says
 * why. `take` must not free the step. Call it once: the trace's events are freed after it.
 */
void kineto_steps(struct kineto *k, void (*take)(void *context, const struct model_step *m),
		  void *context);

/* Returns when the trace begins, in ns of CLOCK_REALTIME; 0: it does not say. */
uint64_t kineto_began_ns(const struct kineto *k);

/* Returns one line on why there is nothing to analyze, "" if there is. */
const char *kineto_diagnostic(const struct kineto *k);

/* Returns one line on how the file is damaged, without its name; "" if it is not. */
const char *kineto_damage(const struct kineto *k);

/* Returns the `i`-th thing that the trace cannot tell, and in `*why` the reason; NULL after the
 * last. */
const char *kineto_unavailable(const struct kineto *k, size_t i, const char **why);

/*
 * Fills in what the trace says. Clear all members before, with fields_clear() of export/fields.h.
 * Texts and lists belong to `a`. Call it after kineto_steps().
 */
void kineto_describe(const struct kineto *k, struct process_facts *to, struct arena *a);

#endif
