/*
 * What is known about running processes: the facts in run.json, which the collector saves every
 * second, the report in report.json, which it saves less often, and the journal's header. `info`
 * and `report` print the same figures of a running job.
 */
#ifndef EXPORT_LIVE_H
#define EXPORT_LIVE_H

#include "export/collected.h"
#include "export/jobs.h"

#include <sys/stat.h>

/* One folder. */
struct live_run {
	char *folder;
	json_t *runfile;
	struct report report;
	struct arena arena;		       /* owns `facts` */
	VEC(struct process_facts *) facts;     /* of the processes in run.json */
	struct timespec run_time, report_time; /* of the two files, when they were read */
};

/* All zeros is empty. */
struct live {
	VEC(struct live_run) runs; /* of running processes, in the order of `jobs` */
};

/* Reads the files of all jobs' folders that have changed. Forgets folders without a job. */
void live_read(struct live *live, const struct jobs *jobs);
void live_free(struct live *live);

/* Values that are not known are "", -1, NAN or NULL. */
struct live_process {
	const struct job *job;
	const struct live_run *run;
	uint32_t pid;
	const char *rank, *command;
	int64_t steps;			     /* number of steps so far */
	double step_ms;			     /* median */
	const struct process_facts *facts;   /* in run.json; NULL: not there yet */
	const struct report_process *report; /* in report.json; NULL: not there yet */
	bool has_collector;
};

/* Valid until the next live_read() or change of the job. */
struct live_process live_process(const struct live *live, const struct job *job);

/* Says on stderr that no job of this user runs. Returns EXIT_DATA. */
int live_say_none(void);

#endif
