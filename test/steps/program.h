/*
 * A made program: its launches and copies in the order of time, what a profiler could know about each of them, and where its
 * steps truly end. Knows nothing of step learning; test/steps/evidence.c says what of it the engine gets to see.
 *
 * A program is written by calls that launch on the current thread, in the current phase, from the current line of the user's
 * loop; program_at() changes all three. Memory that is short ends the test.
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
	uint64_t token;	 /* as core/runtime/token.h makes it */
	uint64_t kernel; /* of a launch: its function */
	uint64_t begin_ns, end_ns, blocked_ns;
	uint32_t thread, line;
	uint8_t what, phase;
	bool waited;	/* its thread has waited for the device since its last event */
	bool named;	/* an optimizer's kernel that its name gives away */
	uint8_t around; /* enum program_around */
};

/* What frames say of an optimizer's step that stands around a launch. */
enum program_around {
	AROUND_UNTOLD,
	AROUND_NONE,  /* there is none */
	AROUND_AGAIN, /* it evaluates its closure, and not for the first time */
};

/* What ends behind an event. A step has one truth; where two answers are right (a GAN's iteration, or each of its optimizers'
 * steps) there is a second one. */
enum program_end {
	END_STEP = 1,
	END_OTHER = 2, /* a step by the second truth */
	END_FREE = 4,  /* set-up, or a stretch in which nothing is judged */
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
	bool telling_names;	/* optimizers' kernels are named as such */
	uint64_t waited_ns[16]; /* by thread, since its last event */
	bool has_waited[16];
	uint32_t busy_ns,
		between_ns; /* a launch takes the first, and up to the second pass until the next one */
};

void program_start(struct program *p, uint64_t seed);
void program_free(struct program *p);

uint32_t program_below(struct program *p, uint32_t n); /* 0 .. n-1 */
static inline uint32_t program_between(struct program *p, uint32_t least, uint32_t most)
{
	return least + program_below(p, most - least + 1);
}
bool program_chance(struct program *p, uint32_t percent);

/* On `thread`, from line `line` on; the host takes up to 60 us to get there. */
void program_at(struct program *p, enum program_phase phase, uint32_t thread, uint32_t line);
void program_pause(struct program *p, uint32_t us); /* a third more or less */
void program_wait(struct program *p, uint32_t us);  /* for the device */

void program_launch(struct program *p, uint32_t kernel, uint32_t grid);
void program_copy(struct program *p, enum program_what kind);
void program_graph(struct program *p, uint32_t graph);
void program_read_back(struct program *p); /* a copy to the host that is waited for */

/* A copy of another program's event, with the time and waits that it has. */
void program_add(struct program *p, const struct program_event *event);
void program_end(struct program *p, uint32_t ends);

#endif
