/*
 * What asks for steps besides the schedule (PROF_TRIGGER): `profrun trigger` through a word in the journal's header, SIGUSR2, a
 * step that took much longer than the others. Looked at when a step begins: a few loads, no system call.
 */
#ifndef PRELOAD_TRIGGER_H
#define PRELOAD_TRIGGER_H

#include "core/runtime/record.h"
#include "core/runtime/trigger.h"
#include "preload/arm.h"

struct trigger_ask {
	enum trigger_cause cause;
	uint32_t request; /* of TRIGGER_FILE */
	uint64_t n;	  /* steps, 0: as the schedule has it */
	uint64_t from;	  /* not before this one, 0: at once */
};

/* Installs the signal's handler where it is wanted and the application has none. At arming. */
void trigger_start(const struct trigger_config *config, struct journal_trigger *shared);

/* Whether somebody is waiting for an answer. */
bool trigger_is_asked(void);

/* The next one who is; false: nobody. To be answered. */
bool trigger_take(struct trigger_ask *ask);
void trigger_give(const struct trigger_ask *ask, enum trigger_answer how,
		  const struct arm_window *window);

/* A step took `ticks`. `may_ask`: if that was slow, steps are asked for. */
void trigger_step_took(uint64_t ticks, bool may_ask);

/* Says once if the application has taken the signal over. A system call. */
void trigger_check_signal(void);

/* In a forked child; the handler stays and does nothing, so that a signal to the whole process group ends no child. */
void trigger_forget(void);

#endif
