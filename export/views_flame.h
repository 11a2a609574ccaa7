/* Flame graphs of report.html: where the recorded steps spent their time, by stack. */
#ifndef EXPORT_VIEWS_FLAME_H
#define EXPORT_VIEWS_FLAME_H

#include "core/util/map.h"
#include "core/util/strtab.h"
#include "export/stack_times.h"

#include <jansson.h>

struct views_flame_sum {
	uint64_t value; /* ns or bytes */
	uint32_t stack;
	uint32_t more[STACK_TIME_MORE]; /* in `names`; 0: none */
	uint8_t kind;			/* enum stack_time_kind */
};

/* All zeros is an empty sum. */
struct views_flame {
	VEC(struct views_flame_sum) sums;
	struct map index_of; /* hash of a sum's kind, stack and `more` -> index in `sums` + 1 */
	struct strtab names;
	uint64_t n_steps;
};

void views_flame_add(struct views_flame *f, const struct analyzed_step *step);

/*
 * Returns a list of graphs. The caller owns the reference. Values are per step. `names`: texts of
 * the frames. `kinds`: a letter for each name: p, Python; l, Python of a library; n, native; g,
 * what ran or waited there. `tree`: depth, index in `names` and value of each node, in the order of
 * a walk that visits a node before its children, larger children first. Nodes too small to be seen
 * are left out.
 */
json_t *views_flame_json(const struct views_flame *f, struct frames *frames);
void views_flame_free(struct views_flame *f);

#endif
