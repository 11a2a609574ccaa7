/*
 * Collects the records of library calls, and adds those of a step to its model. Keeps calls until
 * their step is closed.
 */
#ifndef CORE_LIBRARY_LOG_H
#define CORE_LIBRARY_LOG_H

#include "core/model/model.h"
#include "core/source/journal/log_cut.h"

struct library_entry_of {
	uint32_t slot; /* slot of the thread that made the call */
	struct rec_library call;
};

struct library_log {
	VEC(struct library_entry_of) at;
	uint64_t n_dropped; /* calls dropped because MOST_HELD was reached */
};

void library_log_take(struct library_log *log, uint32_t slot, const struct rec_library *l);

/* Removes the calls that ended at or before `ticks`. */
void library_log_drop(struct library_log *log, uint64_t ticks);
void library_log_free(struct library_log *log);

/* Sets the fields of `to` that do not depend on when and where the call was made. Returns false if
 * its function is not in the dictionary. */
bool library_log_describe(const struct dict *d, const struct rec_library *l,
			  struct model_library *to);

/*
 * Adds the calls that ended in the step to m->libraries. They may have begun before the step,
 * because the launch that begins a step may be inside a library call.
 */
void library_log_build(const struct library_log *log, const struct log_cut *cut,
		       struct model_step *m);

#endif
