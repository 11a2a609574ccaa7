/* A process's part of run.json as tables of fields: struct process_facts. */
#ifndef EXPORT_PROCESS_FACTS_H
#define EXPORT_PROCESS_FACTS_H

#include "core/model/cost.h"
#include "core/source/process/facts.h"
#include "export/fields.h"

/* Tables of run.json; report.json has some of the fields under the same names. */
extern const struct fields process_facts_fields, facts_device_fields, facts_trigger_fields,
	facts_kept_fields, facts_corrected_fields, facts_losses_fields;

struct facts_overhead facts_overhead(const struct cost_found *c);

#endif
