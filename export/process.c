/* See process.h. */
#include "export/process.h"

void output_free(struct output *o)
{
	for (size_t i = 0; i < o->taken.n; i++)
		free(o->taken.at[i]);
	vec_free(&o->taken);
}

static bool take_name(struct output *o, const char *name)
{
	for (size_t i = 0; i < o->taken.n; i++)
		if (!strcmp(o->taken.at[i], name))
			return false;
	vec_push(&o->taken, mem_text(name));
	return true;
}

/*
 * Chooses the name of the process's folder: its rank, if that is a plain number and no other
 * process of the run has taken it, else the journal's name. A worker process has the rank of its
 * parent.
 */
static void choose_name(struct process *p)
{
	const char *rank = tables_fact(driver_run(p->driver)->tables, "rank");
	if (p->name[0])
		return;
	if (rank && *rank && strlen(rank) < 10 && strspn(rank, "0123456789") == strlen(rank) &&
	    take_name(p->output, rank))
		snprintf(p->name, sizeof(p->name), "%s", rank);
	else
		snprintf(p->name, sizeof(p->name), "%s", driver_stem(p->driver));
}

static void on_written(void *context, int format, const char *relative, bool is_empty)
{
	struct process *p = context;
	p->n_traces++;
	p->files[format].n++;
	p->files[format].n_empty += is_empty;
	trace_keep_add(&p->traces, &p->output->limits, p->output->folder, relative);
}

static void on_failed(void *context, const struct err *e)
{
	struct process *p = context;
	p->n_failed++;
	driver_note_trouble(p->driver, e);
}

static void start_files(struct process *p)
{
	p->step_files = (struct step_files){ .formats = p->output->formats,
					     .n_formats = p->output->n_formats,
					     .choice = p->output->steps,
					     .folder = p->output->folder,
					     .is_plain = p->output->is_plain,
					     .name = p->name,
					     .context = p,
					     .written = on_written,
					     .failed = on_failed };
}

/* Users may choose any recorded step by its number. Otherwise the schedule chooses. */
static bool has_trace(const struct process *p, const struct model_step *m)
{
	const struct step_choice *chosen = &p->output->steps;
	return p->output->n_formats &&
	       (chosen->is_set ? step_choice_has(chosen, m->number) : m->is_traced);
}

static void on_step(void *context, struct model_step *m)
{
	struct process *p = context;
	completeness_add(&p->completeness, m->number, &m->launches, &m->graphs);
	if (!p->analysis)
		return;
	const struct analyzed_step *step = analysis_step(p->analysis, m);
	if (p->output->take_step)
		p->output->take_step(p->output->take_context, step);
	choose_name(p);
	if (has_trace(p, m) &&
	    trace_keep_wants(&p->traces, &p->output->limits, (unsigned)p->output->n_formats,
			     driver_was_asked_for(p->driver, m->number)))
		step_files_add(&p->step_files, step);
}

static void start_analysis(struct process *p)
{
	if (p->output->analyses || p->output->n_formats || p->output->take_step)
		p->analysis = analysis_new(driver_run(p->driver), p->output->analyses);
}

/* Steps are void: so are their traces, and what was counted of them. */
static void on_restart(void *context)
{
	struct process *p = context;
	if (p->output->take_restart)
		p->output->take_restart(p->output->take_context);
	step_files_abandon(&p->step_files);
	trace_keep_forget(&p->traces, p->output->folder);
	p->n_traces = p->n_failed = 0;
	memset(p->files, 0, sizeof(p->files));
	completeness_free(&p->completeness);
	p->completeness = (struct completeness){ 0 };
	analysis_free(p->analysis);
	start_analysis(p);
}

int process_open(struct process *p, struct output *output, const char *path, bool live,
		 struct err *e)
{
	const struct driver_sink sink = {
		.context = p,
		.step = on_step,
		.restart = on_restart,
		.wants_steps = output->n_formats || output->analyses || output->take_step,
		.no_trace = !output->n_formats && !output->take_step,
		.step_loop = output->step_loop,
	};
	memset(p, 0, sizeof(*p));
	p->output = output;
	start_files(p);
	int error = driver_open(&p->driver, path, live, &sink, e);
	if (error)
		return error;
	start_analysis(p);
	return 0;
}

void process_close(struct process *p)
{
	step_files_abandon(&p->step_files);
	trace_keep_free(&p->traces);
	completeness_free(&p->completeness);
	analysis_free(p->analysis);
	driver_close(p->driver);
}

void process_forget_analysis(struct process *p)
{
	analysis_free(p->analysis);
	p->analysis = NULL;
	driver_forget_stacks(p->driver);
}

/* Reads the versions of loaded libraries when the first records have arrived, and once more when
 * CUPTI is loaded. Not more often, because reading takes a millisecond. */
static void look_for_versions(struct process *p)
{
	const struct driver *d = p->driver;
	unsigned n_wanted = (unsigned)driver_has_records(d) + driver_saw_cupti(d);
	if (p->n_versions_read >= n_wanted || !driver_is_alive(d))
		return;
	p->n_versions_read = n_wanted;
	versions_read(&p->versions, driver_pid_here(d));
}

bool process_poll(struct process *p)
{
	bool is_new = driver_poll(p->driver);
	look_for_versions(p);
	return is_new;
}

int process_export(struct process *p, struct output *output, const char *path, struct err *e)
{
	int error = process_open(p, output, path, false, e);
	if (error)
		return error;
	error = driver_reread(p->driver, e);
	if (error)
		process_close(p);
	else
		step_files_end(&p->step_files);
	return error;
}

void process_finish(struct process *p)
{
	driver_finish(p->driver);
	step_files_end(&p->step_files);
}
