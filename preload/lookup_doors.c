/*
 * Functions that are looked up by name. Another interposer may define a CUDA function in global
 * scope. A program that calls the function by its symbol reaches the interposer; a program that
 * looks the function up in the CUDA library with dlsym or cuGetProcAddress does not. Both must stay
 * as they are without profrun, so such a function is divided: the exported wrapper goes on to the
 * interposer, and lookups return a second wrapper, which goes on to what the lookup found.
 */
/* makes the headers declare every symbol by its real name, twins included */
#define __CUDA_API_VERSION_INTERNAL
#include <cuda.h>
#include <cuda_runtime_api.h>

#include "preload/lookup_entry_points.h"
#include "preload/lookup_objects.h"

/* The function that lookups found; NULL: the row is not divided. Never changes once it is set. */
static _Atomic(void *) given[HOOK_COUNT];

/* The number of the row whose second wrapper the thread has just entered, plus 1; 0: none. */
static THREAD_LOCAL uint16_t entered;

/*
 * The second wrappers. A divided row has no cached pointer, so the exported wrapper calls
 * lookup_real(), and that calls lookup_given().
 */
#define HOOK(ret, symbol, name, version, twin, entry_point, check, category, space, params, args, \
	     ...)                                                                                 \
	ret hooked_##symbol params __asm__(#symbol);                                              \
	static ret given_##symbol params                                                          \
	{                                                                                         \
		entered = HOOK_##symbol + 1;                                                      \
		return hooked_##symbol args;                                                      \
	}
#include "preload/hooks.def"
#undef HOOK

static void *const givers[HOOK_COUNT] = {
#define HOOK(ret, symbol, ...) [HOOK_##symbol] = (void *)given_##symbol,
#include "preload/hooks.def"
#undef HOOK
};

bool lookup_is_divided(enum hook_id id)
{
	return atomic_load(&given[id]) != NULL;
}

void *lookup_given(enum hook_id id)
{
	bool is_given = entered == (unsigned)id + 1;
	entered = 0;
	return is_given ? atomic_load(&given[id]) : NULL;
}

static void *divide(enum hook_id id, void *found)
{
	void *none = NULL;
	if (!atomic_compare_exchange_strong(&given[id], &none, found) && none != found)
		return found;
	/* from now on lookup_real() stores no pointer there */
	atomic_store(hook_rows[id].real, NULL);
	return givers[id];
}

/* Returns whether the exported symbol of row `id` stands for `found`. */
static bool is_linked(enum hook_id id, void *found)
{
	void *interposer = lookup_interposer(&hook_rows[id]);
	lookup_forget_error();
	return interposer ? found == interposer
			  : object_is_entry_point(object_of(found), hook_rows[id].entry_point);
}

void *lookup_give(enum hook_id id, void *found)
{
	const struct hook_row *row = &hook_rows[id];
	void *known = NULL;
	if (!is_linked(id, found))
		return divide(id, found);
	if (row->entry_point == ENTRY_POINT_RUNTIME)
		lookup_notice_runtime_object(object_of(found));
	/*
	 * a second runtime's function is not wrapped; the driver calls that it makes are still
	 * recorded
	 */
	if (row->entry_point == ENTRY_POINT_RUNTIME && lookup_has_many_runtimes())
		return found;
	if (lookup_is_divided(id) || atomic_compare_exchange_strong(row->real, &known, found) ||
	    known == found)
		return row->wrapper;
	/* the driver may have several addresses for a function */
	return row->entry_point == ENTRY_POINT_DRIVER ? row->wrapper : found;
}
