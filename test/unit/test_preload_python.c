/*
 * Python's frames read from hand-made interpreters by the library's whole Python half, verification
 * included. Real interpreters are tested by test/e2e/test_python_frames.py.
 */
#include "preload/python_verify.h"
#include "preload/python_walk.h"
#include "test/unit/made_python.h"

#include <fcntl.h>
#include <sys/wait.h>

/* ---- Choosing ---- */

static const char *choose(uint32_t version, const uint64_t *words)
{
	struct python_api asked = { .version = version, .runtime = words };
	return python_layout_choose(&asked, &layout);
}

static void test_versions_that_are_not_known(void **state)
{
	static const uint32_t versions[] = { 0,		 0x02071200, 0x030712f0, 0x031002f0,
					     0x030e00a3, 0x030f00b1, 0x040002f0 };
	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(*versions); i++) {
		begin_interpreter(row_at(9));
		runtime[1] = versions[i];
		assert_string_equal(choose(versions[i], runtime),
				    "profrun does not know the frame layout of this version");
	}
	assert_null(choose(0x030b07f0, NULL));
	assert_null(choose(0x030b00c1, NULL));
}

static void test_words_of_the_interpreter(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		const struct python_layout *row = row_at(i);
		begin_interpreter(row);
		assert_null(choose(version_hex(row->minor), runtime));
		assert_false(layout.is_moved);
		assert_int_equal(layout.is_free_threaded, row->is_free_threaded);
		if (row->minor < 13)
			continue;
		assert_non_null(choose(version_hex(row->minor), NULL));
		assert_non_null(choose(version_hex(row->minor) + 0x100, runtime));
		runtime[groups[row->minor - 13].frame + 1] = 16;
		assert_null(choose(version_hex(row->minor), runtime));
		assert_true(layout.is_moved);
		assert_int_equal(layout.frame_previous, 16);
		assert_int_equal(layout.code_identity[1], row->code_identity[1]);
		runtime[groups[row->minor - 13].code + 4] = 256;
		assert_null(choose(version_hex(row->minor), runtime));
		assert_int_equal(layout.code_lines, 256);
		assert_int_equal(layout.code_identity[1],
				 256); /* co_version has moved, who knows where to */
		runtime[groups[row->minor - 13].text + 1] = 1 << 20;
		assert_non_null(choose(version_hex(row->minor), runtime));
	}
}

/* ---- Verifying ---- */

static enum python_verdict verify(void)
{
	return python_verify(&api, &layout, (uint64_t)(uintptr_t)thread);
}

static void test_first_chain(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, code, code);
		assert_int_equal(verify(), PYTHON_VERIFIED);
		make_thread(NULL);
		assert_int_equal(verify(), PYTHON_NO_FRAMES);
		make_thread(make_shim(NULL));
		assert_int_equal(verify(), PYTHON_NO_FRAMES);
	}
}

/* Spoils one thing after another; each is enough to doubt. */
static void test_doubts(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		const unsigned fields[] = { layout.object_type, layout.code_file, layout.code_name,
					    layout.code_lines };
		for (size_t j = 0; j < sizeof(fields) / sizeof(*fields); j++) {
			uint8_t *bad = make_code("a.py", "f", 10),
				*good = make_code("a.py", "f", 10);
			make_stack(good, bad, good);
			set_word(bad, fields[j], 8); /* nothing is mapped there */
			assert_int_equal(verify(), PYTHON_DOUBTFUL);
			set_pointer(bad, fields[j], bad);
			assert_int_equal(verify(), PYTHON_DOUBTFUL);
		}
		uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, code, code);
		set_half(code, layout.code_first_line, 0x80000000);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		static const uint8_t too_long[] = { 0xef, 0x02, 0xef, 0x02, 0xef, 0x02 };
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, 2, NULL));
		set_pointer(code, layout.code_lines, make_bytes(too_long, sizeof(too_long)));
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		uint8_t *text = make_text("a.py\x01", 5, 1, true);
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, 2, NULL));
		set_pointer(code, layout.code_file, text);
		assert_int_equal(verify(), PYTHON_VERIFIED);
		set_word(text, layout.text_length, 4); /* no zero ends it */
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		code = make_code("a.py", "f", 10);
		make_thread(make_frame(code, CODE_BYTES, NULL));
		assert_int_equal(verify(),
				 layout.is_free_threaded ? PYTHON_VERIFIED : PYTHON_DOUBTFUL);
		make_thread(make_frame(code, 2, NULL) + 4);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
		make_thread((const uint8_t *)16);
		assert_int_equal(verify(), PYTHON_DOUBTFUL);
	}
}

/* ---- Walking ---- */

static struct python_chain walk_with(python_walk *walk, const uint8_t *top, uint32_t most)
{
	struct python_chain chain;
	walk(&layout, (uint64_t)(uintptr_t)top, most, 0, &chain);
	return chain;
}

static void test_walk(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_walk *walk = python_walk_for(&layout);
		layout.is_moved = true;
		python_walk *slow = python_walk_for(&layout);
		assert_ptr_not_equal(walk, slow);
		uint8_t *code = make_code("a.py", "f", 10), *other = make_code("a.py", "g", 20);
		uint8_t *top = make_stack(code, other, code), *same = make_stack(code, other, code);
		struct python_chain chain = walk_with(walk, top, 8);
		assert_int_equal(chain.n, 3);
		assert_false(chain.is_truncated);
		assert_true(walk_with(slow, top, 8).hash == chain.hash);
		assert_true(walk_with(walk, same, 8).hash == chain.hash);
		assert_true(walk_with(walk, make_stack(code, code, code), 8).hash != chain.hash);
		assert_true(walk_with(walk, make_stack(other, code, code), 8).hash != chain.hash);
		assert_int_equal(walk_with(walk, top, 3).is_truncated, false);
		assert_int_equal(walk_with(walk, top, 2).n, 2);
		assert_true(walk_with(walk, top, 2).is_truncated);
		set_word(code, layout.code_identity[0], 0x1234500000678);
		assert_true(walk_with(walk, top, 8).hash != chain.hash);
		assert_true(walk_with(walk, NULL, 8).hash == 0);
	}
}

/*
 * The same frames at the same places, once run by one activation of the evaluator and once by two.
 */
static void test_entries_are_part_of_the_number(void **state)
{
	(void)state;
	for (int i = 3; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		python_walk *walk = python_walk_for(&layout);
		const uint8_t *code = make_code("a.py", "f", 10);
		uint8_t *outer = make_frame(code, 4, make_shim(NULL));
		uint8_t *direct = make_frame(code, 2, outer);
		uint8_t *anew = make_frame(code, 2, make_shim(outer));
		mark_entry(anew);
		struct python_chain a = walk_with(walk, direct, 8), b = walk_with(walk, anew, 8);
		assert_int_equal(a.n, b.n);
		assert_true(a.hash != b.hash);
	}
}

/* ---- All of it, in a child: a process has one Python ---- */

#define NEED(condition)                  \
	do {                             \
		if (!(condition))        \
			return __LINE__; \
	} while (0)

static int read_whole_stack(void)
{
	struct python_chain chain;
	struct python_frame frames[PYTHON_DEPTH_MOST];
	uint32_t flags = 0;
	python_start(64);
	NEED(!python_read(&chain)); /* there is none yet */
	is_there = true;
	NEED(!python_read(&chain));
	python_objects_changed();
	NEED(python_read(&chain) && chain.n == 3);
	NEED(python_resolve(&chain, frames, &flags));
	NEED(frames[0].code == 1 && frames[1].code == 2 && frames[2].code == 1);
	NEED(frames[0].lasti == 8 && frames[1].lasti == 6 && frames[2].lasti == 4);
	NEED(frames[2].is_entry && frames[0].is_entry == (layout.minor < 11));
	NEED(layout.frame_owner == ABSENT || (frames[2].marker && !frames[0].marker));
	NEED(flags == (layout.minor < 10 ? STACK_BY_NAME : 0u));
	NEED(!strncmp(info(), "3.", 2) && !strchr(info(), ':'));
	is_finalizing = true; /* this is the main thread */
	NEED(python_read(&chain));
	thread = NULL;
	NEED(!python_read(&chain) && chain.hash == 0);
	return 0;
}

/* A free-threaded thread's own copy of the bytecode. */
static int read_own_bytecode(void)
{
	struct python_chain chain;
	struct python_frame frame;
	uint32_t flags = 0;
	uint8_t *code = make_code("a.py", "f", 10), *copies = take(64), *bytecode = take(64);
	uint8_t *top = make_frame(code, 0, make_shim(NULL));
	set_word(copies, 0, 3);
	set_pointer(copies, 8 + 2 * 8, bytecode);
	set_pointer(code, layout.code_tlbc, copies);
	set_half(top, layout.frame_tlbc, 2);
	set_pointer(top, layout.frame_position, bytecode + 12);
	make_thread(top);
	is_there = true;
	python_start(64);
	NEED(python_read(&chain) && python_resolve(&chain, &frame, &flags) && frame.lasti == 12);
	set_half(top, layout.frame_tlbc, 3); /* there are three, 0 to 2 */
	NEED(python_read(&chain) && python_resolve(&chain, &frame, &flags));
	NEED(frame.lasti == FRAME_LASTI_UNKNOWN && frame.code == 1);
	return 0;
}

/* What is wrong is said, and nothing is read from then on. */
static int doubt_whole_stack(void)
{
	struct python_chain chain;
	is_there = true;
	make_thread((const uint8_t *)16);
	python_start(64);
	NEED(!python_read(&chain));
	uint8_t *code = make_code("a.py", "f", 10);
	make_stack(code, code, code);
	NEED(!python_read(&chain));
	python_objects_changed();
	NEED(!python_read(&chain));
	NEED(strstr(info(), ": the interpreter's frames do not match the known layout of this "
			    "version"));
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
			dprintf(STDOUT_FILENO, "# %s:%d\n", __FILE__, line);
		_exit(line != 0);
	}
	waitpid(child, &status, 0);
	assert_int_equal(status, 0);
}

static void test_whole(void **state)
{
	(void)state;
	for (int i = 0; i < ROWS; i++) {
		begin_interpreter(row_at(i));
		is_there = false;
		python_code_forget();
		const uint8_t *code = make_code("a.py", "f", 10);
		make_stack(code, make_code("a.py", "g", 20), code);
		run_in_child(read_whole_stack);
		run_in_child(doubt_whole_stack);
		if (layout.frame_tlbc != ABSENT)
			run_in_child(read_own_bytecode);
	}
}

int main(void)
{
#define test(function) cmocka_unit_test_setup_teardown(function, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		test(test_versions_that_are_not_known),
		test(test_words_of_the_interpreter),
		test(test_first_chain),
		test(test_doubts),
		test(test_walk),
		test(test_entries_are_part_of_the_number),
		test(test_whole),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
