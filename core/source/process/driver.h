/*
 * Reads one process's journal, while the process runs or after it has ended. Detects the steps and
 * passes the recorded ones to a sink, as model steps. One thread per driver.
 *
 * Of the tools, only core/source/ and core/steps/ know the layout of a journal. All other code gets
 * what is recorded about a process from struct run, from struct process_facts (facts.h) and from
 * the functions here.
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

/* Receives the recorded steps of one driver. */
struct driver_sink {
	void *context;
	/* Takes the next step. The driver frees `m` after the return. */
	void (*step)(void *context, struct model_step *m);
	/*
	 * Drops all steps taken so far: they are void, because the journal is reread from its
	 * start. From now on driver_run() returns a new run. The old run stays valid until this
	 * function returns.
	 */
	void (*restart)(void *context);
	/* the caller uses recorded steps; if there are none, pass on the whole run as one step */
	bool wants_steps;
	bool no_trace; /* do not compute the counter of launches in flight */
	/*
	 * FILE-SUFFIX:LINE of the loop whose iterations are the steps, in place of what was
	 * detected during the run; NULL: no other steps. Offline only. Valid until driver_close().
	 */
	const char *step_loop;
};

/*
 * Opens a journal. `live`: its process may still write. Returns 0, or -errno with one line in `e`.
 * Copies `sink`. Free `*to` with driver_close().
 */
int driver_open(struct driver **to, const char *path, bool live, const struct driver_sink *sink,
		struct err *e);
void driver_close(struct driver *d);

/*
 * Reads new records of a live process. Returns whether there were any. If there are many, reads
 * only some of them, and driver_has_more() returns true.
 */
bool driver_poll(struct driver *d);
bool driver_has_more(const struct driver *d);

/* Returns whether a quarter of a live process's journal is unread, so that it may soon be full. */
bool driver_is_late(const struct driver *d);

/* Call when a live process has ended. Passes the remaining steps to the sink. */
void driver_finish(struct driver *d);

/* Reads a whole journal that was not opened live. Returns 0, or -errno with one line in `e`. */
int driver_reread(struct driver *d, struct err *e);

/*
 * Sets the question whether this program should end now, which is asked often while a journal is
 * read. Once it returns true, drivers pass on no further steps; what they have passed on stays.
 */
void driver_ask_to_stop(bool (*must_stop)(void));
bool driver_must_stop(void);

/* ---- State ---- */

/*
 * Returns whether a live process is learning its steps. Then the driver should be polled more
 * often.
 */
bool driver_is_learning(const struct driver *d);

/*
 * Returns whether the process can still write to this journal: it is alive and has not called exec.
 */
bool driver_is_alive(const struct driver *d);

/* Returns whether the journal notes the orderly exit of its process. */
bool driver_has_ended(const struct driver *d);

/* Returns whether everything has been read and passed to the sink. */
bool driver_is_finished(const struct driver *d);
enum process_state driver_state(const struct driver *d);

/* Returns whether the process had steps. Time slices count as steps. */
bool driver_has_steps(const struct driver *d);

/* Returns whether the steps are time slices, because no other step was detected. */
bool driver_has_slices(const struct driver *d);

/* ---- What is recorded about the process ---- */

/* Returns the process's run. Valid until the sink's `restart` or driver_close(). */
const struct run *driver_run(const struct driver *d);

/*
 * Frees what was resolved of stacks: 100 MB and more if a framework's symbols were read. Stacks
 * must not be looked up afterwards.
 */
void driver_forget_stacks(struct driver *d);

/*
 * Return the journal's path, and its file name without suffix: the pid, or pid-2, pid-3, ... after
 * an exec.
 */
const char *driver_path(const struct driver *d);
const char *driver_stem(const struct driver *d);

/* Returns the process's pid in the pid namespace of this tool, 0 if it has none there. */
uint32_t driver_pid_here(const struct driver *d);

/* Returns when the process began to use CUDA, in ns of CLOCK_REALTIME. */
uint64_t driver_began_ns(const struct driver *d);

/*
 * Returns how the steps were detected, as the word that PROF_STEP begins with: "auto", "optimizer",
 * "kernel", ...
 */
const char *driver_detector(const struct driver *d);

bool driver_has_records(const struct driver *d);
bool driver_saw_cupti(const struct driver *d);

/* Returns the action of the step that the process is in; SCHED_NONE outside all steps. */
enum sched_action driver_action(const struct driver *d);

/*
 * Returns the number of the first step that the schedule records; -1: the schedule is not known or
 * records none.
 */
int64_t driver_first_scheduled(const struct driver *d);

/* Returns whether a trigger or the flight recorder asked for the step. */
bool driver_was_asked_for(const struct driver *d, uint64_t number);

/* Returns the number of step boundaries read so far. */
uint64_t driver_boundaries(const struct driver *d);

/*
 * Stores the error that prevented a trace, unless one is stored already. driver_trouble() returns
 * its text, "" if there is none.
 */
void driver_note_trouble(struct driver *d, const struct err *e);
const char *driver_trouble(const struct driver *d);

/*
 * Returns one line that explains to the user why steps are missing or are time slices; "" if there
 * is nothing to explain.
 */
const char *driver_diagnostic(const struct driver *d);

/*
 * Writes one line about how the journal's file is damaged, without the file's name; "" if it is
 * intact. Call after the journal was read to its end. While the process runs, only truncation
 * counts as damage. Returns `to`.
 */
char *driver_damage(const struct driver *d, char *to, size_t bytes);
enum { DRIVER_DAMAGE_BYTES = 300 };

/* Details of a journal that `profrun info` shows in addition to struct process_facts. */
struct driver_details {
	bool is_learned; /* the steps were detected by learning, so a confidence is known */
	uint64_t calls_by_category[CAT_COUNT + 1]; /* [CAT_COUNT]: calls of unknown functions */
	uint64_t n_works;
	size_t n_stacks, n_modules, n_codes;
	bool is_truncated;  /* the file is shorter than its header says */
	bool has_tsc;	    /* the journal's clock is the time-stamp counter */
	bool guesses_clock; /* the clock's rate is an estimate */
};

void driver_details(const struct driver *d, struct driver_details *to);

#endif
