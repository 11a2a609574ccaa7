/* Where a coroutine was suspended, by the stack of the call that it makes next. */
#define FRAMES_HAVE_SOURCES
#include "test/unit/line_frames.h"

#include "core/symbols/await_site.h"
#include "core/symbols/idle_loop.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const char *const lines[] = {
	"",
	"async def consume(q):",
	"batch = await q.get()",
	"rows = prepare(batch)",
	"infer(rows)",
	"def answer(rows):",
	"infer(rows)",
};

const char *frames_source(struct frames *f, const char *file, uint32_t line)
{
	(void)f;
	(void)file;
	return line < sizeof(lines) / sizeof(*lines) ? lines[line] : "";
}

static const struct frame select_ = { .function = "EpollSelector.select",
				      .file = "/usr/lib/python3.11/selectors.py",
				      .module = "",
				      .kind = FRAME_KIND_PYTHON,
				      .is_library = true };
static const struct frame once = { .function = "BaseEventLoop._run_once",
				   .file = "/usr/lib/python3.11/asyncio/base_events.py",
				   .module = "",
				   .kind = FRAME_KIND_PYTHON,
				   .is_library = true };
static const struct frame handle = { .function = "Handle._run",
				     .file = "/usr/lib/python3.11/asyncio/events.py",
				     .module = "",
				     .kind = FRAME_KIND_PYTHON,
				     .is_library = true };
static const struct frame wait = {
	.function = "epoll_wait", .file = "", .module = "libc.so.6", .kind = FRAME_KIND_NATIVE
};
static const struct frame uv = { .function = "uv__io_poll",
				 .file = "",
				 .module = "/v/site-packages/uvloop/loop.cpython-311.so",
				 .kind = FRAME_KIND_NATIVE };

static bool is_idle(const struct frame *a, const struct frame *b, const struct frame *c)
{
	const struct frame *at[] = { a, b, c };
	return idle_loop_is_on(&(struct frame_list){ .at = at, .n = 3 });
}

static void test_an_idle_loop(void **state)
{
	(void)state;
	make_frames();
	assert_true(is_idle(&select_, &once, &frames[1]));
	assert_true(is_idle(&wait, &select_, &once));
	assert_true(is_idle(&wait, &uv, &frames[1]));
	/* a coroutine that polls itself */
	assert_false(is_idle(&select_, &frames[1], &once));
	assert_false(is_idle(&frames[1], &handle, &once));
}

/* Makes stack 1: an event loop calls the frames of two lines. */
static void call(uint32_t inner, uint32_t outer)
{
	make_frames();
	frames[63] = handle;
	frame_lists[1][0] = &frames[inner];
	callers[1] = outer;
}

static void test_the_await_before_a_call(void **state)
{
	(void)state;
	call(4, 63);
	assert_int_equal(await_site(NULL, 1), 2);
	/* a plain function that the loop calls: its own line */
	call(6, 63);
	assert_int_equal(await_site(NULL, 1), 6);
	/* no event loop */
	call(4, 3);
	assert_int_equal(await_site(NULL, 1), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_idle_loop),
		cmocka_unit_test(test_the_await_before_a_call),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
