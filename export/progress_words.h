/* Writes in one line what a running process does, for the launcher's status line. */
#ifndef EXPORT_PROGRESS_WORDS_H
#define EXPORT_PROGRESS_WORDS_H

#include "export/report.h"

enum { PROGRESS_BYTES = 400 }; /* of an answer; a pipe takes as many at once */

/* The launcher's question to the collector, without the newline. */
#define PROGRESS_QUESTION "progress"

struct progress_state {
	const struct process_facts *facts;   /* NULL: no process has used CUDA yet */
	const struct report_process *report; /* the latest report; NULL: none was made yet */
	size_t n_processes;		     /* number of processes that use CUDA */
};

/* Writes what the process does now: "recording", "recorded 12-14", "detecting steps". Returns `to`.
 */
char *progress_action(char *to, size_t bytes, const struct facts_steps *steps);

/* Writes "recording; step 13; 12.40 ms; GPU utilization 43 %; 0 dropped". Omits what is not
 * known. Returns `to`. */
char *progress_words(char *to, size_t bytes, const struct progress_state *s);

/* Writes the collector's answer, with the newline, in less than PROGRESS_BYTES. Returns `to`. */
char *progress_answer_make(char *to, const struct progress_state *s);
/* Returns the words in an answer, "" if `line` is not an answer. */
const char *progress_answer(const char *line);

#endif
