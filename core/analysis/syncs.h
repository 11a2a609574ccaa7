/*
 * The waits of the host, one by one and per line. A value that is read comes as a copy and a synchronisation: that is one wait,
 * of two calls.
 */
#ifndef CORE_SYNCS_H
#define CORE_SYNCS_H

#include "core/analysis/findings.h"

struct wait {
	uint32_t first, last; /* calls; the same one, or a copy and the synchronisation behind it */
	uint8_t kind;	      /* enum sync_kind */
	bool is_copying;      /* the copy is the reason, not what stood before it */
};

struct waits {
	VEC(struct wait) at;
	uint32_t *of_call; /* number of the wait, WAITS_NONE */
};

#define WAITS_NONE UINT32_MAX

void waits_find(struct waits *w, const struct timeline *t);
void waits_free(struct waits *w);

/* The host waits for the call's sake on the call's own line: within the call, or in the synchronisation behind it. */
bool waits_holds_line(const struct waits *w, const struct timeline *t, uint32_t call);

/* The sync summary. `idle_ns`: per call, what the GPU stood idle for its sake. */
void syncs_fill(struct findings *f, const struct waits *w, const uint64_t *idle_ns);

#endif
