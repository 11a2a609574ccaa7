/*
 * What the collector has written about a run: run.json and report.json. It is more complete than a
 * journal that has lost older records, or that the collector is still reading: then it removes
 * chunks while others read. `report` and `info` decide by the same rule, so they agree.
 */
#ifndef EXPORT_COLLECTED_H
#define EXPORT_COLLECTED_H

#include "export/report.h"

#include <jansson.h>

struct collected {
	json_t *runfile;
	struct report report;
};

void collected_load(struct collected *c, const char *folder);
void collected_free(struct collected *c);

enum collected_why {
	COLLECTED_WHOLE, /* the journal has all records */
	COLLECTED_LIVE,	 /* the collector is still reading the journal */
	COLLECTED_LOST,	 /* the journal no longer has its older records */
};

/*
 * Returns the report to use in place of the journal at `path`, with the newest facts about the
 * process; NULL: the journal must be read. `journal`: its name in run.json. Stores the reason in
 * `why`. Adds no holder.
 */
struct report_process *collected_find(const struct collected *c, const char *path,
				      const char *journal, enum collected_why *why);

#endif
