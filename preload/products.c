#include "preload/products.h"

#include "core/runtime/token.h"
#include "preload/libs.h"

enum { SHAPE_BITS = 16, KNOWN = 1024 };

/* Shapes that are in the journal, by hash: the upper 48 bits of the hash, and the shape's number.
 * If two shapes have the same place, the older one is described again when it is next used. */
static _Atomic uint64_t known[KNOWN];
static _Atomic uint32_t n_shapes, n_products;

static uint64_t mix(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 29;
}

static uint64_t hash_of(const struct rec_library *c)
{
	uint64_t hash = mix(c->function, (uint64_t)c->type << 8 | c->compute);
	hash = mix(mix(hash, c->gemm.m), c->gemm.n);
	return mix(mix(hash, c->gemm.k), c->gemm.batch);
}

/* Threads that meet here may describe the same shape twice. */
static uint32_t shape_of(const struct rec_library *call)
{
	uint64_t hash = hash_of(call);
	_Atomic uint64_t *at = &known[hash >> SHAPE_BITS & (KNOWN - 1)];
	uint64_t there = atomic_load_explicit(at, memory_order_relaxed);
	if (there && there >> SHAPE_BITS == hash >> SHAPE_BITS)
		return there & REC_SHAPES_MOST;
	if (atomic_load(&n_shapes) >= REC_SHAPES_MOST - 64) /* so that no thread exceeds it */
		return 0;
	struct rec_library shape = *call;
	shape.gemm.shape = atomic_fetch_add(&n_shapes, 1) + 1;
	shape.begin_ticks = shape.end_ticks = hook_ticks();
	libs_write(&shape);
	atomic_store(at, hash >> SHAPE_BITS << SHAPE_BITS | shape.gemm.shape);
	return shape.gemm.shape;
}

uint32_t products_number(const struct rec_library *call)
{
	uint32_t shape = shape_of(call);
	return shape ? atomic_fetch_add(&n_products, 1) << SHAPE_BITS | shape : 0;
}

void products_forget(void)
{
	for (size_t i = 0; i < KNOWN; i++)
		atomic_store_explicit(&known[i], 0, memory_order_relaxed);
	atomic_store(&n_shapes, 0);
}
