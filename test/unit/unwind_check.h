/*
 * Compares the unwinder with libgcc's, which does not use libunwind, on chains of functions of many
 * shapes (chain/). Included by the one file that is the test program.
 */
#ifndef TEST_UNIT_UNWIND_CHECK_H
#define TEST_UNIT_UNWIND_CHECK_H

#include "core/runtime/record.h"
#include "preload/unwind.h"
#include "test/unit/chain/chain.h"

#include <dlfcn.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <unwind.h>

#include <cmocka.h>

enum { DEPTH = 128, MOST = 600 };

static __thread struct unwind_thread *mine;
static chain_function *functions[CHAIN_OBJECTS * CHAIN_SHAPES];

/* ---- What libgcc says, and what the unwinder says ---- */

struct stack {
	unsigned n;
	uint64_t ip[MOST], sp[MOST];
};

static inline _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct stack *s = arg;
	if (s->n == MOST)
		return _URC_END_OF_STACK;
	s->ip[s->n] = _Unwind_GetIP(context);
	s->sp[s->n++] = _Unwind_GetCFA(context);
	return _URC_NO_REASON;
}

/* [0] is this function itself, [1] its caller. */
static __attribute__((noinline, unused)) void ask_libgcc(struct stack *s)
{
	s->n = 0;
	_Unwind_Backtrace(add_frame, s);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame must be there */
}

struct walked {
	uint64_t hash;
	unsigned n;
	uint32_t flags;
	struct unwind_frame frames[MOST];
};

static __attribute__((noinline, unused)) void ask_unwinder(struct walked *to)
{
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	errno = 1234;
	uint32_t kept;
	to->hash = unwind_walk(mine, &regs, 0, &kept);
	to->flags = 0;
	to->n = unwind_frames(mine, &regs, to->frames, MOST, &to->flags);
	assert_int_equal(errno, 1234);
	assert_int_not_equal(to->hash, 0);
	__asm__ volatile("" ::: "memory");
}

/* libgcc also reports a last frame of address 0 on some stacks. */
static inline unsigned true_frames(const struct stack *s)
{
	unsigned n = s->n;
	while (n && !s->ip[n - 1])
		n--;
	return n;
}

/* libgcc's CFA of the frame that a signal interrupted is arbitrary on aarch64. */
static inline bool is_told(uint64_t caller_ip)
{
#if defined(__aarch64__)
	return memcmp((const void *)(uintptr_t)caller_ip, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8);
#else
	return caller_ip;
#endif
}

/* Both seen from the same function, so only its own address differs. */
static inline void assert_same_stack(const struct walked *w, const struct stack *s)
{
	unsigned n = true_frames(s);
	assert_int_equal(w->flags, 0);
	assert_int_equal(w->n, n - 1);
	for (unsigned i = 0; i < w->n; i++) {
		if (i)
			assert_int_equal(w->frames[i].ip, s->ip[i + 1]);
		if (is_told(s->ip[i]))
			assert_int_equal(w->frames[i].sp, s->sp[i + 1]);
		if (i + 1 < w->n)
			assert_int_equal(w->frames[i].cfa, w->frames[i + 1].sp);
	}
}

/* ---- Equal stacks have equal hashes, others have others ---- */

struct seen {
	uint64_t hash, frames;
};

enum { SEEN_MOST = 1 << 16 };

static inline uint64_t digest(const struct walked *w)
{
	uint64_t d = 14695981039346656037u;
	for (unsigned i = 0; i < w->n; i++)
		d = (d ^ w->frames[i].ip) * 1099511628211u;
	return d;
}

/* Returns whether the stack is new. */
static inline bool assert_hash_fits(struct seen *seen, const struct walked *w)
{
	uint64_t frames = digest(w);
	size_t at = w->hash % SEEN_MOST;
	for (; seen[at].hash; at = (at + 1) % SEEN_MOST)
		if (seen[at].hash == w->hash) {
			assert_int_equal(seen[at].frames, frames);
			return false;
		}
	for (size_t i = 0; i < SEEN_MOST; i++)
		if (seen[i].hash && seen[i].frames == frames)
			fail_msg("one stack has two hashes");
	seen[at] = (struct seen){ w->hash, frames };
	return true;
}

/* ---- Chains ---- */

static __attribute__((noinline, unused)) void run_chain(chain_function *const *path, long calls,
							void (*leaf)(void *), void *arg)
{
	struct chain c = { path + 1, leaf, arg };
	path[0](&c, calls - 1);
	__asm__ volatile("");
}

static inline chain_function *any_function(unsigned *seed)
{
	return functions[(unsigned)rand_r(seed) % (CHAIN_OBJECTS * CHAIN_SHAPES)];
}

static inline void check_stack_into(struct walked *w)
{
	static __thread struct stack s;
	ask_unwinder(w);
	ask_libgcc(&s);
	assert_same_stack(w, &s);
	__asm__ volatile("" ::: "memory");
}

static inline void check_stack(void *arg)
{
	static __thread struct walked w;
	check_stack_into(&w);
	if (arg)
		assert_hash_fits(arg, &w);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline, unused)) uint64_t walk_here(void)
{
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	uint32_t kept;
	return unwind_walk(mine, &regs, 0, &kept);
}

/* Loads the code of a chain and then the chain's objects, found next to the program. */
static inline int load_chains(void **state)
{
	(void)state;
	char name[4096];
	ssize_t n = readlink("/proc/self/exe", name, sizeof(name) - 64);
	if (n <= 0)
		return -1;
	name[n] = 0;
	char *end = strrchr(name, '/');
	for (int i = 0; i < CHAIN_OBJECTS; i++) {
		strcpy(end, "/chain/libchain0.so");
		*strrchr(end, '0') = (char)('0' + i);
		void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
		if (!library)
			return -1;
		memcpy(functions + i * CHAIN_SHAPES, dlsym(library, "chain_functions"),
		       CHAIN_SHAPES * sizeof(*functions));
	}
	if (!unwind_start(DEPTH))
		return -1;
	mine = unwind_thread_new();
	return mine ? 0 : -1;
}

#endif
