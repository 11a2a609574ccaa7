/*
 * The reader of another thread's frames, on hand-made interpreters of all known versions and on
 * garbage. Real interpreters are tested by test/e2e/test_host.py.
 */
#include "preload/host_memory.h"
#include "preload/host_state.h"
#include "preload/python_sample.h"
#include "test/unit/made_python.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define NEED(condition)                  \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static struct sampled_chain chain;
static struct sample_memory memory;
static struct python_frame frames[SAMPLE_FRAMES_MOST];

/* ---- Memory ---- */

static void test_memory_that_is_not_mapped(void **state)
{
	uint64_t word = 1, from = 7, hole = 16;
	const struct host_piece pieces[] = { { &word, (uintptr_t)&from, 8 },
					     { &word, hole, 8 },
					     { &word, (uintptr_t)&from, 8 } };
	(void)state;
	assert_true(host_memory_start());
	assert_int_equal(host_memory_read(pieces, 1), 1);
	assert_int_equal(word, 7);
	assert_int_equal(host_memory_read(pieces, 3), 1);
	assert_false(host_memory_copy(&word, hole, 8));
	assert_false(host_memory_copy(&word, UINT64_MAX - 3, 8));
	assert_int_equal(host_memory_read(pieces, 0), 0);
}

/* ---- States ---- */

static void check_state(const char *text, unsigned expected, unsigned call)
{
	struct host_state s = host_state_parse(text);
	assert_int_equal(s.state, expected);
	assert_int_equal(s.system_call, call);
}

static void test_states(void **unused)
{
	char text[100];
	(void)unused;
	check_state("running\n", SAMPLE_RUNNING, 0);
	check_state("", SAMPLE_UNKNOWN, 0);
	check_state("what", SAMPLE_UNKNOWN, 0);
	check_state("-1 0x7ffc2 0x7f11\n", SAMPLE_IO, 0);
	static const struct {
		long call;
		unsigned state;
	} known[] = {
		{ SYS_clock_nanosleep, SAMPLE_SLEEP },
		{ SYS_futex, SAMPLE_LOCK },
		{ SYS_ppoll, SAMPLE_POLL },
		{ SYS_pread64, SAMPLE_IO },
		{ SYS_wait4, SAMPLE_CHILD },
		{ SYS_waitid, SAMPLE_CHILD },
		{ SYS_ioctl, SAMPLE_BLOCKED },
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		snprintf(text, sizeof(text), "%ld 0x5 0x0 0x7fff 0x0 0x0 0x0 0x7ff0 0x7f00\n",
			 known[i].call);
		check_state(text, known[i].state, (unsigned)known[i].call);
		assert_int_equal(host_state_parse(text).futex,
				 known[i].state == SAMPLE_LOCK ? 5 : 0);
	}
	struct host_state s = host_state_parse(text);
	assert_int_equal(s.sp, 0x7ff0);
	assert_int_equal(s.pc, 0x7f00);
	assert_false(s.is_fault);
	s = host_state_parse("-1 0x7ffc2 0x7f11\n");
	assert_int_equal(s.sp, 0x7ffc2);
	assert_int_equal(s.pc, 0x7f11);
	assert_true(s.is_fault);
	/* time.sleep() up to Python 3.10: a select of no descriptor */
	snprintf(text, sizeof(text), "%d 0x0 0x0 0x0 0x0 0x7ff0\n", SYS_pselect6);
	check_state(text, SAMPLE_SLEEP, SYS_pselect6);
	snprintf(text, sizeof(text), "%d 0x3 0x0 0x0 0x0 0x7ff0\n", SYS_pselect6);
	check_state(text, SAMPLE_POLL, SYS_pselect6);
}

static void test_own_state(void **state)
{
	int file = -1;
	(void)state;
	/* of the calling thread itself, the file shows the call that reads it */
	assert_int_equal(host_state_read((uint32_t)gettid(), &file).state, SAMPLE_IO);
	assert_true(file >= 0);
	close(file);
	file = -1;
	assert_int_equal(host_state_read(0x7fffffff, &file).state, SAMPLE_UNKNOWN);
}

/* ---- What two reads share ---- */

/* Each text has one frame per two characters, innermost first: the function, which is also its
 * frame, and the position. */
static struct sampled_chain chain_of(const char *text)
{
	struct sampled_chain c = { .is_whole = true };
	for (; *text; text += 2)
		c.frames[c.n++] = (struct sampled_frame){ .frame = (uint64_t)text[0] << 8,
							  .code = (uint64_t)text[0],
							  .position = (uint64_t)text[1] };
	return c;
}

static void check_share(const char *first, const char *again, const char *expected)
{
	struct sampled_chain a = chain_of(first), b = chain_of(again), e = chain_of(expected);
	python_sample_share(&a, &b);
	assert_int_equal(a.n, e.n);
	for (uint32_t i = 0; i < e.n; i++)
		assert_memory_equal(&a.frames[i], &e.frames[i], sizeof(*e.frames));
}

static void test_share(void **state)
{
	struct sampled_chain a = chain_of("f1g1m1"), b = a;
	(void)state;
	check_share("f1g1m1", "f1g1m1", "f1g1m1");
	/* the innermost frame has moved on */
	check_share("f1g1m1", "f2g1m1", "f1g1m1");
	/* f returned, or called h: g was in the call of f when it was read first */
	check_share("f1g1m1", "g1m1", "f1g1m1");
	check_share("f1g1m1", "h1f1g1m1", "f1g1m1");
	check_share("f1g1m1", "h1g1m1", "f1g1m1");
	/* g has moved on: which line of it called f is not known */
	check_share("f1g1m1", "f1g2m1", "g1m1");
	check_share("e1f1g1m1", "h1m1", "g1m1");
	check_share("f1g1m1", "", "m1");
	check_share("", "f1g1m1", "");
	b.is_whole = false;
	python_sample_share(&a, &b);
	assert_int_equal(a.n, 0);
}

/* ---- In a child: a process has one Python ---- */

static uint64_t state_of_thread(void)
{
	return (uintptr_t)thread;
}

static bool sample(void)
{
	if (!python_sample_read(&memory, state_of_thread(), NULL, 0, &chain))
		return false;
	python_sample_confirm(&memory, state_of_thread(), NULL, 0, &chain);
	return true;
}

/* Verifies the interpreter, as a thread's first stack does. */
static bool verify(void)
{
	struct python_chain read;
	is_there = true;
	python_start(64);
	return python_read(&read) && python_sample_is_ready() && host_memory_start();
}

static int sample_known_stack(void)
{
	struct python_chain read;
	NEED(!python_sample_is_ready());
	NEED(verify());
	NEED(*(const uint64_t *)python_state_place() == state_of_thread());
	for (int i = 0; i < 3; i++) { /* the later reads expect the frames of the first */
		NEED(sample() && chain.n == 3 && chain.is_whole);
		NEED(python_sample_resolve(&chain, frames) == 3);
		NEED(frames[0].code == 1 && frames[1].code == 2 && frames[2].code == 1);
		NEED(frames[0].lasti == 8 && frames[1].lasti == 6 && frames[2].lasti == 4);
	}
	/* the thread's own reads give the same ids */
	uint32_t flags = 0;
	NEED(python_read(&read) && python_resolve(&read, frames, &flags));
	NEED(frames[0].code == 1 && frames[1].code == 2 && frames[2].code == 1);
	/* a thread that has no frames now, and one that is gone */
	make_thread(NULL);
	NEED(sample() && chain.n == 0);
	thread = (uint8_t *)16;
	NEED(sample() && chain.n == 0);
	is_finalizing = true;
	NEED(sample() && chain.n == 0);
	return 0;
}

static int sample_other_code(void)
{
	NEED(verify());
	NEED(sample() && python_sample_resolve(&chain, frames) == 3 && frames[0].code == 1);
	/* another code object at the same address */
	uint8_t *code = (uint8_t *)(uintptr_t)chain.frames[0].code;
	set_word(code, layout.code_identity[0], 0x1234500000678);
	set_pointer(code, layout.code_name, make_ascii("other"));
	bool found = false;
	for (int i = 0; i < 32; i++) { /* one of eight samples compares one frame */
		NEED(sample() && python_sample_resolve(&chain, frames) == 3);
		found |= frames[0].code == 3;
	}
	NEED(found);
	/* no code object at all */
	uint8_t *wrong = take(512);
	make_thread(make_frame(wrong, 2, make_shim(NULL)));
	NEED(sample() && chain.n == 1);
	NEED(python_sample_resolve(&chain, frames) == 1 && !frames[0].code);
	make_thread(make_frame((const uint8_t *)4096, 2, make_shim(NULL)));
	NEED(sample() && chain.n == 1);
	NEED(python_sample_resolve(&chain, frames) == 1 && !frames[0].code);
	return 0;
}

static int sample_deep_stack(void)
{
	uint8_t *code = make_code("a.py", "f", 10), *frame = make_shim(NULL);
	NEED(verify());
	for (int i = 0; i < SAMPLE_FRAMES_MOST - 1; i++)
		frame = make_frame(code, 2, frame);
	make_thread(frame);
	NEED(sample() && chain.n == SAMPLE_FRAMES_MOST - 1 && chain.is_whole);
	make_thread(make_frame(code, 2, make_frame(code, 2, frame)));
	NEED(sample() && chain.n == 0);
	set_pointer(frame, layout.frame_previous, frame); /* a loop */
	make_thread(frame);
	NEED(sample() && chain.n == 0);
	return 0;
}

/* Words of the interpreter are overwritten at random, as by a thread that frees and reuses them. */
static int sample_garbage(void)
{
	static uint8_t saved[sizeof(arena)];
	NEED(verify());
	uint64_t random = 0x9E3779B97F4A7C15;
	memcpy(saved, arena, sizeof(arena));
	for (int i = 0; i < 4000; i++) {
		for (int k = 0; k < 4; k++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			uint64_t words[] = { 0,
					     8,
					     UINT64_MAX,
					     random,
					     (uintptr_t)arena + random % sizeof(arena),
					     (uintptr_t)types,
					     1ull << 40,
					     (uintptr_t)arena + (random % sizeof(arena) & ~7ull) };
			set_word(arena, (unsigned)(random >> 20) % arena_used & ~7u,
				 words[(random >> 60) & 7]);
		}
		NEED(sample());
		NEED(chain.n <= SAMPLE_FRAMES_MOST);
		python_sample_resolve(&chain, frames);
		python_sample_collecting(state_of_thread());
		memcpy(arena, saved, sizeof(arena));
	}
	return 0;
}

/* The collector's state, at an offset that only its content gives away. */
static int sample_collector(void)
{
	enum { AT = 1000, GENERATIONS = 72, COLLECTING = 104 };
	static uint64_t interpreter[4096];
	NEED(verify());
	set_pointer(thread, 16, interpreter);
	uint8_t *holder = layout.minor < 9 ? (uint8_t *)runtime : (uint8_t *)interpreter;
	unsigned at = layout.minor < 9 ? 512 : AT * 8;
	set_pointer(holder, at, holder + at - GENERATIONS);
	uint64_t found = python_sample_collecting(state_of_thread());
	if (layout.minor > 13 || layout.is_free_threaded)
		NEED(!found);
	else
		NEED(found == (uintptr_t)holder + at + COLLECTING);
	/* the GIL */
	uint64_t gil = (uintptr_t)(layout.minor < 12 ? (uint8_t *)runtime : (uint8_t *)interpreter);
	NEED(python_sample_is_gil(state_of_thread(), gil + 360));
	NEED(!python_sample_is_gil(state_of_thread(), gil - 8));
	NEED(!python_sample_is_gil(state_of_thread(), (uintptr_t)&gil));
	/* the thread that has it: the word before it that is a state of the same interpreter */
	static uint64_t other_thread[8], lock[16];
	uint64_t other = (uintptr_t)other_thread, self = state_of_thread();
	NEED(!python_sample_gil_holder(self, (uintptr_t)&lock[14]));
	set_pointer((uint8_t *)other_thread, 16, interpreter);
	memcpy((uint8_t *)&lock[3], &other, sizeof(other));
	NEED(python_sample_gil_holder(self, (uintptr_t)&lock[14] + 4) == other);
	memcpy((uint8_t *)&lock[3], &self, sizeof(self));
	NEED(!python_sample_gil_holder(self, (uintptr_t)&lock[14]));
	return 0;
}

static void run_in_child(int (*body)(void))
{
	int status;
	pid_t child = fork();
	if (!child) {
		struct err e;
		journal_forget(); /* its mapping is not inherited */
		if (journal_open(folder, 16 << 20, CLOCK_KIND_MONOTONIC_NS, &e))
			_exit(2);
		dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
		int line = body();
		if (line)
			dprintf(STDOUT_FILENO, "# %s:%d (3.%u)\n", __FILE__, line, layout.minor);
		_exit(line != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void test_interpreters(void **state)
{
	static int (*const bodies[])(void) = { sample_known_stack, sample_other_code,
					       sample_deep_stack, sample_garbage,
					       sample_collector };
	(void)state;
	for (int i = 0; i < ROWS; i++)
		for (size_t k = 0; k < sizeof(bodies) / sizeof(*bodies); k++) {
			begin_interpreter(row_at(i));
			is_there = false;
			python_code_forget();
			const uint8_t *code = make_code("a.py", "f", 10);
			make_stack(code, make_code("a.py", "g", 20), code);
			run_in_child(bodies[k]);
		}
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_memory_that_is_not_mapped),
		test(test_states),
		test(test_own_state),
		test(test_share),
		test(test_interpreters),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
