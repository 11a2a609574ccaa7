#include "preload/unwind_objects.h"

#include "preload/libc_find.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <pthread.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

/* ---- Objects ---- */

struct search {
	uint64_t address;
	struct object found;
};

static int look_into(struct dl_phdr_info *info, size_t bytes, void *arg)
{
	(void)bytes;
	struct search *s = arg;
	struct object o = { .start = UINT64_MAX };
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		uint64_t start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_GNU_EH_FRAME)
			o.header = start;
		if (p->p_type != PT_LOAD)
			continue;
		o.start = start < o.start ? start : o.start;
		o.end = start + p->p_memsz > o.end ? start + p->p_memsz : o.end;
	}
	if (s->address < o.start || s->address >= o.end)
		return 0;
	s->found = o;
	return 1;
}

bool object_find(uint64_t address, struct object *out)
{
	struct dl_find_object found;
	int error = libc_find_object((void *)(uintptr_t)address, &found);
	if (error == LIBC_TOO_OLD) {
		struct search s = { .address = address };
		dl_iterate_phdr(look_into, &s);
		*out = s.found;
	} else if (error) {
		return false;
	} else {
		*out = (struct object){
			.start = (uint64_t)(uintptr_t)found.dlfo_map_start,
			.end = (uint64_t)(uintptr_t)found.dlfo_map_end,
			.header = (uint64_t)(uintptr_t)found.dlfo_eh_frame,
		};
	}
	return out->end;
}

/* ---- Stacks ---- */

/* The highest address of the main thread's stack, set by the loader. */
extern void *__libc_stack_end __attribute__((weak));

/* Linux keeps at least this many bytes below the main stack's top free of mappings (MIN_GAP),
 * however small the stack limit is. */
enum { MAIN_STACK_MOST = 128 << 20 };

struct stack_bounds stack_bounds_of_thread(void)
{
	uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0);
	if (&__libc_stack_end && __libc_stack_end) {
		uint64_t top = (uint64_t)(uintptr_t)__libc_stack_end;
		struct stack_bounds main_stack = { top - MAIN_STACK_MOST, top };
		if ((here >= main_stack.lo && here < main_stack.hi) || getpid() == gettid())
			return main_stack;
	}
	struct stack_bounds bounds = { 0, 0 };
	pthread_attr_t attributes;
	if (pthread_getattr_np(pthread_self(), &attributes))
		return bounds;
	void *base;
	size_t bytes;
	if (!pthread_attr_getstack(&attributes, &base, &bytes))
		bounds = (struct stack_bounds){ (uintptr_t)base, (uintptr_t)base + bytes };
	pthread_attr_destroy(&attributes);
	return bounds;
}

bool memory_copy(uint64_t from, void *to, size_t bytes)
{
	struct iovec there = { (void *)(uintptr_t)from, bytes }, here = { to, bytes };
	int saved = errno;
	ssize_t copied = process_vm_readv(getpid(), &here, 1, &there, 1, 0);
	errno = saved;
	return copied == (ssize_t)bytes;
}

bool stack_copy(uint64_t sp, uint64_t *buffer, size_t bytes, struct stack_window *out)
{
	/* one element per page, because the kernel copies an element completely or not at all */
	enum { PAGE = 4096, PAGES = STACK_COPY_BYTES / PAGE };
	struct iovec from[PAGES], to = { buffer, bytes };
	sp &= ~7ull;
	uint64_t at = sp, end = sp + bytes;
	unsigned n = 0;
	for (; n < PAGES && at < end; n++) {
		uint64_t next = (at | (PAGE - 1)) + 1;
		from[n] = (struct iovec){ (void *)(uintptr_t)at, (next < end ? next : end) - at };
		at = next;
	}
	int saved = errno;
	ssize_t copied = process_vm_readv(getpid(), &to, 1, from, n, 0);
	errno = saved;
	if (copied <= 0)
		return false;
	*out = (struct stack_window){ sp, sp + (uint64_t)copied, (uint64_t)(uintptr_t)buffer - sp };
	return true;
}
