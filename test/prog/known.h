/* Waiting for profrun to detect the steps, for tests that need them before the run is over. */
#ifndef TEST_PROG_KNOWN_H
#define TEST_PROG_KNOWN_H

#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/runtime/record.h"

/* This process's own journal as libprofrun.so has mapped it; NULL without one. */
static inline struct journal_header *known_journal(void)
{
	char line[4096];
	unsigned long begin, offset;
	struct journal_header *found = NULL;
	FILE *maps = fopen("/proc/self/maps", "r");
	while (maps && !found && fgets(line, sizeof(line), maps))
		if (strstr(line, ".journal") &&
		    sscanf(line, "%lx-%*x %*s %lx", &begin, &offset) == 2 && !offset)
			found = (struct journal_header *)begin;
	if (maps)
		fclose(maps);
	return found;
}

enum {
	KNOWN_SURE_AFTER =
		150,	  /* steps: enough for the collector to be sure, once it has read them */
	SURE_PACES = 200, /* how much longer than for other steps to wait for that */
};

static inline bool known_is_all(const struct journal_header *journal, int n_steps)
{
	if (!journal || journal->steps.mode != STEP_MODE_AUTO)
		return true;
	return !step_state_is_learning(journal->steps.state) &&
	       journal->steps.start_is_named == journal->steps.waits_for_start &&
	       (n_steps < KNOWN_SURE_AFTER ||
		journal->steps.sure_generation == journal->steps.anchor_generation);
}

/*
 * Waits until profrun has detected the steps and, if several ranks start recording together, has
 * chosen when. It waits at most PACE_MS milliseconds (an environment variable), by default not at
 * all; at step KNOWN_SURE_AFTER, SURE_PACES times as long. Called once per step, it gives the
 * collector time on a busy machine.
 */
static inline void known_pace(void)
{
	static int pace_ms = -1, n_steps;
	static struct journal_header *journal;
	if (pace_ms < 0)
		pace_ms = atoi(getenv("PACE_MS") ?: "0");
	if (!pace_ms)
		return;
	if (!journal)
		journal = known_journal();
	n_steps++;
	int most_ms = n_steps == KNOWN_SURE_AFTER ? SURE_PACES * pace_ms : pace_ms;
	for (int ms = 0; ms < most_ms && !known_is_all(journal, n_steps); ms++)
		usleep(1000);
}

static inline bool known_helper_runs(void)
{
	char path[300], name[32];
	bool found = false;
	struct dirent *entry;
	DIR *tasks = opendir("/proc/self/task");
	while (tasks && !found && (entry = readdir(tasks))) {
		snprintf(path, sizeof(path), "/proc/self/task/%s/comm", entry->d_name);
		FILE *comm = fopen(path, "r");
		found = comm && fgets(name, sizeof(name), comm) && !strcmp(name, "profrun\n");
		if (comm)
			fclose(comm);
	}
	if (tasks)
		closedir(tasks);
	return found;
}

/*
 * Called at the end of the loop: waits until profrun's helper thread has collected the GPU times of
 * the last recorded step. When a process ends, profrun itself waits 100 ms at most. Does nothing
 * without PACE_MS; waits 100 such times at most.
 */
static inline void known_end(void)
{
	int pace_ms = atoi(getenv("PACE_MS") ?: "0");
	for (int ms = 0; ms < 100 * pace_ms && known_helper_runs(); ms++)
		usleep(1000);
}

#endif
