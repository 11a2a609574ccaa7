/* Between the files of core/whatif/whatif.h. */
#ifndef CORE_WHATIF_PARTS_H
#define CORE_WHATIF_PARTS_H

#include "core/whatif/whatif.h"

/* whatif_pinned.c: the op's copies come from pinned memory, and take the device as long as such ones do. */
void whatif_pin_source(struct whatif *w, uint32_t op);

/* whatif_place.c: which calls a change of a line is of. */
struct whatif_place {
	const struct whatif *w;
	const struct whatif_change *change;
	uint8_t *site; /* by site: it is the line */
	bool is_by_stack;
	struct map of_stack; /* is_by_stack: 1: here */
};

void whatif_place_open(struct whatif_place *p, const struct whatif *w,
		       const struct whatif_change *change);
void whatif_place_close(struct whatif_place *p);
bool whatif_is_here(struct whatif_place *p, const struct timeline_call *c);

/* whatif_steps.c: which of the recorded steps are usual ones, by the last play; how long these take by the last play, with nothing changed. */
void whatif_choose_usual(struct whatif *w);
void whatif_measure_usual(struct whatif *w);

#endif
