/* See collected.h. */
#include "export/collected.h"

#include "core/source/process/journals.h"
#include "core/util/procfs.h"
#include "export/report_file.h"
#include "export/runfile.h"

void collected_load(struct collected *c, const char *folder)
{
	c->runfile = runfile_load(folder);
	report_load(&c->report, folder);
}

void collected_free(struct collected *c)
{
	json_decref(c->runfile);
	report_free(&c->report);
}

static bool is_collected_now(const char *path)
{
	uint32_t collector = journals_collector(path);
	return collector && procfs_start(collector);
}

static bool is_recycled(const json_t *process)
{
	return json_is_false(json_object_get(process, "journal_is_whole"));
}

/* Takes the facts from run.json. The collector saves it every second, and the report less often. */
static void refresh(struct report_process *p, const json_t *process)
{
	fields_read(&process_facts_fields, &p->facts, process, &p->arena);
	p->self.losses = p->facts.losses;
	p->self.dropped = p->facts.losses.dropped + p->facts.losses.dropped_by_cupti;
	p->self.overhead = p->facts.overhead;
}

struct report_process *collected_find(const struct collected *c, const char *path,
				      const char *journal, enum collected_why *why)
{
	const json_t *process = runfile_process(c->runfile, journal);
	*why = is_collected_now(path) ? COLLECTED_LIVE
	       : is_recycled(process) ? COLLECTED_LOST
				      : COLLECTED_WHOLE;
	if (*why == COLLECTED_WHOLE)
		return NULL;
	struct report_process *p = report_find(&c->report, journal);
	if (p && process)
		refresh(p, process);
	return p;
}
