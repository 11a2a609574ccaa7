/* See plt.h. */
#include "preload/plt.h"

#include "core/runtime/at_start.h"
#include "core/runtime/log.h"
#include "preload/blocks.h"
#include "preload/hook.h"
#include "preload/libs.h"
#include "preload/lookup_objects.h"

#include <errno.h>
#include <link.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Limits. PyTorch with cuBLAS and cuDNN has some 150 slots in 10 objects. Slots beyond the limit
 * keep their wrappers. */
enum { OBJECTS_MOST = 32, SLOTS_MOST = 512 };

/* Bits of the mask that says which groups of functions are recorded or counted. Bits 0 to CAT_COUNT
 * - 1 are the categories of hooks.def. Then follow the library families of libs.def, and one bit
 * for the functions that report memory blocks. */
enum { GROUP_LIBRARIES = CAT_COUNT, GROUP_BLOCKS = GROUP_LIBRARIES + LIBRARIES };

struct function {
	uintptr_t wrapper;
	const _Atomic(void *) *real;
	uint8_t group;
};

struct slot {
	_Atomic uintptr_t *at;
	uintptr_t base; /* load address of the object that contains the slot */
	/* the dynamic section of that object: distinguishes it from an object that is later loaded
	 * at `base` */
	const void *dynamic;
	struct function function;
	/* the real function if the slot holds it now; 0: the slot holds the wrapper */
	uintptr_t opened;
};

/* Only the thread that has set `busy` may access the members, except `n_changes`. */
static struct {
	atomic_flag busy;
	/* how often the switch has changed; 0: the profiler has not started, so all slots hold
	 * wrappers */
	_Atomic uint32_t n_changes;
	/* load addresses of the objects that have called wrappers */
	uintptr_t objects[OBJECTS_MOST];
	unsigned n_objects, n_slots;
	struct slot slots[SLOTS_MOST];
} g = { .busy = ATOMIC_FLAG_INIT };

static uint64_t watched_by_switch(void)
{
	uint64_t watched = atomic_load(&hook_switch.watch) & ((1u << CAT_COUNT) - 1);
	watched |= (uint64_t)libs_watched() << GROUP_LIBRARIES;
	return watched | (uint64_t) !!atomic_load(&hook_switch.blocks) << GROUP_BLOCKS;
}

/* ---- From a wrapper to its real function ---- */

/* The linker's symbol for the start of this library. The library is one contiguous piece with its
 * data after its code. (etext, the symbol for the end of the code, is not used because the library
 * would then export it.) */
extern const char __ehdr_start[] __attribute__((visibility("hidden")));

static bool is_own(uintptr_t address)
{
	return address >= (uintptr_t)__ehdr_start && address < (uintptr_t)&g;
}

static bool find_function(uintptr_t wrapper, struct function *f)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		*f = (struct function){ (uintptr_t)hook_rows[i].wrapper, hook_rows[i].real,
					hook_rows[i].category };
		if (f->wrapper == wrapper)
			return true;
	}
	for (unsigned i = 0; i < LIBRARY_COUNT; i++) {
		*f = (struct function){ (uintptr_t)library_rows[i].wrapper, &library_real[i],
					(uint8_t)(GROUP_LIBRARIES + library_rows[i].family) };
		if (f->wrapper == wrapper)
			return true;
	}
	for (unsigned i = 0; i < BLOCKS_ROWS; i++) {
		*f = (struct function){ (uintptr_t)blocks_rows[i].wrapper, blocks_rows[i].real,
					GROUP_BLOCKS };
		if (f->wrapper == wrapper)
			return true;
	}
	return false;
}

/* ---- An object's slots ---- */

struct table {
	const struct dl_phdr_info *object;
	const ElfW(Dyn) * dynamic;
	const ElfW(Rela) * relocations;
	size_t n;
};

static bool find_table(const struct dl_phdr_info *object, struct table *t)
{
	const ElfW(Dyn) *d = NULL;
	bool has_addends = false;
	for (int i = 0; i < object->dlpi_phnum; i++)
		if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
			d = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
	*t = (struct table){ .object = object, .dynamic = d };
	for (; d && d->d_tag != DT_NULL; d++) {
		if (d->d_tag == DT_JMPREL)
			t->relocations = (const void *)d->d_un.d_ptr;
		else if (d->d_tag == DT_PLTRELSZ)
			t->n = d->d_un.d_val / sizeof(ElfW(Rela));
		else if (d->d_tag == DT_PLTREL)
			has_addends = d->d_un.d_val == DT_RELA;
	}
	return t->relocations && has_addends;
}

/* Returns whether the slot at `at` can be written. Once an object is relocated, the loader makes
 * its memory up to the end of PT_GNU_RELRO read-only. */
static bool may_be_written(const struct dl_phdr_info *object, uintptr_t at)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE);
	bool writable = false;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		uintptr_t begin = object->dlpi_addr + p->p_vaddr, end = begin + p->p_memsz;
		if (p->p_type == PT_GNU_RELRO && at >= (begin & -page) && at < end)
			return false;
		writable |= p->p_type == PT_LOAD && p->p_flags & PF_W && at >= begin && at < end;
	}
	return writable;
}

/* Returns whether the object's calls of `f` go to the real function that the wrapper has found. Two
 * copies of a library such as cuBLAS may be loaded. If the wrapper has not seen the object as a
 * caller, the object's calls may belong to the other copy. */
static bool goes_to_first(const struct dl_phdr_info *object, const struct function *f)
{
	if (f->group < GROUP_LIBRARIES || f->group >= GROUP_BLOCKS)
		return true;
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && p->p_flags & PF_X &&
		    libs_is_known_caller(f->group - GROUP_LIBRARIES,
					 (void *)(object->dlpi_addr + p->p_vaddr)))
			return true;
	}
	return false;
}

static struct slot *room_for(const _Atomic uintptr_t *at)
{
	for (unsigned i = 0; i < g.n_slots; i++)
		if (g.slots[i].at == at)
			return &g.slots[i];
	return g.n_slots < SLOTS_MOST ? &g.slots[g.n_slots++] : NULL;
}

static void take_slots(const struct table *t)
{
	for (size_t i = 0; i < t->n; i++) {
		_Atomic uintptr_t *at = (void *)(t->object->dlpi_addr + t->relocations[i].r_offset);
		uintptr_t value = atomic_load_explicit(at, memory_order_relaxed);
		struct function f;
		struct slot *s;
		if (is_own(value) && find_function(value, &f) && goes_to_first(t->object, &f) &&
		    may_be_written(t->object, (uintptr_t)at) && (s = room_for(at)))
			*s = (struct slot){ at, t->object->dlpi_addr, t->dynamic, f, 0 };
	}
}

/* ---- Switching slots ---- */

static bool is_in(const struct dl_phdr_info *object, uintptr_t address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && address - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* Puts the wrapper or the real function into a slot. `object` is the object that contains the slot,
 * or NULL if it is not known. `watched`: the wrapper has something to do. */
static void switch_slot(struct slot *s, const struct dl_phdr_info *object, bool watched)
{
	uintptr_t real = watched ? 0 : (uintptr_t)atomic_load(s->function.real);
	uintptr_t was = s->opened ? s->opened : s->function.wrapper,
		  is = real ? real : s->function.wrapper;
	if (was == is)
		return;
	if (atomic_compare_exchange_strong(s->at, &was, is)) {
		s->opened = real;
		return;
	}
	/* The object was unloaded and loaded again. The linker fills the slot at its first use. */
	if (object && is_in(object, was))
		s->opened = 0;
	else if (s->opened && watched) /* leave the other library's change alone */
		log_once(LOG_WARN, "another library in this process has replaced PLT entries that "
				   "profrun uses: calls through these entries may not be recorded");
}

/* Updates the slots of one object. A callback of dl_iterate_phdr, during which the loader unmaps
 * nothing. */
static int switch_object(struct dl_phdr_info *object, size_t size, void *context)
{
	const uint64_t *watched = context;
	struct table table;
	bool is_known = false;
	(void)size;
	for (unsigned i = 0; i < g.n_objects; i++)
		is_known |= g.objects[i] == object->dlpi_addr;
	if (!is_known || !find_table(object, &table))
		return 0;
	take_slots(&table);
	/* compare `dynamic` too: an object may have been loaded where an unloaded one with slots
	 * was */
	for (unsigned i = 0; i < g.n_slots; i++)
		if (g.slots[i].base == object->dlpi_addr && g.slots[i].dynamic == table.dynamic)
			switch_slot(&g.slots[i], object, *watched >> g.slots[i].function.group & 1);
	return 0;
}

static void note_object(const struct link_map *object)
{
	for (unsigned i = 0; i < g.n_objects; i++)
		if (g.objects[i] == object->l_addr)
			return;
	if (g.n_objects < OBJECTS_MOST)
		g.objects[g.n_objects++] = object->l_addr;
}

/* How often enter() tries to get the lock. A thread holds the lock for some 10 to 100 us, or longer
 * if it is preempted. */
enum { ONCE = 1, PATIENT = 100, BEFORE_FORK = 5000, YIELDS = 50, NAP_NS = 100000 };

/* Takes the lock. The first YIELDS tries yield the CPU, the others sleep for NAP_NS. Returns false
 * after `tries` tries. */
static bool enter(unsigned tries)
{
	for (unsigned i = 0; i < tries; i++) {
		if (!atomic_flag_test_and_set(&g.busy))
			return true;
		if (i < YIELDS)
			sched_yield();
		else /* not clock_nanosleep(), which is a cancellation point */
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0,
				&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	return false;
}

/* update_slots() has been called; if not, a fork need not touch the pages of `g` */
static atomic_bool is_used START_DATA;

/* Updates all slots to match the switch. Another thread may change the switch meanwhile and give up
 * waiting for the lock; then this thread repeats the update on its behalf. `caller`: an object
 * whose slots are added, or NULL. */
static void update_slots(const struct link_map *caller, unsigned tries)
{
	int saved = errno;
	uint32_t n_changes;
	atomic_store(&is_used, true);
	do {
		if (!enter(tries))
			break;
		if (caller)
			note_object(caller);
		n_changes = atomic_load(&g.n_changes);
		uint64_t watched = n_changes ? watched_by_switch() : UINT64_MAX;
		dl_iterate_phdr(switch_object, &watched);
		atomic_flag_clear(&g.busy);
	} while (n_changes != atomic_load(&g.n_changes));
	errno = saved;
}

void plt_note(void *return_address)
{
	const struct link_map *caller = object_of(return_address);
	if (caller)
		update_slots(caller, ONCE);
}

void plt_follow(void)
{
	atomic_fetch_add(&g.n_changes, 1);
	update_slots(NULL, PATIENT);
}

static THREAD_LOCAL bool holds_lock; /* whether this thread, which is forking, holds the lock */
static uint32_t changes_then;	     /* n_changes when `holds_lock` was set */

AT_START void plt_before_fork(void)
{
	int saved = errno;
	if (!atomic_load(&is_used))
		return;
	holds_lock = enter(BEFORE_FORK);
	if (holds_lock)
		changes_then = atomic_load(&g.n_changes);
	errno = saved;
}

AT_START void plt_after_fork(void)
{
	if (!holds_lock)
		return;
	bool has_changed = changes_then != atomic_load(&g.n_changes);
	holds_lock = false;
	atomic_flag_clear(&g.busy);
	/* A thread that changed the switch gave up waiting for the lock, so update the slots for
	 * it. */
	if (has_changed || changes_then != atomic_load(&g.n_changes))
		update_slots(NULL, PATIENT);
}

/* Returns whether the object that contains the slot is still loaded. */
static bool is_there(const struct slot *s)
{
	const struct link_map *object = object_of((void *)s->at);
	return object && object->l_addr == s->base && object->l_ld == s->dynamic;
}

/* The loader's locks may stay locked forever in a child, so this function does not take them. It is
 * safe without them because the child has no other thread that could unmap an object. */
AT_START void plt_forget(void)
{
	if (!atomic_load(&is_used))
		return;
	atomic_store(&g.n_changes, 0);
	holds_lock = false;
	for (unsigned i = 0; i < g.n_slots; i++)
		if (is_there(&g.slots[i]))
			switch_slot(&g.slots[i], NULL, true);
	atomic_flag_clear(&g.busy);
}
