/*
 * A made program: its launches and copies ordered by time, what a profiler could know about each of
 * them, and the true ends of its steps. It is independent of step learning; test/steps/trial.c
 * decides what the engine sees of it.
 *
 * A program is written by calls that launch on the current thread, in the current phase, from the
 * current line of the user's loop; program_at() changes all three. Without memory the test ends.
 */
#ifndef TEST_STEPS_PROGRAM_H
#define TEST_STEPS_PROGRAM_H

#include <stdbool.h>
#include <stdint.h>

enum program_phase {
	PHASE_OTHER,
	PHASE_DATA,
	PHASE_FORWARD,
	PHASE_BACKWARD,
	PHASE_OPTIMIZER,
};

enum program_what { WHAT_LAUNCH, WHAT_H2D, WHAT_D2H, WHAT_D2D, WHAT_GRAPH };

enum { THREAD_MAIN, THREAD_BACKWARD, THREAD_LOADER, THREAD_WORKER };

struct program_event {
	uint64_t token;	 /* from core/runtime/token.h */
	uint64_t kernel; /* a launch's function */
	uint64_t begin_ns, end_ns, blocked_ns;
	uint32_t thread, line;
	uint8_t what, phase;
	bool waited;	/* its thread has waited for the device since its last event */
	bool named;	/* an optimizer's kernel, recognizable by its name */
	uint8_t around; /* enum program_around */
};

/* What frames say about an optimizer's step around a launch. */
enum program_around {
	AROUND_UNTOLD,
	AROUND_NONE,  /* no optimizer's step */
	AROUND_AGAIN, /* it evaluates its closure again */
};

/*
 * What ends after an event. Steps have one truth; if two answers are right (a GAN's iteration, or
 * each of its optimizers' steps) there is a second one.
 */
enum program_end {
	END_STEP = 1,
	END_OTHER = 2, /* a step by the second truth */
	END_FREE = 4,  /* setup, or a section in which nothing is judged */
};

struct program_mark {
	uint32_t at; /* events before it */
	uint32_t ends;
};

struct program {
	struct program_event *events;
	struct program_mark *marks;
	uint32_t n, allocated, n_marks, marks_allocated;
	uint64_t now_ns, random;
	uint32_t thread, line;
	uint8_t phase, around;
	bool telling_names;	/* the names of optimizers' kernels say so */
	uint64_t waited_ns[16]; /* by thread, since its last event */
	bool has_waited[16];
	uint32_t busy_ns;    /* duration of a launch */
	uint32_t between_ns; /* maximum time until the next launch */
};

void program_start(struct program *p, uint64_t seed);
void program_free(struct program *p);

uint32_t program_below(struct program *p, uint32_t n); /* 0 .. n-1 */
static inline uint32_t program_between(struct program *p, uint32_t least, uint32_t most)
{
	return least + program_below(p, most - least + 1);
}
bool program_chance(struct program *p, uint32_t percent);

/* Continues on `thread`, at line `line`; the host takes up to 60 us to get there. */
void program_at(struct program *p, enum program_phase phase, uint32_t thread, uint32_t line);
void program_pause(struct program *p, uint32_t us); /* give or take a third */
void program_wait(struct program *p, uint32_t us);  /* for the device */

void program_launch(struct program *p, uint32_t kernel, uint32_t grid);
void program_copy(struct program *p, enum program_what kind);
void program_graph(struct program *p, uint32_t graph);
void program_read_back(struct program *p); /* a copy to the host, and a wait for it */

/* Adds a copy of another program's event, with its time and waits. */
void program_add(struct program *p, const struct program_event *event);
void program_end(struct program *p, uint32_t ends);

#endif
