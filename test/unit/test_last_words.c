/* The exception of a Python program, from what the program wrote to stderr last. */
#include "core/source/process/last_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static void expect(const char *text, const char *exception)
{
	struct last_words found;
	last_words_find(text, &found);
	assert_string_equal(found.exception, exception);
}

#define BEGIN "Traceback (most recent call last):\n"
#define FRAME "  File \"/home/u/train.py\", line 3, in <module>\n    run()\n    ~~~^^\n"

static void exceptions(void **state)
{
	(void)state;
	expect(BEGIN FRAME "ValueError: no batch\n", "ValueError: no batch");
	expect("a log\n" BEGIN FRAME FRAME "torch.OutOfMemoryError: full\nmore\n",
	       "torch.OutOfMemoryError: full");
	expect(BEGIN FRAME "KeyError\n", "KeyError");
	expect(BEGIN FRAME "  [Previous line repeated 9 more times]\nRecursionError: deep\n",
	       "RecursionError: deep");
	expect(BEGIN FRAME "KeyError: 1\n\nThe above exception was the direct cause of the "
			   "following exception:\n\n" BEGIN FRAME "ValueError: 2\n",
	       "ValueError: 2");
	/* raised in a data loader's worker */
	expect(BEGIN FRAME "KeyError: Caught KeyError in DataLoader worker process 1.\n"
			   "Original " BEGIN FRAME "KeyError: 'label'\n\n",
	       "KeyError: 'label'");
	expect("Original " BEGIN FRAME "KeyError: 'label'\n" BEGIN FRAME "ValueError: 2\n",
	       "ValueError: 2");
	/* with colours, as on a terminal */
	expect(BEGIN "  File \033[35m\"t.py\"\033[0m, line \033[35m3\033[0m\n"
		     "\033[1;35mValueError\033[0m: \033[35mno batch\033[0m\n",
	       "ValueError: no batch");
	/* the beginning was overwritten */
	expect("() line\n" FRAME FRAME "ValueError: no batch", "ValueError: no batch");
	expect(BEGIN FRAME "ValueError: a message\nof two lines\n", "ValueError: a message");
}

#define LIBRARY \
	"  File \"/v/lib/python3.11/site-packages/torch/nn/functional.py\", line 99, in mm\n"

static void the_users_line(void **state)
{
	struct last_words found;
	(void)state;
	last_words_find(BEGIN "  File \"main.py\", line 1, in <module>\n" FRAME LIBRARY
			      "ValueError: no batch\n",
			&found);
	assert_string_equal(found.file, "/home/u/train.py");
	assert_int_equal(found.line, 3);
	last_words_find(BEGIN LIBRARY "ValueError: no batch\n", &found);
	assert_int_equal(found.line, 99);
	last_words_find(BEGIN FRAME, &found);
	assert_int_equal(found.line, 0);
}

static void no_exception(void **state)
{
	(void)state;
	expect("", "");
	expect("50% done\nValueError: not from a traceback\n", "");
	expect(BEGIN, "");
	expect(BEGIN FRAME, "");
}

static void ring(void **state)
{
	static struct journal_header h;
	(void)state;
	char *text = last_words_text(&h);
	assert_string_equal(text, "");
	free(text);
	memcpy(h.words, "abc", 3);
	h.words_written = 3;
	text = last_words_text(&h);
	assert_string_equal(text, "abc");
	free(text);
	memset(h.words, 'x', JOURNAL_WORDS_BYTES);
	memcpy(h.words, "end", 3);
	h.words_written = JOURNAL_WORDS_BYTES + 3;
	text = last_words_text(&h);
	assert_int_equal(strlen(text), JOURNAL_WORDS_BYTES);
	assert_string_equal(text + JOURNAL_WORDS_BYTES - 4, "xend");
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exceptions),
		cmocka_unit_test(the_users_line),
		cmocka_unit_test(no_exception),
		cmocka_unit_test(ring),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
