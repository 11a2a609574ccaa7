/* See loop_tree.h. */
#include "core/steps/loop_tree.h"

#include "core/steps/anchors.h"
#include "core/steps/loop_repair.h"

#include <string.h>

/* 96 MiB of iterations. More are counted and not kept; the opening's budget keeps runs below it. */
enum { ITERATIONS_MOST = 1 << 20 };

void loop_tree_start(struct loop_tree *t, const struct dict *d)
{
	*t = (struct loop_tree){ 0 };
	loop_stacks_init(&t->stacks, d);
}

void loop_tree_stop(struct loop_tree *t)
{
	for (size_t i = 0; i < t->loops.n; i++) {
		vec_free(&t->loops.at[i].iterations);
		vec_free(&t->loops.at[i].empty);
	}
	for (size_t i = 0; i < t->threads.n; i++) {
		vec_free(&t->threads.at[i].open);
		vec_free(&t->threads.at[i].hashes);
		vec_free(&t->threads.at[i].ticks);
		vec_free(&t->threads.at[i].tokens);
	}
	vec_free(&t->loops);
	vec_free(&t->threads);
	vec_free(&t->births);
	map_free(&t->thread_of_slot);
	map_free(&t->turn_of_pair);
	loop_graphs_free(&t->graphs);
	loop_stacks_free(&t->stacks);
}

static struct loop_thread *thread_of(struct loop_tree *t, uint32_t slot)
{
	bool is_new;
	uint64_t *at = map_at(&t->thread_of_slot, slot, &is_new);
	if (is_new) {
		*at = t->threads.n;
		vec_push(&t->threads, (struct loop_thread){ .slot = slot });
	}
	return &t->threads.at[*at];
}

static struct loop *loop_of(struct loop_tree *t, uint32_t place)
{
	for (uint32_t i = (uint32_t)t->loops.n; i <= place; i++)
		vec_push(&t->loops, (struct loop){ .place = i });
	return &t->loops.at[place];
}

/* ---- Iterations ---- */

static struct loop_counts difference(const struct loop_counts *a, const struct loop_counts *b)
{
	return (struct loop_counts){
		.calls = a->calls - b->calls,
		.launches = a->launches - b->launches,
		.steps = a->steps - b->steps,
		.others = a->others - b->others,
		.waits = a->waits - b->waits,
		.transfers = a->transfers - b->transfers,
		.replayed = a->replayed - b->replayed,
		.replayed_ticks = a->replayed_ticks - b->replayed_ticks,
	};
}

static void begin_iteration(struct loop_tree *t, struct loop_thread *thread, uint32_t place,
			    bool is_next, uint64_t ticks)
{
	(void)loop_of(t, place);
	vec_push(&thread->open,
		 ((struct loop_open){ .loop = place,
				      .is_next = is_next,
				      .begun = { .begin_ticks = ticks,
						 .slot = thread->slot,
						 .launch = (uint32_t)thread->hashes.n,
						 .n = thread->n } }));
}

/* Ends the iteration of the innermost open loop. `went_round`: another one follows. */
static void end_iteration(struct loop_tree *t, struct loop_thread *thread, uint64_t ticks,
			  bool went_round)
{
	struct loop_open *open = &thread->open.at[thread->open.n - 1];
	struct loop *l = loop_of(t, open->loop);
	struct loop_iteration i = open->begun;
	i.end_ticks = ticks;
	i.went_round = went_round;
	i.n_sites = t->stacks.n_sites;
	i.n = difference(&thread->n, &open->begun.n);
	uint64_t took = ticks - i.begin_ticks + i.n.replayed_ticks;
	l->n_calls += i.n.calls;
	l->n_steps += i.n.steps;
	l->n_others += i.n.others;
	l->n_waits += i.n.waits;
	l->n_transfers += i.n.transfers;
	l->n_replayed += i.n.replayed;
	l->ticks += took;
	if (took > l->longest_ticks)
		l->longest_ticks = took;
	if (t->n_iterations < ITERATIONS_MOST) {
		vec_push(&l->iterations, i);
		t->n_iterations++;
	} else {
		t->is_full = true;
	}
	thread->open.n--;
	if (thread->open.n)
		thread->open.at[thread->open.n - 1].begun.places |= i.places;
}

static void end_run(struct loop_tree *t, struct loop_thread *thread, uint64_t ticks,
		    enum run_end how)
{
	const struct loop_open *open = &thread->open.at[thread->open.n - 1];
	uint32_t loop = open->loop;
	struct loop_counts n = difference(&thread->n, &open->begun.n);
	bool joins = open->is_next && loop_only_tested(t, open, &n, how);
	end_iteration(t, thread, ticks, false);
	if (joins && !t->is_full)
		loop_join_last(&t->loops.at[loop]);
	t->loops.at[loop].n_runs++;
	if (ticks > thread->last_end_ticks)
		t->loops.at[loop].tail_ticks += ticks - thread->last_end_ticks;
}

/* ---- Calls ---- */

static struct loop_turn turn_of(struct loop_tree *t, const struct loop_stack *a,
				const struct loop_stack *b)
{
	bool is_new;
	if (t->n_sites != t->stacks.n_sites) {
		t->n_sites = t->stacks.n_sites;
		map_free(&t->turn_of_pair);
	}
	uint64_t pair = (uint64_t)a->nodes[a->n - 1] << 32 | b->nodes[b->n - 1];
	uint64_t *known = map_at(&t->turn_of_pair, pair, &is_new);
	if (is_new) {
		struct loop_turn turn = loop_stacks_turn(&t->stacks, a, b);
		*known = turn.is_any ? ((uint64_t)turn.level + 1) << 32 | turn.number : 0;
	}
	return *known ? (struct loop_turn){ (uint32_t)(*known >> 32) - 1, (uint32_t)*known, true }
		      : (struct loop_turn){ 0 };
}

/* Returns the index in `s->loops` of the loop that began an iteration; `s->n_loops` if none did. */
static size_t turned_loop(const struct loop_tree *t, const struct loop_stack *s,
			  struct loop_turn turn)
{
	if (!turn.is_any)
		return s->n_loops;
	for (size_t i = 0; i < s->n_loops; i++)
		if (s->loops[i].level == turn.level &&
		    t->stacks.places.at[s->loops[i].loop].number == turn.number)
			return i;
	return s->n_loops;
}

/* Notes in the outermost loop of a thread where the thread was created. */
static void note_birth_place(struct loop_tree *t, const struct loop_thread *thread, uint32_t loop)
{
	struct loop_place *p = &t->stacks.places.at[loop];
	uint32_t place = thread->birth ? t->births.at[thread->birth - 1].place : LOOP_NONE;
	bool is_first = loop >= t->loops.n ||
			(!t->loops.at[loop].iterations.n && p->birth_place == LOOP_NONE);
	p->birth_place = is_first || p->birth_place == place ? place : LOOP_SEVERAL;
}

/*
 * Ends and begins iterations between the thread's last call and one with the stack `s`. Returns the
 * level of the outermost loop that began an iteration, LOOP_NONE if none did.
 */
static uint32_t move_to(struct loop_tree *t, struct loop_thread *thread, const struct loop_stack *s,
			uint64_t ticks)
{
	size_t turned = thread->before ? turned_loop(t, s, turn_of(t, thread->before, s))
				       : s->n_loops;
	size_t same = 0;
	while (same < s->n_loops && same < thread->open.n && same != turned &&
	       thread->open.at[same].loop == s->loops[same].loop)
		same++;
	bool goes_round = same == turned && same < s->n_loops && same < thread->open.n &&
			  thread->open.at[same].loop == s->loops[same].loop;
	while (thread->open.n > same + goes_round)
		end_run(t, thread, ticks, RUN_LEFT);
	if (goes_round)
		end_iteration(t, thread, ticks, true);
	if (!same && s->n_loops)
		note_birth_place(t, thread, s->loops[0].loop);
	for (size_t i = same; i < s->n_loops; i++)
		begin_iteration(t, thread, s->loops[i].loop, goes_round && i == same, ticks);
	return same < s->n_loops ? s->loops[same].level : LOOP_NONE;
}

static bool is_wait(const struct rec_call *c, uint8_t category)
{
	return category == CAT_SYNC || (category == CAT_MEMCPY && c->detail == COPY_D2H);
}

/* Counts the captured calls that a launch of a graph stands for. */
static void count_replay(const struct loop_graph *g, struct loop_counts *n, bool is_in_step,
			 bool in_optimizer)
{
	n->calls += g->n;
	n->replayed += g->n;
	n->steps += is_in_step ? 0 : g->steps;
	n->others += in_optimizer ? 0 : g->others;
	n->transfers += g->transfers;
	n->replayed_ticks += loop_graph_ticks(g);
}

/* Counts a call that has the stack `s`. `begun`: the level of the outermost loop that began. */
static void count_call(const struct loop_tree *t, struct loop_thread *thread,
		       const struct loop_stack *s, const struct rec_call *c, uint8_t category,
		       uint32_t begun)
{
	const struct loop_graph *graph =
		category == CAT_GRAPH ? loop_graphs_exec(&t->graphs, c->arg) : NULL;
	bool is_in_step = s->step_level != LOOP_NONE;
	uint32_t step = is_in_step ? s->nodes[s->step_level] : 0;
	thread->n.calls++;
	thread->n.steps += step && (step != thread->step_node || begun < s->step_level);
	thread->n.others += (category == CAT_LAUNCH || category == CAT_GRAPH) && !s->in_optimizer;
	thread->n.waits += is_wait(c, category);
	thread->n.transfers += category == CAT_MEMCPY &&
			       (c->detail == COPY_H2D || c->detail == COPY_D2H);
	thread->step_node = step;
	if (graph)
		count_replay(graph, &thread->n, is_in_step, s->in_optimizer);
	if (thread->open.n)
		thread->open.at[thread->open.n - 1].begun.places |=
			1ull << (s->user_node * 0x9E3779B1u >> 26);
}

/* Any call shows where the program is: a loop's iterations may differ from those of the loops in it
 * by the call that frees memory. Of calls such as cudaSetDevice() there are many, and they say
 * little. */
static bool shows_structure(uint8_t category)
{
	return category != CAT_CONTROL && category != CAT_PROFILER && category != CAT_NODE;
}

static void add_launch(struct loop_thread *thread, struct token_hashes hashes, uint64_t token,
		       uint64_t ticks)
{
	vec_push(&thread->hashes, hashes);
	vec_push(&thread->ticks, ticks);
	vec_push(&thread->tokens, token);
	thread->n.launches++;
	/* if the iteration of a loop has one, so have those of all loops around it */
	for (size_t i = thread->open.n; i-- > 0 && !thread->open.at[i].begun.launch_ticks;)
		thread->open.at[i].begun.launch_ticks = ticks;
}

static void note_birth(struct loop_tree *t, const struct loop_thread *thread)
{
	if (!thread->birth)
		return;
	struct loop_birth *b = &t->births.at[thread->birth - 1];
	b->n = difference(&thread->n, &b->before);
	b->last_ticks = thread->last_end_ticks;
	if (!b->first)
		b->first = thread->before;
}

static enum loop_caller caller_of(uint8_t category)
{
	const uint32_t upkeep = 1u << CAT_ALLOC | 1u << CAT_FREE | 1u << CAT_QUERY |
				1u << CAT_EVENT | 1u << CAT_STREAM;
	if (category == CAT_LAUNCH)
		return LOOP_OF_LAUNCH;
	return upkeep >> category & 1 ? LOOP_OF_UPKEEP : LOOP_OF_CALL;
}

void loop_tree_feed(struct loop_tree *t, uint32_t slot, const struct rec_call *c,
		    struct token_hashes hashes)
{
	uint8_t category = dict_category(t->stacks.dict, c->hook);
	if (!shows_structure(category))
		return;
	struct loop_thread *thread = thread_of(t, slot);
	t->n_fed++;
	t->n_without += !c->stack;
	const struct loop_stack *s =
		c->stack ? loop_stacks_find(&t->stacks, c->stack, caller_of(category)) : NULL;
	if (s) {
		uint32_t begun = move_to(t, thread, s, c->begin_ticks);
		loop_note_frames(thread, s);
		count_call(t, thread, s, c, category, begun);
		thread->before = s;
		thread->last_end_ticks = c->begin_ticks + record_duration(c);
		note_birth(t, thread);
	} else {
		loop_forget_frames(thread);
	}
	if (hashes.trigram)
		add_launch(thread, hashes, anchor_token(c, category), c->begin_ticks);
}

/* ---- Graphs ---- */

/* Returns whether the call with the stack `s` begins an optimizer's step in its capture. */
static bool begins_step(struct loop_tree *t, struct loop_capture *c, const struct loop_stack *s)
{
	uint32_t step = s->step_level != LOOP_NONE ? s->nodes[s->step_level] : 0;
	struct loop_turn turn = c->before ? turn_of(t, c->before, s) : (struct loop_turn){ 0 };
	bool is_new = step && (step != c->step_node || (turn.is_any && turn.level < s->step_level));
	c->step_node = step;
	c->before = s;
	return is_new;
}

static void feed_node(struct loop_tree *t, struct loop_thread *thread, const struct rec_node *n)
{
	struct loop_capture *c = &thread->capture;
	if (c->graph != n->graph)
		*c = (struct loop_capture){ .graph = n->graph };
	loop_forget_frames(thread);
	const struct loop_stack *s =
		n->stack ? loop_stacks_find(&t->stacks, n->stack,
					    n->type == NODE_KERNEL ? LOOP_OF_LAUNCH : LOOP_OF_CALL)
			 : NULL;
	loop_graphs_add(&t->graphs, n, s && begins_step(t, c, s), s && s->in_optimizer);
}

void loop_tree_feed_graph(struct loop_tree *t, uint32_t slot, const struct rec_head *record)
{
	if (record->kind == REC_NODE)
		feed_node(t, thread_of(t, slot), (const struct rec_node *)record);
	else
		loop_graphs_change(&t->graphs, (const struct rec_graph *)record);
}

/* ---- Threads ---- */

static void end_all(struct loop_tree *t, struct loop_thread *thread)
{
	while (thread->open.n)
		end_run(t, thread, thread->last_end_ticks, RUN_CUT);
}

/* The creation of a thread is no call, but it shows the iterations of the loops around it. */
static void move_creator(struct loop_tree *t, struct loop_thread *thread,
			 const struct rec_thread *r)
{
	const struct loop_stack *s =
		r->stack ? loop_stacks_find(&t->stacks, r->stack, LOOP_OF_THREAD) : NULL;
	if (!s)
		return;
	move_to(t, thread, s, r->ticks);
	loop_note_frames(thread, s);
	thread->before = s;
	thread->last_end_ticks = r->ticks;
}

/* The slot may have been that of a thread that has ended. */
static void begin_thread(struct loop_tree *t, struct loop_thread *thread,
			 const struct rec_thread *r)
{
	const struct loop_stack *s =
		r->stack ? loop_stacks_find(&t->stacks, r->stack, LOOP_OF_THREAD) : NULL;
	end_all(t, thread);
	thread->before = NULL;
	vec_push(&t->births,
		 ((struct loop_birth){ .creator = r->creator,
				       .place = s && s->n_loops ? s->loops[s->n_loops - 1].loop
								: LOOP_NONE,
				       .ticks = r->ticks,
				       .last_ticks = r->ticks,
				       .before = thread->n }));
	thread->birth = (uint32_t)t->births.n;
}

void loop_tree_feed_thread(struct loop_tree *t, uint32_t slot, const struct rec_thread *r)
{
	struct loop_thread *thread = thread_of(t, slot);
	if (r->event == THREAD_BEGINS)
		begin_thread(t, thread, r);
	else
		move_creator(t, thread, r);
}

bool loop_tree_is_whole(const struct loop_tree *t)
{
	enum { MISSING = 100 };
	return !t->is_full && t->n_without <= t->n_fed / MISSING;
}

void loop_tree_end(struct loop_tree *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		end_all(t, &t->threads.at[i]);
}

const struct loop *loop_tree_parent(const struct loop_tree *t, const struct loop *l)
{
	uint32_t place = t->stacks.places.at[l->place].parent;
	while (place != LOOP_NONE) {
		if (place < t->loops.n && loop_goes_round(&t->loops.at[place]))
			return &t->loops.at[place];
		place = t->stacks.places.at[place].parent;
	}
	return NULL;
}
