/* Finds the running processes that are profiled. */
#ifndef EXPORT_JOBS_H
#define EXPORT_JOBS_H

#include "core/source/process/target.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

struct job {
	struct target *target;
	char *folder;  /* of the run */
	char *journal; /* path of its journal */
};

struct jobs {
	VEC(struct job) all;
	size_t n_over;	/* number of journals of ended processes */
	bool is_silent; /* prints no line about a journal that cannot be read */
	int status;	/* EXIT_DATA after such a line */
};

/*
 * Add the running processes that are not in `jobs` yet: those of a run's folder, the process `pid`
 * and all processes that it started, and all processes of this user. Return EXIT_DONE, or
 * EXIT_DATA; then a line was printed, unless `is_silent`.
 */
int jobs_add_folder(struct jobs *jobs, const char *folder);
int jobs_add_process(struct jobs *jobs, uint32_t pid);
void jobs_add_user(struct jobs *jobs);

/* Adds the processes of `what`: a folder or a process ID, as a user types it. Returns as above,
 * also if no process of it runs. */
int jobs_add(struct jobs *jobs, const char *what);

/* Removes the jobs whose processes have ended. */
void jobs_drop_ended(struct jobs *jobs);
void jobs_free(struct jobs *jobs);

#endif
