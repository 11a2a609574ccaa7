/* Device memory over the recorded time, for report.html. */
#ifndef EXPORT_VIEWS_MEMORY_H
#define EXPORT_VIEWS_MEMORY_H

#include "core/model/model.h"

#include <jansson.h>

/* About as many as a chart has pixels for. */
enum { VIEWS_MEMORY_SPANS = 600 };

/* What was held during one span of time. */
struct views_memory_span {
	int64_t low, high, last; /* bytes */
	bool is_known;
};

struct views_memory_series {
	const char *name; /* static text */
	uint32_t device;  /* DEVICE_UNKNOWN: the whole process */
	uint64_t span_ns; /* grows by factors of 2 with the run */
	size_t n_spans;	  /* up to the newest one */
	struct views_memory_span spans[VIEWS_MEMORY_SPANS];
};

struct views_memory_window {
	uint64_t begin_ns, end_ns;
};

/* All zeros is empty. */
struct views_memory {
	VEC(struct views_memory_series) series;
	VEC(struct views_memory_window) windows; /* recorded spans, in order */
};

void views_memory_add(struct views_memory *v, const struct model_step *m);
/* The caller owns the reference. */
json_t *views_memory_json(const struct views_memory *v);
void views_memory_free(struct views_memory *v);

#endif
