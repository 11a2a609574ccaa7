/*
 * See stack_modules.h. Asks the loader which object contains an address: without a lock where glibc
 * has _dl_find_object (2.35 and later), otherwise by iterating over all objects. The answers are
 * stored unsorted, because a program has frames in only some tens of objects.
 */
#include "preload/stack_modules.h"

#include "core/runtime/journal.h"
#include "core/runtime/log.h"
#include "preload/libc_find.h"
#include "preload/lookup.h"
#include "preload/python.h"

#include <errno.h>
#include <limits.h>
#include <link.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MODULES_MOST = 2048 };

struct module {
	uint64_t begin, end, base;
	uint32_t id; /* id of the DICT_MODULE; 0: the dictionary had no room */
	uint32_t generation;
};

static struct {
	atomic_flag busy;
	_Atomic uint32_t generation;
	uint32_t n, ids;
	struct module at[MODULES_MOST];
} g = { .busy = ATOMIC_FLAG_INIT };

/* ---- Asking the loader ---- */

struct object {
	uint64_t begin, end, base;
	const char *name;
	const ElfW(Phdr) * headers;
	unsigned n_headers;
};

static int has_address(struct dl_phdr_info *info, size_t bytes, void *wanted)
{
	struct object *o = wanted;
	(void)bytes;
	uint64_t lowest = UINT64_MAX, highest = 0;
	bool is_here = false;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t begin = info->dlpi_addr + p->p_vaddr;
		if (p->p_type != PT_LOAD)
			continue;
		is_here |= o->begin >= begin && o->begin < begin + p->p_memsz;
		lowest = begin < lowest ? begin : lowest;
		highest = begin + p->p_memsz > highest ? begin + p->p_memsz : highest;
	}
	if (!is_here)
		return 0;
	*o = (struct object){ lowest,	       highest,		info->dlpi_addr,
			      info->dlpi_name, info->dlpi_phdr, info->dlpi_phnum };
	return 1;
}

#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
static bool find_fast(uint64_t ip, struct object *o)
{
	struct dl_find_object found;
	if (libc_find_object((void *)(uintptr_t)ip, &found))
		return false;
	const ElfW(Ehdr) *header = found.dlfo_map_start;
	if (memcmp(header->e_ident, ELFMAG, SELFMAG))
		return false;
	*o = (struct object){
		.begin = (uintptr_t)found.dlfo_map_start,
		.end = (uintptr_t)found.dlfo_map_end,
		.base = found.dlfo_link_map->l_addr,
		.name = found.dlfo_link_map->l_name,
		.headers = (const void *)((const char *)header + header->e_phoff),
		.n_headers = header->e_phnum,
	};
	return true;
}
#else
static bool find_fast(uint64_t ip, struct object *o)
{
	(void)ip;
	(void)o;
	return false;
}
#endif

static bool find_object(uint64_t ip, struct object *o)
{
	if (find_fast(ip, o))
		return true;
	*o = (struct object){ .begin = ip };
	return dl_iterate_phdr(has_address, o) == 1;
}

/* ---- Describing an object ---- */

static void find_build_id(const struct object *o, struct dict_module *record)
{
	for (unsigned i = 0; i < o->n_headers; i++) {
		const ElfW(Phdr) *p = &o->headers[i];
		if (p->p_type != PT_NOTE)
			continue;
		const char *at = (const char *)(uintptr_t)(o->base + p->p_vaddr);
		const char *end = at + p->p_memsz;
		while (end - at > (ptrdiff_t)sizeof(ElfW(Nhdr))) {
			const ElfW(Nhdr) *note = (const void *)at;
			const char *name = at + sizeof(*note);
			const char *value = name + ((note->n_namesz + 3) & ~3u);
			at = value + ((note->n_descsz + 3) & ~3u);
			if (at > end)
				break;
			if (note->n_type != NT_GNU_BUILD_ID || note->n_namesz != 4 ||
			    memcmp(name, "GNU", 4) || note->n_descsz > sizeof(record->build_id))
				continue;
			memcpy(record->build_id, value, note->n_descsz);
			record->build_id_bytes = note->n_descsz;
			return;
		}
	}
}

/* Makes the path absolute. The loader's list has an empty name for the program, and relative names
 * if LD_LIBRARY_PATH is relative. */
static void absolute_path(const char *name, char *path, size_t bytes)
{
	ssize_t n = 0;
	if (!*name) {
		n = readlink("/proc/self/exe", path, bytes - 1);
		path[n > 0 ? n : 0] = 0;
		return;
	}
	if (*name != '/' && strchr(name, '/') && getcwd(path, bytes / 2)) {
		size_t used = strlen(path);
		snprintf(path + used, bytes - used, "/%s", name);
		return;
	}
	snprintf(path, bytes, "%s", name);
}

static uint32_t describe(const struct object *o)
{
	char path[PATH_MAX * 2];
	struct dict_module record = {
		.head.kind = DICT_MODULE,
		.id = g.ids + 1,
		.base = o->base,
		.begin = o->begin,
		.end = o->end,
	};
	if (record.id > FRAME_MODULE_MOST)
		return 0;
	find_build_id(o, &record);
	absolute_path(o->name ? o->name : "", path, sizeof(path));
	/* this detects an interpreter that was loaded late */
	if (strstr(path, "libpython"))
		python_objects_changed();
	if (!journal_put(&record.head, sizeof(record), path))
		return 0;
	return ++g.ids;
}

/* ---- The table ---- */

static const struct module *known(uint64_t ip, uint32_t generation)
{
	for (uint32_t i = 0; i < g.n; i++) {
		const struct module *m = &g.at[i];
		if (ip >= m->begin && ip < m->end && m->generation == generation)
			return m;
	}
	return NULL;
}

/* Returns the entry of an object that was already mapped before the last unmapping and still is.
 * Such an object keeps its entry. */
static struct module *same_as_before(const struct object *o)
{
	for (uint32_t i = 0; i < g.n; i++)
		if (g.at[i].begin == o->begin && g.at[i].end == o->end && g.at[i].base == o->base)
			return &g.at[i];
	return NULL;
}

static const struct module *learn(uint64_t ip, uint32_t generation)
{
	struct object o;
	if (!find_object(ip, &o))
		return NULL;
	struct module *m = same_as_before(&o);
	if (!m && g.n == MODULES_MOST) {
		log_once(LOG_INFO,
			 "more than %d shared libraries: frames in further libraries have no names",
			 MODULES_MOST);
		return NULL;
	}
	if (!m)
		m = &g.at[g.n++];
	/* Another file may be mapped at these addresses now, so the object gets a new number. An
	 * unnecessary new number costs a few bytes; a wrong name would mislead the user. */
	if (m->generation != generation || !m->id)
		*m = (struct module){ o.begin, o.end, o.base, describe(&o), generation };
	return m;
}

/* Takes the lock. Waits for it, but not forever: new objects are rare and described in
 * microseconds, and a frame without a name is worse than a short wait. */
static bool enter(void)
{
	for (int tries = 0; tries < 2000; tries++) {
		if (!atomic_flag_test_and_set_explicit(&g.busy, memory_order_acquire))
			return true;
		sched_yield();
	}
	return false;
}

uint64_t stack_modules_frame(uint64_t ip)
{
	/* If a call is a module's last instruction, its return address is the byte after the
	 * module. */
	uint64_t within = ip - 1, frame = frame_native(0, ip);
	uint32_t generation = atomic_load_explicit(&g.generation, memory_order_acquire);
	if (!enter())
		return frame;
	int saved = errno;
	const struct module *m = known(within, generation);
	if (!m)
		m = learn(within, generation);
	if (m && m->id)
		frame = frame_native(m->id, ip - m->base);
	errno = saved;
	atomic_flag_clear_explicit(&g.busy, memory_order_release);
	return frame;
}

void stack_modules_gone(void)
{
	atomic_fetch_add_explicit(&g.generation, 1, memory_order_release);
}

void stack_modules_forget(void)
{
	g.n = 0;
	g.ids = 0;
	atomic_flag_clear(&g.busy);
}
