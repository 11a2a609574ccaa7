/* The bottleneck in words, for the text report and report.html. */
#ifndef EXPORT_REPORT_BOUND_H
#define EXPORT_REPORT_BOUND_H

#include "export/report.h"

/* Enough for each of the texts below. */
enum { BOUND_BYTES = 2048 };

/*
 * The three parts of the headline "launch overhead (confidence 76 %): kernel launches arrive too
 * slowly". Each is "" if there is nothing to say; without a verdict, all are.
 */
struct bound_words {
	char limit[BOUND_BYTES], confidence[BOUND_BYTES], meaning[BOUND_BYTES];
};
void report_bound_words(struct bound_words *to, const struct report_process *p, const char *cwd);

/* Writes the whole headline. Returns `to`. */
char *report_bound_line(char *to, size_t bytes, const struct report_process *p, const char *cwd);

/* Returns whether the verdict is doubtful because of other load on the machine.
 * `report_bound_quiet` says what to do then. */
bool report_bound_needs_quiet(const struct report_process *p);
extern const char report_bound_quiet[];

#endif
