/* DIR/run.json: what a run is about. `run` writes its first half, whoever makes traces the processes. */
#ifndef EXPORT_RUNFILE_H
#define EXPORT_RUNFILE_H

#include "core/runtime/err.h"

#include <jansson.h>

/* An empty object with this host where there is none yet, or none that can be read. New reference. */
json_t *runfile_load(const char *folder);

/* Whole or not at all. */
int runfile_save(const char *folder, json_t *root, struct err *e);

#endif
