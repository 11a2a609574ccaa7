/*
 * Drives one process's journal, while the process lives or afterwards: learns its steps and hands
 * the recorded ones to a sink as model steps. One thread per driver.
 *
 * Of the journal only this folder and those below it know the layout. What they know of a process
 * is in struct run, struct process_facts (facts.h) and the functions here.
 */
#ifndef CORE_DRIVER_H
#define CORE_DRIVER_H

#include "core/model/model.h"
#include "core/model/run.h"
#include "core/runtime/err.h"
#include "core/runtime/kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct driver;

enum process_state { PROCESS_RUNS, PROCESS_ENDED, PROCESS_KILLED };

/* Receives the recorded steps. */
struct driver_sink {
	void *context;
	/* Takes the next step. It is freed after the return. */
	void (*step)(void *context, struct model_step *m);
	/*
	 * All steps so far are void: the journal is reread from its start. driver_run() returns
	 * another run now; the last one is valid until the return.
	 */
	void (*restart)(void *context);
	bool wants_steps; /* recorded steps are used; without any, the whole run as one step */
	bool no_trace;	  /* the counter of launches in flight is not needed */
};

/*
 * Opens a journal. `live`: its process may still write. Returns 0, or -errno with one line in `e`.
 */
int driver_open(struct driver **to, const char *path, bool live, const struct driver_sink *sink,
		struct err *e);
void driver_close(struct driver *d);

/* Live: reads what is new. Returns whether there was anything. */
bool driver_poll(struct driver *d);

/* Call when the process has ended: hands over the remaining steps. */
void driver_finish(struct driver *d);

/* Reads all of it, from the journal alone. Returns 0, or -errno with one line in `e`. */
int driver_reread(struct driver *d, struct err *e);

/* ---- State ---- */

/* Live: whether records are wanted quickly, because steps are being learned. */
bool driver_is_learning(const struct driver *d);

/* Returns whether the process can still write. */
bool driver_is_alive(const struct driver *d);

/* Returns whether the process ended in good order, by its journal. */
bool driver_has_ended(const struct driver *d);

/* Returns whether everything has been read and handed over. */
bool driver_is_finished(const struct driver *d);
enum process_state driver_state(const struct driver *d);

/* Returns whether the process had steps, slices included. */
bool driver_has_steps(const struct driver *d);

/* Returns whether its steps are time slices, because no step was found. */
bool driver_has_slices(const struct driver *d);

/* ---- What is known of the process ---- */

/* Returns the process's run. Valid until the sink's `restart` or driver_close(). */
const struct run *driver_run(const struct driver *d);

/*
 * Frees what is known of stacks, 100 MB and more with a framework's symbols. Nothing may ask for it
 * afterwards.
 */
void driver_forget_stacks(struct driver *d);

/* The journal's path, and its name without suffix: the pid, or pid-2 after an exec. */
const char *driver_path(const struct driver *d);
const char *driver_stem(const struct driver *d);

/* Returns the pid in our pid namespace, 0 if it has none there. */
uint32_t driver_pid_here(const struct driver *d);

/* Returns when the process began to use CUDA, by CLOCK_REALTIME. */
uint64_t driver_began_ns(const struct driver *d);

/* Returns the word that PROF_STEP begins with: "auto", "optimizer", "kernel", ... */
const char *driver_detector(const struct driver *d);

bool driver_has_records(const struct driver *d);
bool driver_saw_cupti(const struct driver *d);

/* Returns how many step boundaries were passed. */
uint64_t driver_boundaries(const struct driver *d);

/* Remembers the first thing that prevented a trace. "": none so far. */
void driver_note_trouble(struct driver *d, const struct err *e);
const char *driver_trouble(const struct driver *d);

/* Returns what the user should know about the steps, "" for nothing. */
const char *driver_diagnostic(const struct driver *d);

/*
 * Writes what is wrong with the journal as a file, in one line without its name; "" for nothing.
 * Call after it was read to its end. Returns `to`.
 */
char *driver_damage(const struct driver *d, char *to, size_t bytes);
enum { DRIVER_DAMAGE_BYTES = 300 };

/* What `profrun info` shows besides the facts. */
struct driver_details {
	bool is_learned; /* steps were detected by learning, so a confidence is known */
	uint64_t calls_by_category[CAT_COUNT + 1]; /* CAT_COUNT: unknown functions */
	uint64_t n_works;
	size_t n_stacks, n_modules, n_codes;
	bool is_truncated;  /* the file is shorter than it should be */
	bool has_tsc;	    /* its clock is the time-stamp counter */
	bool guesses_clock; /* the clock's rate could not be determined */
};

void driver_details(const struct driver *d, struct driver_details *to);

#endif
