/*
 * The unwinder across signals, code without unwind information, other stacks, threads, and objects
 * that take each other's place.
 */
#include "test/unit/unwind_check.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <ucontext.h>

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

/*
 * Emulators may lack the system call that reads stacks of unknown extent and code without an
 * object.
 */
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
	for (volatile unsigned iteration = 0; ticks < 1000; iteration++) {
		if (iteration == PATHS)
			setitimer(ITIMER_REAL, &every, NULL);
		if (iteration % 64 == 0) /* so that ticks meet learning too */
			unwind_objects_gone();
		run_chain(paths[iteration % PATHS], CALLS, keep_hash, &now);
		if (iteration < PATHS)
			hash[iteration] = now;
		assert_int_equal(now, hash[iteration % PATHS]);
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

/* The walk ends in code without unwind information. */
static void check_ends_in_code(bool has_frame_pointer)
{
	code = make_code(has_frame_pointer);
	run_chain(functions, 6, call_code, NULL);
	assert_int_equal(code_walked.flags, STACK_TRUNCATED);
	assert_in_range(code_walked.frames[1].ip, (uintptr_t)code, (uintptr_t)code + 64);
	munmap((void *)code, 4096);
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
	check_ends_in_code(true);
}
#endif

static void test_code_without_frame_pointer(void **state)
{
	(void)state;
	check_ends_in_code(false);
}

/* ---- Other stacks ---- */

static ucontext_t context_main, context_other;

/*
 * The context's first function returns into code of libc without unwind information, so the walk
 * can't know that this is the end.
 */
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
		run_chain(path, calls, check_stack, NULL);
	}
	unwind_thread_free(mine);
	return NULL;
}

/*
 * The threads learn the same rules at the same time, and none gets a part of a stack. Later rounds
 * run on states that threads of the first have left, and find the rules stale.
 */
static void test_threads(void **state)
{
	(void)state;
	for (int round = 0; round < 4; round++) {
		pthread_t threads[4];
		unwind_objects_gone();
		for (uintptr_t i = 0; i < 4; i++)
			assert_int_equal(
				pthread_create(&threads[i], NULL, run_thread, (void *)(i + 1)), 0);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
}

/* ---- A thread that loses its CPU while it learns ---- */

static atomic_bool is_over;

/* Gives the thread almost no CPU time: a busy thread has the same CPU. */
static void *be_busy(void *arg)
{
	sched_setaffinity(0, sizeof(cpu_set_t), arg);
	while (!is_over)
		;
	return NULL;
}

static void *learn_slowly(void *arg)
{
	static struct walked w;
	const struct sched_param none = { 0 };
	mine = unwind_thread_new();
	sched_setaffinity(0, sizeof(cpu_set_t), arg);
	sched_setscheduler(0, SCHED_IDLE, &none);
	while (!is_over) {
		unwind_objects_gone();
		ask_unwinder(&w);
	}
	unwind_thread_free(mine);
	return NULL;
}

/* Other threads do not wait for it, and see their whole stacks. */
static void test_a_slow_learner(void **state)
{
	pthread_t busy, slow;
	cpu_set_t all, one;
	int cpu = 0;
	(void)state;
	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	assert_int_equal(pthread_create(&slow, NULL, learn_slowly, &one), 0);
	assert_int_equal(pthread_create(&busy, NULL, be_busy, &one), 0);
	for (int i = 0; i < 300; i++) {
		unwind_objects_gone();
		run_chain(functions, 12, check_stack, NULL);
		usleep(1000);
	}
	is_over = true;
	pthread_join(busy, NULL);
	pthread_join(slow, NULL);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signal_frame),
		cmocka_unit_test(test_alternate_signal_stack),
		cmocka_unit_test(test_signals_in_the_middle),
		cmocka_unit_test(test_code_with_frame_pointer),
		cmocka_unit_test(test_code_without_frame_pointer),
		cmocka_unit_test(test_context_switch),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_a_slow_learner),
		cmocka_unit_test(test_forked_child),
		cmocka_unit_test(test_object_in_the_place_of_another),
	};
	return cmocka_run_group_tests(tests, load_chains, NULL);
}
