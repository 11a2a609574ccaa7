/* Finds the run that a command is about if the user names none. */
#ifndef EXPORT_LATEST_RUN_H
#define EXPORT_LATEST_RUN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes "." if the current folder is a run's folder, else the name of the run in the current
 * folder that began last. Returns whether there is one. Deeper folders are not searched.
 */
bool latest_run(char *to, size_t bytes);

#endif
