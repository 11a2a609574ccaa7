/*
 * Launch sequences for step learning: one program's launches with its true steps. Read from
 * recorded ones (test/steps/data/README.md has the format) or appended by a test's generator. Times
 * are made up: recorded sequences have none, so every launch takes SEQUENCE_BUSY_NS and the next
 * comes SEQUENCE_APART_NS after it began.
 */
#ifndef TEST_STEPS_SEQUENCE_H
#define TEST_STEPS_SEQUENCE_H

#include "core/err.h"
#include "core/levels.h"

#define SEQUENCE_APART_NS 10000
#define SEQUENCE_BUSY_NS  5000

struct sequence_event {
	struct level_event event;
	uint32_t thread;
};

struct sequence {
	struct sequence_event *events;
	uint32_t n, allocated;
	uint32_t *ends; /* true steps: the number of events before each one's end */
	uint32_t n_ends, ends_allocated;
	uint64_t now_ns;
};

/* A .tsv or .tsv.gz file. `hints`: whether the optimizer's kernels are told. 0 or -errno with the
 * reason in `e`. */
int sequence_load(struct sequence *s, const char *path, bool hints, struct err *e);

/* Out of memory ends the program: these are tests. */
void sequence_add(struct sequence *s, uint32_t thread, uint64_t token, uint32_t hints);
void sequence_end_step(struct sequence *s);
void sequence_free(struct sequence *s);

/* What learning made of a sequence. */
struct sequence_result {
	bool locked;
	struct level_choice choice;
	uint32_t locked_at;   /* events that had been fed */
	double locked_steps;  /* true steps that had passed then, the set-up not counted */
	uint32_t n_steps;     /* true steps from there on */
	double one_per_step;  /* share of those that hold exactly one boundary */
	double one_per_pair;  /* the same for pairs of steps: right where an iteration marks two */
	double exact;	      /* share of those whose end is a boundary */
	int32_t typical_late; /* events from a true end to the boundary nearest to it, median */
	double seconds;	      /* spent in learning */
	uint32_t looks;	      /* boundaries in all */
};

/* Feeds the sequence in batches of `batch` events, votes after each, and concludes if asked. */
void sequence_run(const struct sequence *s, uint32_t batch, bool conclude,
		  struct sequence_result *r);

#endif
