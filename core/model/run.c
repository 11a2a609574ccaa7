/* See run.h. */
#include "core/model/run.h"

void run_free(struct run *r)
{
	baseline_free(&r->baseline);
	memory_free(&r->memory);
	allocator_free(&r->allocator);
	vec_free(&r->once);
}
