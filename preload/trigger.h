/*
 * What requests steps besides the schedule (PROF_TRIGGER): `profrun trigger`, which writes to the
 * journal's header, SIGUSR2, or a step that took much longer than the others. Checked when a step
 * begins: a few loads, no system call.
 */
#ifndef PRELOAD_TRIGGER_H
#define PRELOAD_TRIGGER_H

#include "core/runtime/record.h"
#include "core/runtime/trigger.h"
#include "preload/arm.h"

struct trigger_ask {
	enum trigger_cause cause;
	uint32_t request; /* number of the request, for TRIGGER_FILE and TRIGGER_SIGNAL */
	uint64_t n;	  /* steps, 0: as many as the schedule's active */
	uint64_t from;	  /* the first step allowed, 0: at once */
};

/* Installs the signal handler if it is wanted and the application has none. Called at startup. */
void trigger_start(const struct trigger_config *config, struct journal_trigger *shared);

/* Returns whether a request is waiting for an answer. */
bool trigger_is_asked(void);

/* Takes the next request; false if there is none. Answer it with trigger_give. */
bool trigger_take(struct trigger_ask *ask);
void trigger_give(const struct trigger_ask *ask, enum trigger_answer how,
		  const struct arm_window *window);

/* A step took `ticks`. `may_ask`: request steps if that was slow. */
void trigger_step_took(uint64_t ticks, bool may_ask);

/* Warns once if the application has replaced the signal handler. Makes a system call. */
void trigger_check_signal(void);

/* In a forked child. The handler stays installed and does nothing, so that a signal to the whole
 * process group does not kill the child. */
void trigger_forget(void);

#endif
