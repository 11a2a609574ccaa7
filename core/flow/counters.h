/* What a loop of machine code counts by. Internal to core/flow. */
#ifndef CORE_FLOW_COUNTERS_H
#define CORE_FLOW_COUNTERS_H

#include "core/flow/notes.h"

/*
 * The greatest divisor of what an iteration adds to each of the loop's counters, and to each that
 * its end tests. 0: there is none. A counter is a register or a place on the stack to which the
 * loop only adds constants.
 */
struct counting {
	uint64_t all, tested;
};

/* `notes`: of the loop's instructions. */
struct counting counting_of(const struct notes *notes);

#endif
