/* The parts of a trace file outside the list of events. */
#ifndef CORE_KINETO_HEAD_H
#define CORE_KINETO_HEAD_H

#include "core/source/kineto/scan.h"
#include "core/source/kineto/trace.h"

/* Reads the value of a key at the file's top level, whose name is in `s->text`. Keys that say
 * nothing about the run are skipped. */
void head_read(struct trace *t, struct scan *s);

#endif
