/*
 * Finds the loop of the steps if it is in a library, such as a trainer, and not in the user's code.
 * The user's line that started it, such as Trainer.train(), is then around every call of every
 * step, so it says nothing about any of them.
 */
#ifndef CORE_STEP_LOOP_H
#define CORE_STEP_LOOP_H

#include "core/model/model.h"
#include "core/symbols/frames.h"

/*
 * Returns a frame of the library's function that contains the loop; NULL if the loop is in the
 * user's code, or if the step does not show where it is. The frame is owned by `frames`.
 */
const struct frame *step_loop_find(const struct model_step *m, struct frames *frames);

#endif
