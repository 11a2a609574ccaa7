/* What the loop tree needs to know about a Python code object of the dictionary. */
#ifndef CORE_LOOP_CODE_H
#define CORE_LOOP_CODE_H

#include "core/flow/flow.h"
#include "core/source/journal/dict.h"

/* Returns bits of enum loop_frame_is without LOOP_FRAME_PYTHON; 0 for an unknown id. */
uint8_t loop_code_is(const struct dict *d, uint32_t id);

/* Returns the control flow of the code object, NULL if it is unknown. The caller frees it. */
struct flow *loop_code_flow(const struct dict *d, uint32_t id);

#endif
