/*
 * The collectives of a trace as library calls of the run model. PyTorch gives the arguments of a
 * collective to the operator "record_param_comms" around NCCL's call.
 */
#ifndef CORE_KINETO_COMMS_H
#define CORE_KINETO_COMMS_H

#include "core/source/kineto/build.h"

/* Gives each collective the number of its communicator and its own number on it, which are equal on
 * all ranks. Calls and cuts must be known. */
void comms_number(struct cutting *c);

/* Adds the collectives that began in the step, and sorts the library calls. `thread_of` maps a
 * thread of the trace to one of the step. */
void comms_build(const struct cutting *c, struct model_step *m,
		 uint32_t (*thread_of)(void *context, uint32_t thread), void *context);

#endif
