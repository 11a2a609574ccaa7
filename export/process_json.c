/* Describes a process for run.json. */
#include "export/process.h"
#include "export/process_facts.h"

static void fill_files(struct process_facts *to, const struct process *p, struct arena *a)
{
	list_make(a, &to->files, (size_t)p->output->n_formats);
	for (int i = 0; i < p->output->n_formats; i++)
		to->files.at[i] = (struct facts_file){ p->output->formats[i]->name,
						       (int64_t)p->files[i].n,
						       (int64_t)p->files[i].n_empty };
}

void process_describe(const struct process *p, struct process_facts *to, struct arena *a)
{
	const struct cost_found cost = cost_find(&driver_run(p->driver)->cost);
	fields_clear(&process_facts_fields, to);
	driver_describe(p->driver, to, a);
	to->overhead = facts_overhead(&cost);
	process_describe_completeness(p, to, a);
	fill_files(to, p, a);
	to->n_traces = (int64_t)p->n_traces;
	to->n_traces_left_out = (int64_t)p->traces.n_left_out;
	to->n_traces_removed = (int64_t)p->traces.n_removed;
	to->n_traces_failed = (int64_t)p->n_failed;
}

json_t *process_to_json(const struct process *p)
{
	struct arena arena = { 0 };
	struct process_facts facts;
	process_describe(p, &facts, &arena);
	json_t *o = fields_write(&process_facts_fields, &facts);
	json_t *versions = versions_describe(&p->versions,
					     tables_fact(driver_run(p->driver)->tables, "python"));
	if (versions)
		json_object_set_new(o, "versions", versions);
	json_object_set_new(o, "traces", trace_keep_list(&p->traces));
	arena_free(&arena);
	return o;
}
