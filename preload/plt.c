/* See plt.h. */
#include "preload/plt.h"

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

/* PyTorch with cuBLAS and cuDNN has some 150 slots in 10 objects; those that find no room keep their wrappers. */
enum { OBJECTS_MOST = 32, SLOTS_MOST = 512 };

/* Bits of what is watched: categories of hooks.def, families of libs.def, memory reports. */
enum { GROUP_LIBRARIES = CAT_COUNT, GROUP_BLOCKS = GROUP_LIBRARIES + LIBRARIES };

struct function {
	uintptr_t wrapper;
	const _Atomic(void *) *real;
	uint8_t group;
};

struct slot {
	_Atomic uintptr_t *at;
	uintptr_t base; /* of its object */
	const void *
		dynamic; /* where its object's section of that name lies: another object may come to lie at the same base */
	struct function function;
	uintptr_t opened; /* the real function that was put there, 0: none */
};

/* All but `turned` belongs to who has set `busy`. */
static struct {
	atomic_flag busy;
	_Atomic uint32_t turned;	 /* how often the switch was; 0: all is watched */
	uintptr_t objects[OBJECTS_MOST]; /* their bases: they have called wrappers */
	unsigned n_objects, n_slots;
	struct slot slots[SLOTS_MOST];
} g = { .busy = ATOMIC_FLAG_INIT };

static uint64_t watched_by_switch(void)
{
	uint64_t watched = atomic_load(&hook_switch.watch) & ((1u << CAT_COUNT) - 1);
	watched |= (uint64_t)libs_watched() << GROUP_LIBRARIES;
	return watched | (uint64_t) !!atomic_load(&hook_switch.blocks) << GROUP_BLOCKS;
}

/* ---- Whose wrapper it is ---- */

/* The linker's word for where this library begins. It lies in one piece, data behind code (the word for the code's end, etext, would be exported). */
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

/* The loader takes the right to write from what lies before the end of PT_GNU_RELRO when it has relocated the object. */
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

/* Calls of a library's function from code that its wrapper does not know may mean another library. */
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

/* ---- Turning them ---- */

static bool is_in(const struct dl_phdr_info *object, uintptr_t address)
{
	for (int i = 0; i < object->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &object->dlpi_phdr[i];
		if (p->p_type == PT_LOAD && address - object->dlpi_addr - p->p_vaddr < p->p_memsz)
			return true;
	}
	return false;
}

/* `object`: the slot's own, NULL: not known. */
static void turn(struct slot *s, const struct dl_phdr_info *object, bool watched)
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
	/* loaded anew, and the linker fills the slot when it is used */
	if (object && is_in(object, was))
		s->opened = 0;
	else if (s->opened && watched) /* somebody else's change stays */
		log_once(LOG_WARN,
			 "something else in this process has put functions into the linker's "
			 "slots: calls that go through them may not be seen");
}

/* Inside the call the loader unmaps nothing. */
static int turn_object(struct dl_phdr_info *object, size_t size, void *context)
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
	/* another object may lie where one with slots did */
	for (unsigned i = 0; i < g.n_slots; i++)
		if (g.slots[i].base == object->dlpi_addr && g.slots[i].dynamic == table.dynamic)
			turn(&g.slots[i], object, *watched >> g.slots[i].function.group & 1);
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

/* Some 10 to 100 us go by in it, more where its thread does not run meanwhile. */
enum { ONCE = 1, PATIENT = 100, BEFORE_FORK = 5000, YIELDS = 50, NAP_NS = 100000 };

/* `tries`: yields first, then naps. */
static bool enter(unsigned tries)
{
	for (unsigned i = 0; i < tries; i++) {
		if (!atomic_flag_test_and_set(&g.busy))
			return true;
		if (i < YIELDS)
			sched_yield();
		else /* libc's is a cancellation point */
			syscall(SYS_clock_nanosleep, CLOCK_MONOTONIC, 0,
				&(struct timespec){ .tv_nsec = NAP_NS }, NULL);
	}
	return false;
}

/* Who turns the switch meanwhile and finds us busy for too long leaves it to us. */
static void ingest(const struct link_map *caller, unsigned tries)
{
	int saved = errno;
	uint32_t turned;
	do {
		if (!enter(tries))
			break;
		if (caller)
			note_object(caller);
		turned = atomic_load(&g.turned);
		uint64_t watched = turned ? watched_by_switch() : UINT64_MAX;
		dl_iterate_phdr(turn_object, &watched);
		atomic_flag_clear(&g.busy);
	} while (turned != atomic_load(&g.turned));
	errno = saved;
}

void plt_note(void *return_address)
{
	const struct link_map *caller = object_of(return_address);
	if (caller)
		ingest(caller, ONCE);
}

void plt_follow(void)
{
	atomic_fetch_add(&g.turned, 1);
	ingest(NULL, PATIENT);
}

static THREAD_LOCAL bool keeps_others_out; /* of the thread that forks */
static uint32_t turned_then;		   /* belongs to it */

void plt_before_fork(void)
{
	int saved = errno;
	keeps_others_out = enter(BEFORE_FORK);
	if (keeps_others_out)
		turned_then = atomic_load(&g.turned);
	errno = saved;
}

void plt_after_fork(void)
{
	if (!keeps_others_out)
		return;
	bool was_turned = turned_then != atomic_load(&g.turned);
	keeps_others_out = false;
	atomic_flag_clear(&g.busy);
	if (was_turned || turned_then != atomic_load(&g.turned))
		ingest(NULL, PATIENT); /* it was left to us */
}

/* Its own object is there yet. */
static bool is_there(const struct slot *s)
{
	const struct link_map *object = object_of((void *)s->at);
	return object && object->l_addr == s->base && object->l_ld == s->dynamic;
}

/* No other thread is there that could unmap anything; the loader's locks may be anybody's. */
void plt_forget(void)
{
	atomic_store(&g.turned, 0);
	keeps_others_out = false;
	for (unsigned i = 0; i < g.n_slots; i++)
		if (is_there(&g.slots[i]))
			turn(&g.slots[i], NULL, true);
	atomic_flag_clear(&g.busy);
}
