/*
 * Requests that running processes record steps. Writes the request into their journals
 * (core/source/process/target.h), and puts their answers into words.
 */
#ifndef EXPORT_TRIGGER_ASK_H
#define EXPORT_TRIGGER_ASK_H

#include "export/jobs.h"
#include "export/ranks_meet.h"

#include <stdbool.h>

enum { TRIGGER_ANSWER_MS = 2000, TRIGGER_WORDS_BYTES = 4600 };

/* A process that is asked. */
struct asked {
	const struct job *job; /* not owned */
	bool is_asked;
	char why[600]; /* why it was not asked, or will write no traces; "": no reason */
};

struct asking {
	unsigned n_steps; /* 0: the number in the schedule */
	VEC(struct asked) all;
	VEC(struct rank_look) looks; /* one for each of `all`, in the same order */
};

void asking_add(struct asking *a, const struct job *job);
/* Sends the request to all processes that can be asked. Waits 50 ms if they are several ranks, to
 * choose a common first step. */
void asking_send(struct asking *a);
/* Returns whether a process has not answered yet. A process without a new step does not answer. */
bool asking_is_awaited(const struct asking *a);
/* Writes the answer of a process that was asked, "process 12: steps 5 to 7 are recorded, ..." in
 * TRIGGER_WORDS_BYTES. Returns `to`. */
char *asking_answer(char *to, const struct asked *t);
void asking_free(struct asking *a);

#endif
