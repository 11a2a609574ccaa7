/* Which recording of an event a call waited for. Newer traces say it by the correlation of the call
 * that recorded the event. They have no handles of events, nor the streams of these calls. */
#ifndef CORE_KINETO_EVENT_WAITS_H
#define CORE_KINETO_EVENT_WAITS_H

#include "core/source/kineto/trace.h"

/* Sets `event` and `stream` of the calls that t->event_waits names. */
void event_waits_find(struct trace *t);

#endif
