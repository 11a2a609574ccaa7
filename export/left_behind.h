/* Processes of a run that go on when its command has ended: `python train.py &` in a script, a daemon. */
#ifndef EXPORT_LEFT_BEHIND_H
#define EXPORT_LEFT_BEHIND_H

#include <stddef.h>

/* How many processes were started with the environment of the run that goes to `folder`, as far as they can be looked at. */
size_t left_behind(const char *folder);

#endif
