/* See report_json.h. */
#include "export/report_json.h"

json_t *report_to_json(const struct report *r)
{
	json_t *root = json_object(), *processes = json_array();
	for (size_t i = 0; i < r->processes.n; i++)
		json_array_append_new(processes,
				      fields_write(&report_process_fields, r->processes.at[i]));
	json_object_set_new(root, "schema", json_integer(REPORT_SCHEMA));
	json_object_set_new(root, "run", fields_write(&report_run_fields, &r->run));
	json_object_set_new(root, "processes", processes);
	if (r->ranks)
		json_object_set_new(root, "ranks", fields_write(&report_ranks_fields, r->ranks));
	return root;
}

bool report_from_json(struct report *r, const json_t *root)
{
	const json_t *processes = json_object_get(root, "processes"),
		     *ranks = json_object_get(root, "ranks");
	report_start(r);
	if (json_integer_value(json_object_get(root, "schema")) != REPORT_SCHEMA)
		return false;
	fields_read(&report_run_fields, &r->run, json_object_get(root, "run"), &r->arena);
	for (size_t i = 0; i < json_array_size(processes); i++) {
		struct report_process *p = report_process_new();
		fields_read(&report_process_fields, p, json_array_get(processes, i), &p->arena);
		report_add(r, p);
	}
	if (json_is_object(ranks)) {
		r->ranks = arena_zero(&r->arena, sizeof(*r->ranks));
		fields_read(&report_ranks_fields, r->ranks, ranks, &r->arena);
	}
	return true;
}
