/*
 * Stacks of other threads, which are blocked in a system call. Of their registers, only the stack
 * pointer and the program counter are known. libgcc says, in the thread itself, what is right.
 */
#include "test/unit/unwind_check.h"

#include "preload/host_state.h"
#include "preload/unwind_objects.h"

#include <pthread.h>
#include <sys/syscall.h>

/* Functions whose frames end at an offset from bp: compiled without optimization, and with it. */
static chain_function *unoptimized[CHAIN_SHAPES], *with_bp[CHAIN_SHAPES];

static int load(const char *library_name, chain_function **to)
{
	char name[4096];
	ssize_t n = readlink("/proc/self/exe", name, sizeof(name) - 64);
	name[n] = 0;
	strcpy(strrchr(name, '/'), library_name);
	void *library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (!library)
		return -1;
	memcpy(to, dlsym(library, "chain_functions"), CHAIN_SHAPES * sizeof(*to));
	return 0;
}

static int load_all(void **state)
{
	return load_chains(state) || load("/chain/libchain_O0.so", unoptimized) ||
			       load("/chain/libchain_bp.so", with_bp)
		       ? -1
		       : 0;
}

/* ---- A blocked thread ---- */

static struct blocked {
	chain_function *path[16];
	long calls;
	int pipe[2];
	_Atomic uint32_t tid;
	struct stack true_stack; /* [1] is block() */
} blocked;

/* AddressSanitizer would align its frame, and then only bp says where the frame ends. */
static __attribute__((noinline, no_sanitize_address)) void block(void *arg)
{
	struct blocked *b = arg;
	char byte;
	ask_libgcc(&b->true_stack);
	b->tid = (uint32_t)gettid();
	/* a sanitizer's read() would be one of the functions on the stack */
	assert_int_equal(syscall(SYS_read, b->pipe[0], &byte, 1), 1);
	__asm__ volatile("" ::: "memory");
}

static void *run_blocked(void *arg)
{
	struct blocked *b = arg;
	run_chain(b->path, b->calls, block, b);
	return NULL;
}

static struct host_state wait_until_blocked(void)
{
	struct host_state s = { 0 };
	int file = -1;
	while (s.state != SAMPLE_IO || !s.sp) {
		usleep(100);
		if (blocked.tid)
			s = host_state_read(blocked.tid, &file);
	}
	close(file);
	return s;
}

/* Walks the stack of a thread that is blocked within these functions. */
static void walk_blocked(chain_function *const *path, long calls, struct walked *w)
{
	pthread_t thread;
	blocked.tid = 0;
	blocked.calls = calls;
	memcpy(blocked.path, path, (size_t)calls * sizeof(*path));
	assert_int_equal(pipe(blocked.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, run_blocked, &blocked), 0);
	struct host_state s = wait_until_blocked();
	struct unwind_regs regs = { s.pc, s.sp, UNWIND_BP_UNKNOWN };
	w->flags = 0;
	w->n = unwind_other(mine, &regs, NULL, w->frames, MOST, &w->flags);
	assert_int_equal(write(blocked.pipe[1], "", 1), 1);
	pthread_join(thread, NULL);
	close(blocked.pipe[0]);
	close(blocked.pipe[1]);
}

/* Checks the frames from block() outwards. The frame of syscall() comes before. Returns whether the
 * stack is complete. */
static bool check_frames(const struct walked *w)
{
	const struct stack *s = &blocked.true_stack;
	unsigned first = 0, n_true = true_frames(s);
	while (first < w->n && w->frames[first].sp < s->sp[1])
		first++;
	assert_in_range(first, 1, 4);
	for (unsigned i = 1; first + i < w->n; i++) {
		assert_true(1 + i < n_true);
		assert_int_equal(w->frames[first + i].ip, s->ip[1 + i]);
		assert_int_equal(w->frames[first + i].sp, s->sp[1 + i]);
	}
	bool is_whole = w->n - first == n_true - 1;
	assert_int_equal(w->flags, is_whole ? 0 : STACK_TRUNCATED);
	return is_whole;
}

static struct walked walked;

static bool is_whole(chain_function *const *path, long calls)
{
	walk_blocked(path, calls, &walked);
	return check_frames(&walked);
}

/* ---- Tests ---- */

static void test_optimized(void **state)
{
	(void)state;
	for (int i = 0; i < CHAIN_SHAPES; i++) {
		bool needs_bp = i == 5 || i == 6 || i == 7 || i == 8;
		chain_function *const path[] = { functions[1], functions[i], functions[0] };
		bool whole = is_whole(path, 3);
		if (!needs_bp)
			assert_true(whole);
	}
}

/* Each function is called through a pointer. So only the function's first instructions say where
 * its frame ends. */
static void test_unoptimized(void **state)
{
	(void)state;
	for (int i = 0; i < CHAIN_SHAPES; i++) {
		bool moves_sp = i == 5 || i == 6 || i == 7; /* alloca, realigned, both */
		chain_function *const path[] = { unoptimized[1], unoptimized[i], unoptimized[0] };
		bool whole = is_whole(path, 3);
		if (!moves_sp)
			assert_true(whole);
	}
}

/* The compiler moves other instructions between those that make the frame. */
static void test_optimized_with_bp(void **state)
{
	unsigned n = 0;
	(void)state;
	for (int i = 0; i < CHAIN_SHAPES; i++) {
		chain_function *const path[] = { with_bp[1], with_bp[i], with_bp[0] };
		n += is_whole(path, 3);
	}
	print_message("%u of %d stacks are complete\n", n, CHAIN_SHAPES);
	assert_int_equal(n, CHAIN_SHAPES);
}

/* A frame is left out rather than wrong. */
static void test_mixed(void **state)
{
	unsigned seed = 7, n = 0;
	(void)state;
	for (int round = 0; round < 300; round++) {
		chain_function *path[12];
		for (int i = 0; i < 12; i++)
			path[i] = rand_r(&seed) & 1
					  ? any_function(&seed)
					  : unoptimized[(unsigned)rand_r(&seed) % CHAIN_SHAPES];
		n += is_whole(path, 12);
	}
	print_message("%u of 300 stacks are complete\n", n);
	assert_in_range(n, 200, 300); /* measured: 255 */
}

/* ---- Directly called functions ---- */

/* At the end of a frame that alloca made, the caller shows where it is. */
static __attribute__((noinline, optimize("no-omit-frame-pointer"))) long with_room(long bytes)
{
	volatile char *room = __builtin_alloca((size_t)bytes);
	room[0] = 1;
	block(&blocked);
	return room[0];
}

static long call_with_room(struct chain *c, long left)
{
	(void)c;
	(void)left;
	long sum = with_room(200);
	return sum + 1;
}

static void test_call_instruction(void **state)
{
	(void)state;
	chain_function *const path[] = { functions[0], functions[3], call_with_room };
	assert_true(is_whole(path, 3));
}

/* A copy that someone else made is enough, and the thread may go on. */
static void test_given_copy(void **state)
{
	static uint64_t buffer[STACK_COPY_BYTES / 8];
	struct stack_window window;
	pthread_t thread;
	chain_function *const path[] = { functions[2], functions[3], functions[0] };
	(void)state;
	blocked.tid = 0;
	blocked.calls = 3;
	memcpy(blocked.path, path, sizeof(path));
	assert_int_equal(pipe(blocked.pipe), 0);
	assert_int_equal(pthread_create(&thread, NULL, run_blocked, &blocked), 0);
	struct host_state s = wait_until_blocked();
	assert_true(stack_copy(s.sp, buffer, sizeof(buffer), &window));
	assert_int_equal(write(blocked.pipe[1], "", 1), 1);
	pthread_join(thread, NULL);
	struct unwind_regs regs = { s.pc, s.sp, UNWIND_BP_UNKNOWN };
	walked.flags = 0;
	walked.n = unwind_other(mine, &regs, &window, walked.frames, MOST, &walked.flags);
	assert_true(check_frames(&walked));
	close(blocked.pipe[0]);
	close(blocked.pipe[1]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_optimized),	  cmocka_unit_test(test_unoptimized),
		cmocka_unit_test(test_optimized_with_bp), cmocka_unit_test(test_mixed),
		cmocka_unit_test(test_call_instruction),  cmocka_unit_test(test_given_copy),
	};
	return cmocka_run_group_tests(tests, load_all, NULL);
}
