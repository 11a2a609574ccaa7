/* Device memory over the recorded time, for report.html. */
#ifndef EXPORT_VIEWS_MEMORY_H
#define EXPORT_VIEWS_MEMORY_H

#include "core/model/model.h"

#include <jansson.h>

struct views_memory_point {
	uint64_t ns;
	int64_t bytes;
};

struct views_memory_series {
	const char *name; /* static text */
	uint32_t device;  /* DEVICE_UNKNOWN: the whole process */
	VEC(struct views_memory_point) points;
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
