/* Collects what an exporter encodes. */
#ifndef TEST_UNIT_ENCODED_H
#define TEST_UNIT_ENCODED_H

#include "core/util/vec.h"
#include "export/exporter.h"

#include <stdint.h>

struct encoded {
	uint8_t *at;
	size_t n, room;
};

/* An exporter_sink (export/exporter.h). `context`: a struct encoded. */
static inline void encoded_append(void *context, const void *bytes, size_t n)
{
	struct encoded *to = context;
	vec_reserve(to, n);
	memcpy(to->at + to->n, bytes, n);
	to->n += n;
}

/* Encodes a file that contains one step. */
static inline void encoded_step(const struct exporter *x, const struct analyzed_step *step,
				exporter_sink *sink, void *context)
{
	void *file = x->begin(sink, context);
	x->add(file, step);
	x->end(file);
}

#endif
