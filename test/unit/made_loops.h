/*
 * Calls with stacks, from which the tests find loops. A function is a text: '.' is a call, '[' and
 * ']' are a loop, '(' and ')' an `if`. Its control flow is a real one.
 */
#ifndef UNIT_MADE_LOOPS_H
#define UNIT_MADE_LOOPS_H

#include "core/steps/loop_choice.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

enum { LAUNCH = 1, SYNC, COPY, GRAPH, QUERY, EVENT }; /* ids of hooks */
enum { MAIN, HELPER, STEP, FUNCTIONS };

struct fixture {
	struct dict dict;
	struct loop_tree tree;
	struct flow *flows[FUNCTIONS];
	uint64_t now;
};

__attribute__((unused)) static void add_hook(struct dict *d, uint16_t id, uint8_t category)
{
	union {
		struct dict_hook h;
		char bytes[64];
	} u = { .h = { .head = { DICT_MARK, DICT_HOOK, 24 }, .id = id, .category = category } };
	strcpy(u.h.name, "f");
	dict_add(d, &u.h.head);
}

__attribute__((unused)) static struct flow *flow_of(const char *text)
{
	struct flow_instruction at[64];
	size_t open[16], n_open = 0, n = strlen(text);
	for (size_t i = 0; i < n; i++) {
		at[i] = (struct flow_instruction){ .at = i,
						   .target = FLOW_NO_TARGET,
						   .falls_through = true };
		if (text[i] == '[' || text[i] == '(')
			open[n_open++] = i;
		if (text[i] == ']')
			at[i].target = open[--n_open];
		if (text[i] == ')')
			at[open[--n_open]].target = i;
	}
	at[n] = (struct flow_instruction){ .at = n, .target = FLOW_NO_TARGET };
	return flow_new(at, n + 1, false);
}

__attribute__((unused)) static void start(struct fixture *f, const char *main, const char *helper)
{
	*f = (struct fixture){ .now = 1000 };
	add_hook(&f->dict, LAUNCH, CAT_LAUNCH);
	add_hook(&f->dict, SYNC, CAT_SYNC);
	add_hook(&f->dict, COPY, CAT_MEMCPY);
	add_hook(&f->dict, GRAPH, CAT_GRAPH);
	add_hook(&f->dict, QUERY, CAT_QUERY);
	add_hook(&f->dict, EVENT, CAT_EVENT);
	loop_tree_start(&f->tree, &f->dict);
	f->flows[MAIN] = flow_of(main);
	f->flows[HELPER] = flow_of(helper);
	f->flows[STEP] = flow_of(".");
}

__attribute__((unused)) static void stop(struct fixture *f)
{
	loop_tree_stop(&f->tree);
	for (int i = 0; i < FUNCTIONS; i++)
		flow_free(f->flows[i]);
	dict_free(&f->dict);
}

/* Adds the frame of a function at a place as if it had been read from the dictionary. */
__attribute__((unused)) static uint64_t frame(struct fixture *f, uint32_t function, uint32_t at)
{
	struct loop_stacks *s = &f->tree.stacks;
	uint64_t raw = frame_python(function + 1, at);
	bool is_new;
	uint64_t *index = map_at(&s->frame_of_raw, raw, &is_new);
	if (!is_new)
		return raw;
	*index = s->frames.n;
	vec_push(&s->frames,
		 ((struct loop_frame){ .raw = raw,
				       .at = at,
				       .flow = f->flows[function],
				       .function = function,
				       .is = LOOP_FRAME_PYTHON |
					     (function == STEP ? LOOP_FRAME_STEP : 0) }));
	return raw;
}

__attribute__((unused)) static uint32_t stack(struct fixture *f, const uint64_t *innermost_first,
					      uint16_t n)
{
	union {
		struct dict_stack s;
		uint64_t words[8];
	} u = { .s = { .head = { DICT_MARK, DICT_STACK, 0 }, .n = n } };
	u.s.id = 1;
	for (uint16_t i = 0; i < n; i++) {
		u.s.frames[i] = innermost_first[i];
		u.s.id = u.s.id * 131 + (uint32_t)(innermost_first[i] >> 32) * 31 +
			 (uint32_t)innermost_first[i];
	}
	u.s.head.bytes = (uint32_t)(sizeof(u.s) + n * sizeof(uint64_t));
	if (!map_find(&f->dict.stack_of_id, u.s.id))
		dict_add(&f->dict, &u.s.head);
	return u.s.id;
}

/* A call that takes 1 us, by thread `slot`. Launches and copies complete a trigram, `hash`. */
__attribute__((unused)) static void call(struct fixture *f, uint32_t slot, uint16_t hook,
					 uint32_t stack_id, uint64_t hash)
{
	struct rec_call c = { .kind = REC_CALL,
			      .hook = hook,
			      .stack = stack_id,
			      .begin_ticks = f->now,
			      .arg = hash };
	if (hook == COPY)
		c.detail = COPY_D2H;
	f->now += 1000;
	loop_tree_feed(&f->tree, slot, &c, (struct token_hashes){ hash, 0 });
}

/* A launch from a place of main, and one from a place of the function that main calls there. */
__attribute__((unused)) static void launch(struct fixture *f, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, LAUNCH, stack(f, frames, 1), 100 + at);
}

__attribute__((unused)) static void launch_in(struct fixture *f, uint32_t at, uint32_t function,
					      uint32_t inner)
{
	uint64_t frames[] = { frame(f, function, inner), frame(f, MAIN, at) };
	call(f, 1, LAUNCH, stack(f, frames, 2), 1000 * function + 100 * at + inner);
}

__attribute__((unused)) static void wait(struct fixture *f, uint32_t at)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, SYNC, stack(f, frames, 1), 0);
}

/* A captured call from a place of main, or of the function that main calls there. */
__attribute__((unused)) static void capture(struct fixture *f, uint64_t graph, uint32_t at,
					    uint32_t function)
{
	uint64_t main = frame(f, MAIN, at), frames[] = { frame(f, function, 0), main };
	uint64_t token = function == MAIN ? 100 + at : 1000 * function + 100 * at;
	struct rec_node n = {
		.kind = REC_NODE,
		.hook = LAUNCH,
		.type = NODE_KERNEL,
		.stack = function == MAIN ? stack(f, &main, 1) : stack(f, frames, 2),
		.begin_ticks = f->now,
		.ticks = 1000,
		.graph = graph,
		.arg = token,
	};
	f->now += 1000;
	loop_tree_feed_graph(&f->tree, 1, (const struct rec_head *)&n);
}

__attribute__((unused)) static void change(struct fixture *f, enum graph_event event,
					   uint64_t graph, uint64_t of)
{
	struct rec_graph r = { .kind = REC_GRAPH,
			       .event = (uint16_t)event,
			       .ticks = f->now++,
			       .graph = graph,
			       .of = of };
	loop_tree_feed_graph(&f->tree, 1, (const struct rec_head *)&r);
}

__attribute__((unused)) static void replay(struct fixture *f, uint32_t at, uint64_t exec)
{
	uint64_t frames[] = { frame(f, MAIN, at) };
	call(f, 1, GRAPH, stack(f, frames, 1), exec);
}

__attribute__((unused)) static const struct loop *loop_of(const struct fixture *f,
							  size_t iterations)
{
	for (size_t i = 0; i < f->tree.loops.n; i++)
		if (loop_goes_round(&f->tree.loops.at[i]) &&
		    f->tree.loops.at[i].iterations.n == iterations)
			return &f->tree.loops.at[i];
	return NULL;
}

__attribute__((unused)) static void check_choice(struct fixture *f, size_t steps, double least,
						 double most)
{
	struct loop_choice c;
	loop_tree_end(&f->tree);
	assert_true(loop_choose(&f->tree, &c));
	assert_int_equal(c.begins.n, steps);
	assert_in_range((long)(c.confidence * 1000), (long)(least * 1000), (long)(most * 1000));
	loop_choice_free(&c);
}

#endif
