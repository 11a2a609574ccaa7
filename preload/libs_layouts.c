/*
 * Reads cuBLASLt's matrix layouts. They are opaque, so cuBLASLt's own function is called, which
 * takes about 5 ns for each attribute.
 */
#include "preload/libs_facts.h"

/* cublasLtMatrixLayoutAttribute_t */
enum { LAYOUT_TYPE = 0, LAYOUT_ROWS = 2, LAYOUT_COLUMNS = 3, LAYOUT_BATCH = 5 };

typedef int get_attribute(void *layout, int attribute, void *to, size_t bytes, size_t *written);

static get_attribute *getter(void)
{
	static _Atomic(void *) cached;
	static atomic_bool asked;
	if (UNLIKELY(!atomic_load_explicit(&asked, memory_order_acquire))) {
		atomic_store_explicit(
			&cached, libs_helper("cublasLtMatrixLayoutGetAttribute", LIB_BLASLT, NULL),
			memory_order_relaxed);
		atomic_store_explicit(&asked, true, memory_order_release);
	}
	return (get_attribute *)atomic_load_explicit(&cached, memory_order_relaxed);
}

static uint64_t number(get_attribute *get, void *layout, int attribute)
{
	uint64_t value = 0;
	size_t written;
	return get(layout, attribute, &value, sizeof(value), &written) ? 0 : value;
}

static uint32_t small_number(get_attribute *get, void *layout, int attribute)
{
	uint32_t value = 0;
	size_t written;
	return get(layout, attribute, &value, sizeof(value), &written) ? 0 : value;
}

void take_layouts(struct rec_library *l, void *a, void *d, void *stream)
{
	get_attribute *get = getter();
	l->stream = (uint64_t)(uintptr_t)stream;
	if (!get || !a || !d)
		return;
	uint64_t m = number(get, d, LAYOUT_ROWS), n = number(get, d, LAYOUT_COLUMNS);
	uint64_t of_a = number(get, a, LAYOUT_ROWS) * number(get, a, LAYOUT_COLUMNS);
	uint32_t batch = small_number(get, d, LAYOUT_BATCH);
	take_gemm(l, (int64_t)m, (int64_t)n, (int64_t)(m ? of_a / m : 0), batch ? batch : 1,
		  (int)small_number(get, a, LAYOUT_TYPE), 0);
}
