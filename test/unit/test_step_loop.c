/*
 * The loop of the steps may be in a library. Then the sites are the library's lines, not the user's
 * line that started the loop. The sources are real files, because loops are found in their text.
 */
#include "core/analysis/step_loop.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

/* ---- Files ---- */

static char folder[64];

enum { PATH_BYTES = 256, STACKS = 16, DEEP = 8 };

/* Lines count from 1. */
static const struct file {
	const char *path, *text;
} files[] = {
	{ "/train.py", "def main():\n"			       /* 1 */
		       "    fit(model)\n"		       /* 2 */
		       "    for batch in data:\n"	       /* 3 */
		       "        loss = model(batch)\n"	       /* 4 */
		       "        state = compiled(state)\n"     /* 5 */
		       "def training_step(batch):\n"	       /* 6 */
		       "    return model(batch).sum()\n" },    /* 7 */
	{ "/v/site-packages/mini/loop.py",		       /* a trainer */
	  "def fit(model):\n"				       /* 1 */
	  "    prepare(model)\n"			       /* 2 */
	  "    for batch in data:\n"			       /* 3 */
	  "        loss = one_step(batch)\n"		       /* 4 */
	  "        optimizer.step()\n"			       /* 5 */
	  "def one_step(batch):\n"			       /* 6 */
	  "    return model(batch)\n" },		       /* 7 */
	{ "/v/site-packages/mini/net.py",		       /* a model */
	  "def forward(self, x):\n"			       /* 1 */
	  "    for layer in self.layers:\n"		       /* 2 */
	  "        x = layer(x)\n"			       /* 3 */
	  "        x = x + 1\n"				       /* 4 */
	  "def call(x):\n"				       /* 5 */
	  "    x = first(x)\n"				       /* 6 */
	  "    return second(x)\n" },			       /* 7 */
	{ "/v/site-packages/torch/nn/modules/module.py", "" }, /* calls the model */
};

enum file_index { TRAIN, LOOP, NET, TORCH, FILES };
enum function { MAIN, TRAINING_STEP, FIT, ONE_STEP, FORWARD, CALL, CALL_IMPL, FUNCTIONS };

static const struct function_row {
	const char *name;
	enum file_index file;
	uint32_t first_line;
} functions[FUNCTIONS] = {
	[MAIN] = { "main", TRAIN, 1 },
	[TRAINING_STEP] = { "training_step", TRAIN, 6 },
	[FIT] = { "fit", LOOP, 1 },
	[ONE_STEP] = { "one_step", LOOP, 6 },
	[FORWARD] = { "Net.forward", NET, 1 },
	[CALL] = { "call", NET, 5 },
	[CALL_IMPL] = { "Module._call_impl", TORCH, 1 },
};

static char paths[FILES][PATH_BYTES];

static void make_folders(const char *path)
{
	char part[PATH_BYTES];
	for (const char *at = path + 1; (at = strchr(at, '/')) != NULL; at++) {
		snprintf(part, sizeof(part), "%.*s", (int)(at - path), path);
		mkdir(part, 0700);
	}
}

static int write_files(void **state)
{
	(void)state;
	snprintf(folder, sizeof(folder), "/tmp/step_loop.XXXXXX");
	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < FILES; i++) {
		snprintf(paths[i], PATH_BYTES, "%s%s", folder, files[i].path);
		make_folders(paths[i]);
		FILE *f = fopen(paths[i], "we");
		assert_non_null(f);
		fputs(files[i].text, f);
		fclose(f);
	}
	return 0;
}

static int remove_files(void **state)
{
	char command[PATH_BYTES];
	(void)state;
	snprintf(command, sizeof(command), "rm -r '%s'", folder);
	return system(command); /* NOLINT */
}

/* ---- Stacks: a key is a function and a line ---- */

struct place {
	enum function function;
	uint32_t line; /* 0: the end of the stack */
};

static struct place stacks[STACKS][DEEP]; /* outermost frame first */
static size_t n_stacks;

static struct stack_shape get_stack(void *context, uint32_t stack,
				    uint64_t keys[static STACK_KEYS_MOST])
{
	struct stack_shape shape = { 0 };
	(void)context;
	while (stack && shape.n < DEEP && stacks[stack - 1][shape.n].line)
		shape.n++;
	for (size_t i = 0; i < shape.n; i++) {
		const struct place *p = &stacks[stack - 1][shape.n - 1 - i];
		keys[i] = (uint64_t)p->function << 32 | p->line;
	}
	return shape;
}

static size_t resolve(void *context, uint64_t key, bool is_return,
		      struct source_frame out[static STACK_INLINED_MOST])
{
	const struct function_row *row = &functions[key >> 32];
	(void)context;
	(void)is_return;
	out[0] = (struct source_frame){ .frame = { .function = row->name,
						   .file = paths[row->file],
						   .module = "",
						   .line = (uint32_t)key,
						   .kind = FRAME_KIND_PYTHON,
						   .is_library = row->file != TRAIN },
					.operator= "",
					.stub_of = "",
					.first_line = row->first_line };
	return 1;
}

static const char *no_diagnostic(void *context, size_t i)
{
	(void)context;
	(void)i;
	return NULL;
}

static void free_nothing(void *context)
{
	(void)context;
}

/* ---- Steps ---- */

static struct frames *frames;
static struct model_step step;

static int begin(void **state)
{
	(void)state;
	memset(stacks, 0, sizeof(stacks));
	n_stacks = 0;
	memset(&step, 0, sizeof(step));
	frames = frames_new((struct stack_source){ .stack = get_stack,
						   .resolve = resolve,
						   .diagnostic = no_diagnostic,
						   .free = free_nothing },
			    NULL);
	vec_push(&step.threads, (struct model_thread){ .tid = 1 });
	return 0;
}

static int end(void **state)
{
	(void)state;
	frames_free(frames);
	model_free(&step);
	return 0;
}

/* Adds a launch with a new stack. Returns the stack's number. */
static uint32_t launch(const struct place *at, size_t n)
{
	assert_true(n <= DEEP && n_stacks < STACKS);
	memcpy(stacks[n_stacks++], at, n * sizeof(*at));
	vec_push(&step.calls,
		 (struct model_call){ .stack = (uint32_t)n_stacks, .category = CAT_LAUNCH });
	step.threads.at[0].n = step.calls.n;
	return (uint32_t)n_stacks;
}

#define LAUNCH(...)                                   \
	launch((const struct place[]){ __VA_ARGS__ }, \
	       sizeof((const struct place[]){ __VA_ARGS__ }) / sizeof(struct place))

static void assert_site(uint32_t stack, enum function function, uint32_t line, uint32_t from)
{
	const struct site *s = frames_site_at(frames, frames_site(frames, stack));
	assert_string_equal(s->function, functions[function].name);
	assert_int_equal(s->line, line);
	assert_true(s->is_user);
	assert_int_equal(frames_site_at(frames, s->from)->line, from);
}

static void loop_of_a_trainer(void **state)
{
	(void)state;
	uint32_t model = LAUNCH({ MAIN, 2 }, { FIT, 4 }, { ONE_STEP, 7 }, { CALL_IMPL, 9 },
				{ FORWARD, 3 }, { CALL_IMPL, 8 });
	uint32_t users = LAUNCH({ MAIN, 2 }, { FIT, 4 }, { TRAINING_STEP, 7 }, { CALL_IMPL, 9 });
	uint32_t optimizer = LAUNCH({ MAIN, 2 }, { FIT, 5 }, { CALL_IMPL, 1 });
	assert_site(model, MAIN, 2, 0);
	const struct frame *loop = step_loop_find(&step, frames);
	assert_non_null(loop);
	assert_string_equal(loop->function, "fit");
	assert_true(frames_add_loop(frames, loop));
	assert_false(frames_add_loop(frames, loop));
	assert_site(model, FORWARD, 3, 2);
	assert_site(users, TRAINING_STEP, 7, 0); /* the library called it */
	assert_site(optimizer, FIT, 5, 2);
}

/* A step of a loop that makes all its calls on one line. */
static void loop_around_one_line(void **state)
{
	(void)state;
	LAUNCH({ MAIN, 2 }, { FIT, 4 }, { ONE_STEP, 7 }, { CALL_IMPL, 9 }, { FORWARD, 3 });
	LAUNCH({ MAIN, 2 }, { FIT, 4 }, { ONE_STEP, 7 }, { CALL_IMPL, 9 }, { FORWARD, 4 });
	const struct frame *loop = step_loop_find(&step, frames);
	assert_non_null(loop);
	assert_string_equal(loop->function, "fit");
}

/* The model's loop over its layers is no loop of steps. */
static void loop_of_the_user(void **state)
{
	(void)state;
	uint32_t a = LAUNCH({ MAIN, 4 }, { CALL_IMPL, 9 }, { FORWARD, 3 });
	LAUNCH({ MAIN, 4 }, { CALL_IMPL, 9 }, { FORWARD, 4 });
	assert_null(step_loop_find(&step, frames));
	assert_site(a, MAIN, 4, 0);
}

/* A library without a loop executes the user's line, as JAX does. */
static void library_without_a_loop(void **state)
{
	(void)state;
	LAUNCH({ MAIN, 5 }, { CALL, 6 });
	LAUNCH({ MAIN, 5 }, { CALL, 7 });
	assert_null(step_loop_find(&step, frames));
}

static void calls_outside_the_loop(void **state)
{
	(void)state;
	LAUNCH({ MAIN, 2 }, { FIT, 4 }, { ONE_STEP, 7 });
	LAUNCH({ MAIN, 4 }, { CALL_IMPL, 9 });
	assert_null(step_loop_find(&step, frames));
}

static void source_that_cannot_be_read(void **state)
{
	(void)state;
	LAUNCH({ MAIN, 2 }, { FIT, 4 }, { ONE_STEP, 7 });
	LAUNCH({ MAIN, 2 }, { FIT, 5 });
	assert_int_equal(unlink(paths[LOOP]), 0);
	assert_null(step_loop_find(&step, frames));
}

static void no_stacks(void **state)
{
	(void)state;
	vec_push(&step.calls, (struct model_call){ .category = CAT_LAUNCH });
	step.threads.at[0].n = 1;
	assert_null(step_loop_find(&step, frames));
	step.threads.n = 0;
	assert_null(step_loop_find(&step, frames));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(loop_of_a_trainer, begin, end),
		cmocka_unit_test_setup_teardown(loop_around_one_line, begin, end),
		cmocka_unit_test_setup_teardown(loop_of_the_user, begin, end),
		cmocka_unit_test_setup_teardown(library_without_a_loop, begin, end),
		cmocka_unit_test_setup_teardown(calls_outside_the_loop, begin, end),
		cmocka_unit_test_setup_teardown(no_stacks, begin, end),
		/* last, because it removes a file */
		cmocka_unit_test_setup_teardown(source_that_cannot_be_read, begin, end),
	};
	return cmocka_run_group_tests(tests, write_files, remove_files);
}
