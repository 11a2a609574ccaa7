/*
 * Requests for steps in addition to the schedule (PROF_TRIGGER). A request comes from `profrun
 * trigger` (which writes to the journal's header), from SIGUSR2, or from a step that took much
 * longer than the others. The library checks for requests when a step begins, at the cost of a few
 * loads and no system call.
 */
#ifndef PRELOAD_TRIGGER_H
#define PRELOAD_TRIGGER_H

#include "core/runtime/record.h"
#include "core/runtime/trigger.h"
#include "preload/arm.h"

struct trigger_ask {
	enum trigger_cause cause;
	/* number of the request, if the cause is TRIGGER_FILE or TRIGGER_SIGNAL */
	uint32_t request;
	uint64_t n;    /* number of steps; 0: as many as the schedule records at a time */
	uint64_t from; /* the first step that may be recorded; 0: the next one */
};

/* Installs the signal handler if the setting asks for it and the application has none. Called at
 * startup. */
void trigger_start(const struct trigger_config *config, struct journal_trigger *shared);

/* Returns whether a request has not been answered. */
bool trigger_is_asked(void);

/* trigger_take: fills in the next request; returns false if there is none. trigger_give: answers
 * the request that was taken. */
bool trigger_take(struct trigger_ask *ask);
void trigger_give(const struct trigger_ask *ask, enum trigger_answer how,
		  const struct arm_window *window);

/* Reports that a step took `ticks`. `may_ask`: a slow step requests steps. */
void trigger_step_took(uint64_t ticks, bool may_ask);

/* Warns once if the application has replaced the signal handler. Makes a system call. */
void trigger_check_signal(void);

/* In a forked child: forgets all requests. The handler stays installed and does nothing, so that a
 * SIGUSR2 to the whole process group does not kill the child. */
void trigger_forget(void);

#endif
