/*
 * Finds the library to which a call goes. Not on the hot path: runs once per function and calling
 * object, or at each call if the process has two libraries of a family.
 */
#include "preload/libs.h"

#include "core/runtime/log.h"
#include "preload/lookup.h"
#include "preload/lookup_objects.h"
#include "preload/plt.h"

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <string.h>

HOT_DATA struct library_caller library_callers[LIBRARIES][LIBRARY_CALLERS];
HOT_DATA _Atomic(void *) library_real[LIBRARY_COUNT];

/* The library of each family that was found first. */
static _Atomic(const struct link_map *) first_of[LIBRARIES];

static bool is_first(enum record_library family, void *real)
{
	const struct link_map *none = NULL, *object = object_of(real);
	if (!atomic_compare_exchange_strong(&first_of[family], &none, object))
		return none == object;
	/* take a reference, because a stored pointer must not outlive its library */
	if (object && object->l_name[0])
		dlopen(object->l_name, RTLD_LAZY | RTLD_NOLOAD);
	return true;
}

static int note_code(struct dl_phdr_info *info, size_t size, void *context)
{
	struct {
		uintptr_t address, begin, end;
	} *wanted = context;
	(void)size;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uintptr_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD || wanted->address - begin >= p->p_memsz)
			continue;
		wanted->begin = begin;
		wanted->end = begin + p->p_memsz;
		return 1;
	}
	return 0;
}

/*
 * Stores the code segment of the caller. Returns whether the segment is new. If the table is full,
 * the segment is not stored, and each of its calls is looked up.
 */
static bool remember_caller(enum record_library family, void *return_address)
{
	static atomic_flag busy = ATOMIC_FLAG_INIT;
	struct {
		uintptr_t address, begin, end;
	} segment = { .address = (uintptr_t)return_address };
	if (!dl_iterate_phdr(note_code, &segment) || atomic_flag_test_and_set(&busy))
		return false;
	bool is_new = false;
	for (int i = 0; i < LIBRARY_CALLERS; i++) {
		struct library_caller *c = &library_callers[family][i];
		if (atomic_load(&c->bytes) && atomic_load(&c->begin) == segment.begin)
			break;
		if (atomic_load(&c->bytes))
			continue;
		is_new = true;
		atomic_store(&c->begin, segment.begin);
		atomic_store(&c->bytes, segment.end - segment.begin);
		break;
	}
	atomic_flag_clear(&busy);
	return is_new;
}

bool libs_is_known_caller(enum record_library family, const void *code)
{
	for (int i = 0; i < LIBRARY_CALLERS; i++)
		if (atomic_load(&library_callers[family][i].bytes) &&
		    atomic_load(&library_callers[family][i].begin) == (uintptr_t)code)
			return true;
	return false;
}

void *libs_find(enum library_id id, void *return_address)
{
	const struct library_row *row = &library_rows[id];
	enum record_library family = (enum record_library)row->family;
	void *known = atomic_load_explicit(&library_real[id], memory_order_relaxed);
	if (known && !object_of(return_address))
		/* the caller is code generated at run time, which is linked to no library */
		return known;
	int saved = errno;
	void *found = lookup_library(row->symbol, family, return_address);
	if (found && is_first(family, found)) {
		atomic_store_explicit(&library_real[id], found, memory_order_relaxed);
		if (remember_caller(family, return_address) || !known)
			plt_note(return_address);
	}
	/*
	 * a caller that got the wrapper from dlsym need not be linked to the library: use the first
	 * one
	 */
	if (!found)
		found = known;
	if (!found)
		log_once(LOG_WARN,
			 "%s was called, but no library in this process exports it: the call "
			 "returns an error",
			 row->symbol);
	errno = saved;
	return found;
}

void *libs_helper(const char *symbol, enum record_library family, void *return_address)
{
	return lookup_library(symbol, family, return_address);
}

void *libs_given(enum library_id id, void *found)
{
	void *known = NULL;
	if (!is_first((enum record_library)library_rows[id].family, found))
		return found;
	atomic_compare_exchange_strong(&library_real[id], &known, found);
	return !known || known == found ? library_rows[id].wrapper : found;
}
