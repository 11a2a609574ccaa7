/* See report.h. */
#include "export/report.h"

#include "export/report_json.h"

#include <string.h>

const char *const report_phase_names[REPORT_PHASES] = { "data", "forward", "backward", "optimizer",
							"other" };

/* ---- One process ---- */

struct report_process *report_process_new(void)
{
	struct report_process *p = mem_zero(sizeof(*p));
	fields_clear(&process_facts_fields, &p->facts);
	fields_clear(&report_process_fields, p);
	p->n_holders = 1;
	return p;
}

struct report_process *report_process_hold(struct report_process *p)
{
	p->n_holders++;
	return p;
}

void report_process_drop(struct report_process *p)
{
	if (!p || --p->n_holders)
		return;
	arena_free(&p->arena);
	json_decref(p->views);
	free(p);
}

/* ---- All of a run ---- */

void report_start(struct report *r)
{
	*r = (struct report){ 0 };
	fields_clear(&report_run_fields, &r->run);
}

void report_free(struct report *r)
{
	for (size_t i = 0; i < r->processes.n; i++)
		report_process_drop(r->processes.at[i]);
	vec_free(&r->processes);
	arena_free(&r->arena);
	r->ranks = NULL;
}

void report_add(struct report *r, struct report_process *p)
{
	vec_push(&r->processes, p);
}

void report_omit_silent(struct report *r)
{
	size_t n_silent = 0, n = 0;
	for (size_t i = 0; i < r->processes.n; i++)
		n_silent += r->processes.at[i]->is_silent;
	if (!n_silent || n_silent == r->processes.n)
		return;
	for (size_t i = 0; i < r->processes.n; i++) {
		if (r->processes.at[i]->is_silent)
			report_process_drop(r->processes.at[i]);
		else
			r->processes.at[n++] = r->processes.at[i];
	}
	r->processes.n = n;
	r->run.silent_processes = (int64_t)n_silent;
}

size_t report_running(const struct report *r)
{
	size_t n = 0;
	for (size_t i = 0; i < r->processes.n; i++)
		n += !strcmp(r->processes.at[i]->facts.state, "running");
	return n;
}

struct report_process *report_find(const struct report *r, const char *journal)
{
	for (size_t i = 0; i < r->processes.n; i++)
		if (!strcmp(r->processes.at[i]->facts.journal, journal))
			return r->processes.at[i];
	return NULL;
}
