/*
 * The unwinder against libgcc's, which knows nothing of libunwind: on chains of many shapes, with changed callers, across signals,
 * code without unwind information, other stacks, threads, and objects that take each other's place.
 */
#include "core/record.h"
#include "preload/unwind.h"
#include "test/unit/chain/chain.h"

#include <dlfcn.h>
#include <errno.h>
#include <malloc.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>
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

static _Unwind_Reason_Code add_frame(struct _Unwind_Context *context, void *arg)
{
	struct stack *s = arg;
	if (s->n == MOST)
		return _URC_END_OF_STACK;
	s->ip[s->n] = _Unwind_GetIP(context);
	s->sp[s->n++] = _Unwind_GetCFA(context);
	return _URC_NO_REASON;
}

/* [0] is this function itself, [1] its caller. */
static __attribute__((noinline)) void ask_libgcc(struct stack *s)
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

static __attribute__((noinline)) void ask_unwinder(struct walked *to)
{
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	errno = 1234;
	to->hash = unwind_walk(mine, &regs);
	to->flags = 0;
	to->n = unwind_frames(mine, &regs, to->frames, MOST, &to->flags);
	assert_int_equal(errno, 1234);
	assert_int_not_equal(to->hash, 0);
	__asm__ volatile("" ::: "memory");
}

/* libgcc also reports a last frame of address 0 on some stacks. */
static unsigned true_frames(const struct stack *s)
{
	unsigned n = s->n;
	while (n && !s->ip[n - 1])
		n--;
	return n;
}

/* What libgcc calls the CFA of the frame that a signal interrupted is a matter of taste on aarch64. */
static bool is_told(uint64_t caller_ip)
{
#if defined(__aarch64__)
	return memcmp((const void *)(uintptr_t)caller_ip, "\x68\x11\x80\xd2\x01\x00\x00\xd4", 8);
#else
	return caller_ip;
#endif
}

/* Both seen from the same function, so only its own address differs. */
static void assert_same_stack(const struct walked *w, const struct stack *s)
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

static uint64_t digest(const struct walked *w)
{
	uint64_t d = 14695981039346656037u;
	for (unsigned i = 0; i < w->n; i++)
		d = (d ^ w->frames[i].ip) * 1099511628211u;
	return d;
}

/* Returns whether the stack is new. */
static bool assert_hash_fits(struct seen *seen, const struct walked *w)
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

static __attribute__((noinline)) void run_chain(chain_function *const *path, long calls,
						void (*leaf)(void *), void *arg)
{
	struct chain c = { path + 1, leaf, arg };
	path[0](&c, calls - 1);
	__asm__ volatile("");
}

static chain_function *any_function(unsigned *seed)
{
	return functions[(unsigned)rand_r(seed) % (CHAIN_OBJECTS * CHAIN_SHAPES)];
}

static void check_stack_into(struct walked *w)
{
	static __thread struct stack s;
	ask_unwinder(w);
	ask_libgcc(&s);
	assert_same_stack(w, &s);
	__asm__ volatile("" ::: "memory");
}

static void check_stack(void *arg)
{
	static __thread struct walked w;
	check_stack_into(&w);
	if (arg)
		assert_hash_fits(arg, &w);
	__asm__ volatile("" ::: "memory");
}

static void test_random_chains(void **state)
{
	(void)state;
	struct seen *seen = calloc(SEEN_MOST, sizeof(*seen));
	chain_function *path[64];
	unsigned seed = 1;
	for (int i = 0; i < 3000; i++) {
		int calls = 1 + rand_r(&seed) % 60;
		for (int k = 0; k < calls; k++)
			path[k] = any_function(&seed);
		run_chain(path, calls, check_stack, seen);
	}
	free(seen);
}

/* As programs do: a long common part, an inner part that changes, and comes back to what it was. */
static void test_changing_inner_part(void **state)
{
	(void)state;
	struct seen *seen = calloc(SEEN_MOST, sizeof(*seen));
	chain_function *path[64];
	unsigned seed = 2;
	for (int k = 0; k < 20; k++)
		path[k] = any_function(&seed);
	struct unwind_counts before, after;
	unwind_count(&before);
	for (int i = 0; i < 3000; i++) {
		int from = 20 + rand_r(&seed) % 20;
		for (int k = 20; k < from; k++)
			path[k] = functions[k % CHAIN_SHAPES];
		unsigned variant = 100 + (unsigned)rand_r(&seed) % 8;
		for (int k = from; k < 44; k++)
			path[k] = any_function(&variant);
		run_chain(path, 44, check_stack, seen);
	}
	unwind_count(&after);
	assert_true(after.memo_hits > before.memo_hits);
	assert_int_equal(after.truncated, before.truncated);
	assert_int_equal(after.slow, before.slow);
	free(seen);
}

static void keep_stack(void *arg)
{
	ask_unwinder(arg);
	__asm__ volatile("" ::: "memory");
}

/* The same function of two objects has frames of the same size: nothing but return addresses tells the stacks apart. */
static void test_other_callers_at_the_same_place(void **state)
{
	(void)state;
	static struct walked walked[2][2];
	for (int round = 0; round < 2; round++)
		for (int object = 0; object < 2; object++) {
			chain_function *path[] = { functions[0], functions[object * CHAIN_SHAPES],
						   functions[CHAIN_SHAPES], functions[0] };
			run_chain(path, 4, keep_stack, &walked[round][object]);
		}
	assert_int_equal(walked[0][0].frames[0].sp, walked[0][1].frames[0].sp);
	assert_int_equal(walked[0][0].frames[0].ip, walked[0][1].frames[0].ip);
	assert_int_not_equal(walked[0][0].hash, walked[0][1].hash);
	for (int object = 0; object < 2; object++)
		assert_int_equal(walked[0][object].hash, walked[1][object].hash);
}

static void test_order_counts(void **state)
{
	(void)state;
	static struct walked walked[2];
	for (volatile int i = 0; i < 2; i++) {
		chain_function *path[] = { functions[0], functions[i ? CHAIN_SHAPES : 1],
					   functions[i ? 1 : CHAIN_SHAPES], functions[2] };
		run_chain(path, 4, keep_stack, &walked[i]);
	}
	assert_int_equal(walked[0].n, walked[1].n);
	assert_int_not_equal(walked[0].hash, walked[1].hash);
}

/*
 * Frames of a size that can be chosen, so that different callers leave the stack pointer where it was: what is left of other frames
 * then lies where it was, too. `flexible` is measured from bp, `rigid` has no use for it.
 */
enum { ROOM_STEP = 16, ROOM_LEAST = 64, ROOM_MOST = 1024 };

static unsigned room_bytes;

static __attribute__((noinline)) long call_next(struct chain *c, long left)
{
	if (left > 0)
		return (*c->path++)(c, left - 1);
	c->leaf(c->arg);
	return 1;
}

static __attribute__((noinline)) long flexible(struct chain *c, long left)
{
	volatile char *room = __builtin_alloca(room_bytes);
	__asm__ volatile("" ::"r"(room) : "memory");
	return call_next(c, left) + 1;
}

static __attribute__((noinline)) long thin(struct chain *c, long left)
{
	return call_next(c, left) + 1;
}

static __attribute__((noinline)) long rigid(struct chain *c, long left)
{
	volatile char room[176];
	__asm__ volatile("" ::"r"(room) : "memory");
	return call_next(c, left) + 1;
}

static __attribute__((noinline)) uint64_t walk_here(void)
{
	struct unwind_regs regs = {
		.ip = (uint64_t)(uintptr_t)__builtin_return_address(0),
		.sp = (uint64_t)(uintptr_t)__builtin_dwarf_cfa(),
		.bp = *(uint64_t *)__builtin_frame_address(0),
	};
	return unwind_walk(mine, &regs);
}

static struct {
	uint64_t wanted_sp; /* 0: the first place is wanted */
	uint64_t hash;	    /* 0: it has not been there */
	struct walked walked;
} placed;

static bool is_in_place(uint64_t sp)
{
	if (!placed.wanted_sp)
		placed.wanted_sp = sp;
	return sp == placed.wanted_sp;
}

/* Looks where it is first: a walk from elsewhere would leave other traces. */
static void check_in_place(void *arg)
{
	(void)arg;
	if (is_in_place((uint64_t)(uintptr_t)__builtin_dwarf_cfa())) {
		check_stack_into(&placed.walked);
		placed.hash = placed.walked.hash;
	}
	__asm__ volatile("" ::: "memory");
}

/* The same with nothing in between that would save bp. */
static void walk_in_place(void *arg)
{
	(void)arg;
	if (is_in_place((uint64_t)(uintptr_t)__builtin_dwarf_cfa()))
		placed.hash = walk_here();
	__asm__ volatile("" ::: "memory");
}

struct path {
	chain_function *const *functions;
	long calls;
};

/* Runs `path` with the room at which its leaf stands where the first one's stood. */
static uint64_t hash_in_place(struct path path, void (*leaf)(void *))
{
	placed.hash = 0;
	for (room_bytes = ROOM_LEAST; !placed.hash; room_bytes += ROOM_STEP) {
		assert_in_range(room_bytes, ROOM_LEAST, ROOM_MOST);
		run_chain(path.functions, path.calls, leaf, NULL);
	}
	return placed.hash;
}

/* Two stacks by turns: is what is known of one ever believed of the other? */
static void assert_told_apart(struct path a, struct path b, void (*leaf)(void *))
{
	uint64_t hash[2];
	placed.wanted_sp = 0;
	room_bytes = ROOM_MOST / 2;
	run_chain(a.functions, a.calls, leaf, NULL);
	for (volatile int turn = 0; turn < 8; turn++) {
		uint64_t now = hash_in_place(turn % 2 ? b : a, leaf);
		if (turn < 2)
			hash[turn] = now;
		assert_int_equal(now, hash[turn % 2]);
	}
	assert_int_not_equal(hash[0], hash[1]);
}

/* The same inner frames at the same place, on callers of which only some are measured from bp. */
static void test_callers_change_and_inner_frames_stay(void **state)
{
	(void)state;
	chain_function *const busy = functions[3]; /* saves bp, as thin and rigid do not */
	chain_function *const inner[][2] = {
		{ thin, busy }, { busy, thin }, { busy, busy }, { thin, thin }
	};
	for (volatile unsigned i = 0; i < 2 * sizeof(inner) / sizeof(*inner); i++) {
		chain_function *a = inner[i / 2][0], *b = inner[i / 2][1];
		void (*leaf)(void *) = i % 2 ? check_in_place : walk_in_place;
		/* the first one's bp is of no use to anybody */
		chain_function *dead[] = { busy, rigid, a, b };
		chain_function *alive[] = { busy, flexible, a, b };
		assert_told_apart((struct path){ dead, 4 }, (struct path){ alive, 4 }, leaf);
		/* in the room of the one's large frame the other has two; nothing but bp tells which it is, since the return
		 * addresses of the one are where they were: that of rigid is the same for both of its callees */
		chain_function *one[] = { rigid, flexible, a, b };
		chain_function *two[] = { rigid, rigid, flexible, a, b };
		assert_told_apart((struct path){ one, 4 }, (struct path){ two, 5 }, leaf);
	}
}

static void test_repeated_stack_is_remembered(void **state)
{
	(void)state;
	struct unwind_counts before, after;
	uint64_t first = 0;
	unwind_count(&before);
	for (int i = 0; i < 100; i++) {
		uint64_t hash = walk_here();
		first = first ? first : hash;
		assert_int_equal(hash, first);
	}
	unwind_count(&after);
	assert_int_equal(after.walks - before.walks, 100);
	assert_true(after.memo_hits - before.memo_hits >= 98);
}

static void walk_only(void *arg)
{
	(void)arg;
	walk_here();
	__asm__ volatile("" ::: "memory");
}

/* A hook may run inside the application's allocator. */
static void test_no_allocation(void **state)
{
	(void)state;
	struct unwind_counts before, after;
	unwind_objects_gone();
	unwind_count(&before);
	struct mallinfo2 heap = mallinfo2();
	for (int i = 0; i < CHAIN_SHAPES; i++)
		run_chain(&functions[i], 5, walk_only, NULL);
	struct mallinfo2 now = mallinfo2();
	unwind_count(&after);
	assert_true(after.learned >= before.learned + CHAIN_SHAPES);
	assert_int_equal(now.uordblks, heap.uordblks);
	assert_int_equal(now.hblkhd, heap.hblkhd);
}

static void check_depth(void *arg)
{
	static struct walked w;
	static struct stack s;
	ask_unwinder(&w);
	ask_libgcc(&s);
	assert_int_equal(w.n, DEPTH);
	assert_int_equal(w.flags, STACK_TRUNCATED);
	for (unsigned i = 1; i < w.n; i++)
		assert_int_equal(w.frames[i].ip, s.ip[i + 1]);
	*(uint64_t *)arg = w.hash;
}

static chain_function *deeper[60];

static void check_and_go_deeper(void *arg)
{
	check_stack(NULL);
	run_chain(deeper, 60, check_depth, arg);
}

static void test_depth_limit(void **state)
{
	(void)state;
	chain_function *path[400];
	uint64_t hash[3];
	unsigned seed = 5;
	for (int i = 0; i < 400; i++)
		path[i] = any_function(&seed);
	run_chain(path, 300, check_depth, &hash[0]);
	run_chain(path, 300, check_depth, &hash[1]);
	path[299] = path[299] == functions[0] ? functions[1] : functions[0];
	run_chain(path, 300, check_depth, &hash[2]);
	assert_int_equal(hash[0], hash[1]);
	assert_int_not_equal(hash[0], hash[2]);
	run_chain(path, 20, check_stack, NULL);
	/* the outer part is known, but not all of it belongs to the deeper stack */
	for (int i = 0; i < 60; i++)
		deeper[i] = any_function(&seed);
	run_chain(path, 100, check_and_go_deeper, &hash[0]);
	run_chain(path, 100, check_and_go_deeper, &hash[1]);
	assert_int_equal(hash[0], hash[1]);
}

/* ---- Signals ---- */

static struct walked signal_walked[2];
static int signals_seen;

/* libgcc is asked too: it goes through signal frames as well. */
static void on_signal(int number)
{
	(void)number;
	static struct stack s;
	ask_unwinder(&signal_walked[signals_seen & 1]);
	ask_libgcc(&s);
	assert_same_stack(&signal_walked[signals_seen & 1], &s);
	signals_seen++;
	__asm__ volatile("" ::: "memory");
}

static void raise_signal(void *arg)
{
	(void)arg;
	raise(SIGUSR1);
	check_stack(NULL);
}

static void run_signal(int flags)
{
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = flags };
	sigaction(SIGUSR1, &action, NULL);
	chain_function *path[] = { functions[3], functions[7], functions[5], functions[0] };
	signals_seen = 0;
	for (volatile int i = 0; i < 2; i++)
		run_chain(path, 4, raise_signal, NULL);
	assert_int_equal(signals_seen, 2);
	assert_int_equal(signal_walked[0].hash, signal_walked[1].hash);
}

/* Emulators may lack the system call by which stacks of unknown extent and code without an object are looked at. */
static void need_copies(void)
{
	char from = 1, to = 0;
	struct iovec there = { &from, 1 }, here = { &to, 1 };
	if (process_vm_readv(getpid(), &here, 1, &there, 1, 0) == 1)
		return;
	print_message("process_vm_readv: %s\n", strerror(errno));
	skip();
}

static void test_signal_frame(void **state)
{
	(void)state;
	need_copies();
	run_signal(0);
}

static void test_alternate_signal_stack(void **state)
{
	(void)state;
	need_copies();
	static char room[64 * 1024];
	stack_t alternate = { .ss_sp = room, .ss_size = sizeof(room) };
	sigaltstack(&alternate, NULL);
	run_signal(SA_ONSTACK);
	alternate.ss_flags = SS_DISABLE;
	sigaltstack(&alternate, NULL);
}

/* Ticks come in the middle of anything, the unwinder's own work included. */
static volatile sig_atomic_t ticks;

static void on_tick(int number)
{
	(void)number;
	static struct walked w;
	int saved = errno;
	ask_unwinder(&w);
	ticks++;
	errno = saved;
}

static void keep_hash(void *arg)
{
	*(uint64_t *)arg = walk_here();
	__asm__ volatile("" ::: "memory");
}

static void test_signals_in_the_middle(void **state)
{
	(void)state;
	enum { PATHS = 8, CALLS = 30 };
	chain_function *paths[PATHS][CALLS];
	uint64_t hash[PATHS], now;
	unsigned seed = 9;
	for (int i = 0; i < PATHS; i++)
		for (int k = 0; k < CALLS; k++)
			paths[i][k] = any_function(&seed);
	struct itimerval every = { { 0, 200 }, { 0, 200 } }, off = { { 0, 0 }, { 0, 0 } };
	struct sigaction action = { .sa_handler = on_tick, .sa_flags = SA_RESTART };
	sigaction(SIGALRM, &action, NULL);
	/* volatile: one copy of the loop's body, so that its calls come from one place */
	for (volatile unsigned turn = 0; ticks < 1000; turn++) {
		if (turn == PATHS)
			setitimer(ITIMER_REAL, &every, NULL);
		if (turn % 64 == 0) /* so that ticks meet learning too */
			unwind_objects_gone();
		run_chain(paths[turn % PATHS], CALLS, keep_hash, &now);
		if (turn < PATHS)
			hash[turn] = now;
		assert_int_equal(now, hash[turn % PATHS]);
	}
	setitimer(ITIMER_REAL, &off, NULL);
	run_chain(paths[0], CALLS, check_stack, NULL);
}

/* ---- Code that no object holds ---- */

typedef long code_function(void (*call)(void));

/* sub rsp; call; add rsp; ret, and the same with push rbp; mov rbp, rsp */
static code_function *make_code(bool frame_pointer)
{
#if defined(__x86_64__)
	static const uint8_t without[] = { 0x48, 0x83, 0xec, 0x18, 0xff, 0xd7,
					   0x48, 0x83, 0xc4, 0x18, 0xc3 };
	static const uint8_t with[] = { 0x55, 0x48, 0x89, 0xe5, 0x48, 0x83,
					0xec, 0x20, 0xff, 0xd7, 0xc9, 0xc3 };
#else
	static const uint32_t without[] = { 0xd10083ff, 0xf9000bfe, 0xd63f0000,
					    0xf9400bfe, 0x910083ff, 0xd65f03c0 };
	static const uint32_t with[] = { 0xa9bd7bfd, 0x910003fd, 0xd63f0000, 0xa8c37bfd,
					 0xd65f03c0 };
#endif
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(page, MAP_FAILED);
	memcpy(page, frame_pointer ? (const void *)with : (const void *)without,
	       frame_pointer ? sizeof(with) : sizeof(without));
	__builtin___clear_cache(page, (char *)page + 64);
	return (code_function *)page;
}

static struct walked code_walked;
static struct stack code_above; /* the stack at the caller of the code */

static void from_code(void)
{
	ask_unwinder(&code_walked);
	__asm__ volatile("" ::: "memory");
}

static code_function *code;

static void call_code(void *arg)
{
	(void)arg;
	ask_libgcc(&code_above);
	code(from_code);
	__asm__ volatile("" ::: "memory");
}

/* A frame record of x86-64 ends its frame; that of aarch64 lies anywhere, so it leads nowhere. */
#if defined(__x86_64__)
static void test_code_with_frame_pointer(void **state)
{
	(void)state;
	code = make_code(true);
	for (int i = 0; i < 2; i++) {
		run_chain(functions, 6, call_code, NULL);
		assert_int_equal(code_walked.flags, STACK_TRUNCATED); /* for all that is known */
		/* from_code and the code itself on top */
		assert_int_equal(code_walked.n, true_frames(&code_above) - 1 + 2);
		for (unsigned k = 3; k < code_walked.n; k++)
			assert_int_equal(code_walked.frames[k].ip, code_above.ip[k - 1]);
	}
	munmap((void *)code, 4096);
}

#else
static void test_code_with_frame_pointer(void **state)
{
	(void)state;
	code = make_code(true);
	run_chain(functions, 6, call_code, NULL);
	assert_int_equal(code_walked.flags, STACK_TRUNCATED);
	assert_in_range(code_walked.frames[1].ip, (uintptr_t)code, (uintptr_t)code + 64);
	munmap((void *)code, 4096);
}
#endif

static void test_code_without_frame_pointer(void **state)
{
	(void)state;
	code = make_code(false);
	run_chain(functions, 6, call_code, NULL);
	assert_int_equal(code_walked.flags, STACK_TRUNCATED);
	assert_in_range(code_walked.frames[1].ip, (uintptr_t)code, (uintptr_t)code + 64);
	munmap((void *)code, 4096);
}

/* ---- Other stacks ---- */

static ucontext_t context_main, context_other;

/* The context's first function returns into code of libc without unwind information, so the walk can't know that this is the end. */
static void check_other_stack(void *arg)
{
	static struct walked w;
	static struct stack s;
	(void)arg;
	ask_unwinder(&w);
	ask_libgcc(&s);
	w.flags &= ~(uint32_t)STACK_TRUNCATED;
	assert_same_stack(&w, &s);
	__asm__ volatile("" ::: "memory");
}

static void on_other_stack(void)
{
	check_other_stack(NULL);
	run_chain(functions, 12, check_other_stack, NULL);
}

static void test_context_switch(void **state)
{
	(void)state;
	need_copies();
	struct unwind_counts before, after;
	unwind_count(&before);
	for (int i = 0; i < 3; i++) {
		size_t bytes = 256 * 1024;
		char *room = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
				  -1, 0);
		getcontext(&context_other);
		context_other.uc_stack.ss_sp = room;
		context_other.uc_stack.ss_size = bytes;
		context_other.uc_link = &context_main;
		makecontext(&context_other, on_other_stack, 0);
		swapcontext(&context_main, &context_other);
		munmap(room, bytes);
		check_stack(NULL);
	}
	unwind_count(&after);
	assert_int_equal(after.slow - before.slow, 3 * 2);
}

/* ---- Threads ---- */

/* Who waits too long for another's learning goes on with a part of the stack; the next walk has it all. */
static void check_stack_at_last(void *arg)
{
	static __thread struct walked w;
	static __thread struct stack s;
	(void)arg;
	ask_unwinder(&w);
	/* on a loaded machine the learner may stand still for long: 20 s in all */
	for (int tries = 0; w.flags && tries < 20000; tries++) {
		usleep(1000);
		ask_unwinder(&w);
	}
	ask_libgcc(&s);
	assert_same_stack(&w, &s);
	__asm__ volatile("" ::: "memory");
}

static void *run_thread(void *arg)
{
	mine = unwind_thread_new();
	assert_non_null(mine);
	unsigned seed = (unsigned)(uintptr_t)arg;
	chain_function *path[40];
	for (int i = 0; i < 300; i++) {
		int calls = 1 + rand_r(&seed) % 40;
		for (int k = 0; k < calls; k++)
			path[k] = any_function(&seed);
		run_chain(path, calls, check_stack_at_last, NULL);
	}
	unwind_thread_free(mine);
	return NULL;
}

/* The second round runs on states that threads of the first have left, and finds the rules stale. */
static void test_threads(void **state)
{
	(void)state;
	for (int round = 0; round < 2; round++) {
		pthread_t threads[4];
		unwind_objects_gone();
		for (uintptr_t i = 0; i < 4; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
}

static void test_forked_child(void **state)
{
	(void)state;
	pid_t child = fork();
	if (!child) {
		unwind_forget();
		unwind_objects_gone();
		run_chain(functions, 12, check_stack, NULL);
		_exit(0);
	}
	int status;
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

/* ---- Objects that take each other's place ---- */

static void *run_swap(const char *file)
{
	char name[4096];
	ssize_t n = readlink("/proc/self/exe", name, sizeof(name) - 64);
	assert_true(n > 0);
	name[n] = 0;
	strcpy(strrchr(name, '/'), "/chain/");
	strcat(name, file);
	void *library = dlopen(name, RTLD_NOW);
	assert_non_null(library);
	chain_function *swap = (chain_function *)dlsym(library, "swap");
	run_chain(&swap, 1, check_stack, NULL);
	dlclose(library);
	unwind_objects_gone();
	return (void *)swap;
}

/* Linux fills the hole again; an emulator need not. */
static void test_object_in_the_place_of_another(void **state)
{
	(void)state;
	void *small = run_swap("libswap_small.so"), *large = run_swap("libswap_large.so");
	if (small != large) {
		print_message("the second object was mapped elsewhere\n");
		skip();
	}
	assert_ptr_equal(run_swap("libswap_small.so"), small);
}

/* The code of a chain and then the chain's objects, found beside the program. */
static int load_chains(void **state)
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_chains),
		cmocka_unit_test(test_changing_inner_part),
		cmocka_unit_test(test_other_callers_at_the_same_place),
		cmocka_unit_test(test_order_counts),
		cmocka_unit_test(test_callers_change_and_inner_frames_stay),
		cmocka_unit_test(test_repeated_stack_is_remembered),
		cmocka_unit_test(test_no_allocation),
		cmocka_unit_test(test_depth_limit),
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_alternate_signal_stack),
		cmocka_unit_test(test_signals_in_the_middle),
		cmocka_unit_test(test_code_with_frame_pointer),
		cmocka_unit_test(test_code_without_frame_pointer),
		cmocka_unit_test(test_context_switch),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_forked_child),
		cmocka_unit_test(test_object_in_the_place_of_another),
	};
	return cmocka_run_group_tests(tests, load_chains, NULL);
}
