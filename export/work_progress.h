/*
 * Shows on the terminal how far a command has come that takes more than two seconds: one line on
 * stderr, which is rewritten and at last erased. A thread writes it. Only if stderr is a terminal,
 * the command is in the foreground, and PROF_PROGRESS is not off.
 */
#ifndef EXPORT_WORK_PROGRESS_H
#define EXPORT_WORK_PROGRESS_H

#include <stddef.h>

/* Call around the work, before its result is printed. Calls may be nested; the outermost count. */
void work_progress_start(void);
void work_progress_end(void);

/* Names the file or folder that is worked on, number `i`, counted from 0, of `n`. */
void work_progress_about(const char *path, size_t i, size_t n);

/* Erases the line while something is printed. print.h does this. */
void work_progress_hold(void);
void work_progress_release(void);

#endif
