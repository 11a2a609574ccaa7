/*
 * Tables of fields (fields.h) for struct process_facts, which is one process's entry in run.json.
 */
#ifndef EXPORT_PROCESS_FACTS_H
#define EXPORT_PROCESS_FACTS_H

#include "core/model/cost.h"
#include "core/source/process/facts.h"
#include "export/fields.h"

/* Tables for run.json. report.json contains some of these fields under the same names. */
extern const struct fields process_facts_fields, facts_device_fields, facts_trigger_fields,
	facts_kept_fields, facts_loops_fields, facts_corrected_fields, facts_losses_fields,
	facts_completeness_fields;

struct facts_overhead facts_overhead(const struct cost_found *c);

#endif
