/*
 * Finds the phases of each lane. Stacks are known at CUDA calls. Samples may show what the CPU did
 * between them (phase_samples.h). Where they do not, the time between two calls is assigned to one
 * of the calls. In general it belongs to the later call, which the CPU was on its way to. If the
 * earlier call was made by a data loader, the time belongs to the loader. After the last call of
 * the step, the CPU is on its way to the first call of the next step, which is assumed to be like
 * the first call of this step.
 */
#include "core/analysis/phases.h"

#include "core/analysis/evaluation.h"
#include "core/analysis/phase_samples.h"
#include "core/analysis/timeline.h"
#include "core/util/order.h"

enum {
	/* A shorter pause is not a wait for a batch that another thread copies. */
	HANDOVER_NS = 50000,
	/* At most 1/8 of such a pause may come after the batch's copy. */
	HANDOVER_PART = 8,
	/* In a shorter time between two calls the CPU is on its way to the next call. */
	SAMPLED_LEAST_NS = 50000,
	/* At least this many copies to the host are a read-out, such as saving a model, which
	 * copies each parameter. Logging reads fewer values. */
	READS_LEAST = 4,
};

void phases_free(struct phases *p)
{
	vec_free(&p->lanes);
	vec_free(&p->spans);
	vec_free(&p->part_of_call);
	vec_free(&p->stacks);
	vec_free(&p->calls);
	vec_free(&p->batches);
	map_free(&p->stack_of);
	map_free(&p->part_between);
}

/* ---- Calls ---- */

static struct phase_stack stack_of(struct phases *p, struct frames *frames, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&p->stack_of, stack, &is_new);
	if (is_new) {
		*at = p->stacks.n;
		vec_push(&p->stacks, phase_rules_stack(frames, stack));
	}
	return p->stacks.at[*at];
}

static bool is_batch(const struct model_call *c)
{
	return c->category == CAT_MEMCPY && c->copy == COPY_H2D && c->bytes >= TIMELINE_BATCH_BYTES;
}

/* Returns true if the stack leaves open to which part a call belongs, so that other evidence may
 * decide. User code within an optimizer's step is a closure, which may contain any part. */
static bool is_open(const struct phase_stack *stack)
{
	return stack->part == PART_NONE || stack->part == PART_USER || !stack->is_certain ||
	       (stack->part == PART_OPTIMIZER && stack->via_user_code);
}

/* Returns true for calls of Python threads. The threads of a library such as gloo have no Python
 * frames; they copy data that ranks exchange, which is not a batch. */
static bool is_of_program(struct phases *p, const struct model_call *c, struct frames *frames)
{
	return frames && c->stack && stack_of(p, frames, c->stack).is_certain;
}

/* The part of calls without a stack, until settle_unknown() derives it from the calls
 * around them. */
enum { PART_UNKNOWN = PHASE_PARTS_N };

static uint8_t part_of(struct phases *p, const struct model_call *c, struct frames *frames,
		       bool is_worker)
{
	struct phase_stack stack = { .part = PART_NONE, .is_certain = true };
	if (frames && c->stack)
		stack = stack_of(p, frames, c->stack);
	p->n_without_stack += !c->stack;
	p->n_guessed += !stack.is_certain;
	if (is_worker && stack.part == PART_MODULE)
		return PART_RECOMPUTE;
	if (is_worker &&
	    (stack.part == PART_NONE || stack.part == PART_USER || stack.part == PART_FUNCTIONAL))
		return PART_BACKWARD;
	if (is_batch(c) && is_open(&stack))
		return PART_TO_DEVICE;
	return frames && c->stack ? stack.part : PART_UNKNOWN;
}

/* ---- Threads ---- */

/* Returns true for threads of the autograd engine. The engine names its threads. Older versions of
 * PyTorch do not, so there the stacks must show it. */
static bool is_worker(struct phases *p, const struct model_step *m, const struct model_thread *t,
		      struct frames *frames)
{
	static const char name[] = "pt_autograd_";
	if (!strncmp(t->name, name, sizeof(name) - 1))
		return true;
	for (size_t i = 0; frames && i < t->n; i++)
		if (m->calls.at[t->first + i].stack)
			return stack_of(p, frames, m->calls.at[t->first + i].stack).is_worker;
	return false;
}

static size_t count_launches(const struct model_step *m, const struct model_thread *t)
{
	size_t n = 0;
	for (size_t i = 0; i < t->n; i++)
		n += category_has_work(m->calls.at[t->first + i].category);
	return n;
}

/* ---- Spans ---- */

static void add_span(struct phases *p, size_t first, uint64_t begin_ns, uint64_t end_ns,
		     uint8_t part, uint32_t n_calls)
{
	struct phase_span *last = p->spans.n > first ? &p->spans.at[p->spans.n - 1] : NULL;
	if (last && last->part == part) {
		last->end_ns = end_ns;
		last->n_calls += n_calls;
	} else if (end_ns > begin_ns) {
		vec_push(&p->spans, (struct phase_span){ begin_ns, end_ns, n_calls, part });
	}
}

/*
 * Returns the part of the CPU time between two calls, from the parts of the calls. In general it is
 * the later call's part. But the time after a data loader's call or a file access still belongs to
 * these, and the time before the copy of a batch is spent making the batch or waiting for it.
 */
static uint8_t part_before(uint8_t last, uint8_t next)
{
	if (last == PART_LOADER || last == PART_FILE)
		return last;
	return next == PART_TO_DEVICE && last != PART_TO_DEVICE ? PART_AWAITED : next;
}

/*
 * Many loops zero the gradients before they copy the batch. The pause before zero_grad then is the
 * wait for the batch. Returns true if the lane's calls from number `i` on zero gradients and then
 * copy a batch, and the pause before them (`gap_ns`) is longer than the time from the last
 * zero_grad call to the copy.
 */
static bool is_zeroed_ahead_of_batch(const struct phases *p, const struct model_step *m, size_t i,
				     uint64_t gap_ns)
{
	uint64_t end_ns = 0;
	for (; i < p->calls.n; i++) {
		const struct model_call *c = &m->calls.at[p->calls.at[i]];
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		if (part == PART_TO_DEVICE)
			return end_ns && c->begin_ns < end_ns + gap_ns;
		if (part != PART_ZERO_GRAD && part != PART_AWAITED)
			return false;
		if (part == PART_ZERO_GRAD)
			end_ns = c->end_ns;
	}
	return false;
}

/* Returns the part of the CPU time before the lane's call number `i`. `last`: the part of the
 * previous call. `gap_ns`: length of that time. */
static uint8_t part_of_gap(const struct phases *p, const struct model_step *m, size_t i,
			   uint8_t last, uint64_t gap_ns)
{
	if (i && i == p->n_reads)
		return PART_NONE;
	uint8_t part = part_before(last, p->part_of_call.at[p->calls.at[i]]);
	if (part == PART_ZERO_GRAD && last != PART_ZERO_GRAD &&
	    is_zeroed_ahead_of_batch(p, m, i, gap_ns))
		return PART_AWAITED;
	return part;
}

/*
 * Returns until when the lane waited, in a pause without calls, for a batch that another thread
 * copied; 0: it did not wait for one. A prefetching thread passes its batch on at once, so the lane
 * must continue soon after the copy. If it continues later, it did not wait for this batch.
 */
static uint64_t handover_ns(const struct phases *p, uint32_t thread, uint64_t from_ns,
			    uint64_t to_ns)
{
	uint64_t last_ns = 0;
	if (to_ns - from_ns < HANDOVER_NS)
		return 0;
	for (size_t i = 0; i < p->batches.n; i++) {
		const struct phase_batch *b = &p->batches.at[i];
		if (b->thread != thread && b->begin_ns >= from_ns && b->end_ns <= to_ns &&
		    b->end_ns > last_ns)
			last_ns = b->end_ns;
	}
	return last_ns && to_ns - last_ns <= (to_ns - from_ns) / HANDOVER_PART ? last_ns : 0;
}

/*
 * Returns true if the step began with a batch from another thread: the copy of that batch ended
 * before the lane's first call, which came soon after the step's start. The next step is assumed to
 * begin like this one, so the lane spent the time at the end of this step (`gap_ns`) waiting for a
 * batch.
 */
static bool begins_with_handover(const struct phases *p, const struct model_step *m,
				 uint32_t thread, uint64_t gap_ns)
{
	uint64_t first_ns = p->calls.n ? m->calls.at[p->calls.at[0]].begin_ns : m->begin_ns;
	for (size_t i = 0; i < p->batches.n && gap_ns >= HANDOVER_NS; i++)
		if (p->batches.at[i].thread != thread && p->batches.at[i].end_ns <= first_ns)
			return first_ns - m->begin_ns < gap_ns / HANDOVER_PART;
	return false;
}

/* The CPU time between two calls of a lane. */
struct gap {
	const struct model_step *m;
	struct frames *frames;
	size_t first; /* the lane's first span */
	uint32_t thread;
	/* stack of the copy of a batch that follows or, outside data loading, of the next call; 0:
	 * none */
	uint32_t next;
	/* the stacks of the calls before and after; 0: one of them is unknown */
	uint64_t key;
	uint8_t part; /* as the calls suggest */
};

/* Returns the index of the thread's first sample at or after `ns`. */
static size_t first_sample(const struct model_step *m, uint32_t thread, uint64_t ns)
{
	const struct model_sample *s = m->samples.at;
	return bisect(m->samples.n, i,
		      s[i].thread < thread || (s[i].thread == thread && s[i].ns < ns));
}

/* Returns the part of the time around the sample. */
static uint8_t part_of_sample(struct phases *p, const struct gap *g, const struct model_sample *s)
{
	if (!g->frames || !s->stack)
		return g->part;
	struct phase_stack found = stack_of(p, g->frames, s->stack);
	return phase_samples_part(g->frames, &found, s->stack, g->part, g->next);
}

/* Adds a time without samples. If a time between the same two calls was sampled before, it has the
 * same part. */
static void add_unseen(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	const uint64_t *known = NULL;
	if (g->key && end_ns > begin_ns + SAMPLED_LEAST_NS)
		known = map_find(&p->part_between, g->key);
	add_span(p, g->first, begin_ns, end_ns, known ? (uint8_t)*known : g->part, 0);
}

/* Adds the time from `begin_ns` to `end_ns`. Samples of the lane's thread show what it did: each
 * stands for the time that is nearer to it than to any other one. */
static void add_sampled(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	const struct model_sample *s = g->m->samples.at;
	size_t n = g->m->samples.n, first = first_sample(g->m, g->thread, begin_ns), end = first;
	uint64_t of_part[PHASE_PARTS_N] = { 0 };
	uint8_t most = g->part;
	while (end < n && s[end].thread == g->thread && s[end].ns < end_ns)
		end++;
	if (end == first || end_ns < begin_ns + SAMPLED_LEAST_NS) {
		add_unseen(p, g, begin_ns, end_ns);
		return;
	}
	for (size_t i = first; i < end; i++) {
		uint64_t until_ns = i + 1 == end ? end_ns : s[i].ns + (s[i + 1].ns - s[i].ns) / 2;
		uint8_t part = part_of_sample(p, g, &s[i]);
		add_span(p, g->first, begin_ns, until_ns, part, 0);
		of_part[part] += until_ns - begin_ns;
		most = of_part[part] > of_part[most] ? part : most;
		begin_ns = until_ns;
	}
	if (g->key)
		*map_at(&p->part_between, g->key, NULL) = most;
}

static void add_gap(struct phases *p, const struct gap *g, uint64_t begin_ns, uint64_t end_ns)
{
	uint64_t until_ns = 0;
	if (phase_of_part(g->part) != PHASE_DATA && end_ns > begin_ns)
		until_ns = handover_ns(p, g->thread, begin_ns, end_ns);
	if (until_ns) {
		add_span(p, g->first, begin_ns, until_ns, PART_AWAITED, 0);
		begin_ns = until_ns;
	}
	add_sampled(p, g, begin_ns, end_ns);
}

/* Returns the stack of what comes after the gap before the lane's call number `i`: in data loading
 * the copy of a batch, else that call. 0: none follows. */
static uint32_t next_from(const struct phases *p, const struct model_step *m, size_t i,
			  uint8_t part)
{
	if (phase_of_part(part) != PHASE_DATA)
		return i < p->calls.n ? m->calls.at[p->calls.at[i]].stack : 0;
	for (; i < p->calls.n; i++)
		if (p->part_of_call.at[p->calls.at[i]] == PART_TO_DEVICE)
			return m->calls.at[p->calls.at[i]].stack;
	return 0;
}

/* Returns a number for the stacks of the lane's calls `i` - 1 and `i`; 0: a stack is unknown. A
 * step's first call follows the last call of the step before, which is assumed to be like that of
 * this step. */
static uint64_t key_before(const struct phases *p, const struct model_step *m, size_t i)
{
	if (!p->calls.n)
		return 0;
	uint32_t last = m->calls.at[p->calls.at[(i ? i : p->calls.n) - 1]].stack,
		 next = m->calls.at[p->calls.at[i]].stack;
	return last && next ? (uint64_t)last << 32 | next : 0;
}

/* Adds the time after the lane's last call, in which the CPU is on its way to the next step. A run
 * without steps has no next one. */
static void add_tail(struct phases *p, struct gap *g, uint64_t at_ns, uint8_t last)
{
	const struct model_step *m = g->m;
	g->part = last;
	if (m->is_whole_run)
		g->part = PART_NONE;
	else if (p->calls.n)
		g->part = part_of_gap(p, m, 0, last, m->end_ns - at_ns);
	if (!m->is_whole_run && begins_with_handover(p, m, g->thread, m->end_ns - at_ns) &&
	    phase_of_part(g->part) != PHASE_DATA)
		g->part = PART_AWAITED;
	g->next = next_from(p, m, 0, g->part);
	g->key = key_before(p, m, 0);
	add_gap(p, g, at_ns, m->end_ns);
}

/* Appends the lane's spans, which cover the whole step. */
static void add_spans(struct phases *p, const struct model_step *m, uint32_t thread,
		      struct frames *frames)
{
	struct gap gap = { .m = m, .frames = frames, .first = p->spans.n, .thread = thread };
	uint64_t at_ns = m->begin_ns;
	uint8_t last = PART_NONE;
	for (size_t i = 0; i < p->calls.n; i++) {
		const struct model_call *c = &m->calls.at[p->calls.at[i]];
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		uint64_t begin_ns = c->begin_ns < m->end_ns ? c->begin_ns : m->end_ns;
		uint64_t end_ns = c->end_ns < m->end_ns ? c->end_ns : m->end_ns;
		if (begin_ns > at_ns) {
			gap.part = part_of_gap(p, m, i, last, begin_ns - at_ns);
			gap.next = next_from(p, m, i, gap.part);
			gap.key = key_before(p, m, i);
			add_gap(p, &gap, at_ns, begin_ns);
			at_ns = begin_ns;
		}
		end_ns = end_ns > at_ns ? end_ns : at_ns;
		add_span(p, gap.first, at_ns, end_ns, part, 1);
		at_ns = end_ns;
		last = part;
	}
	if (m->end_ns > at_ns)
		add_tail(p, &gap, at_ns, last);
}

/* ---- Copies that are not of batches ---- */

/* The copies of one size that one function of the user makes in a step. */
struct trips {
	uint64_t to_host, to_device;
};

static uint64_t hash_text(uint64_t hash, const char *text)
{
	for (; *text; text++)
		hash = (hash ^ (uint8_t)*text) * 0x100000001b3ull;
	return hash;
}

/* Returns a number for the user's function that makes the copy and for the copy's size; 0: no
 * function of the user makes it. */
static uint64_t trip_key(const struct model_call *c, struct frames *frames)
{
	struct frame_list list = frames_of(frames, c->stack);
	for (size_t i = 0; i < list.n; i++)
		if (list.at[i]->kind == FRAME_KIND_PYTHON && !list.at[i]->is_library)
			return hash_text(hash_text(c->bytes + 1, list.at[i]->file),
					 list.at[i]->function);
	return 0;
}

/*
 * An optimizer that keeps its state on the host copies the gradients there and the parameters back.
 * Of these parameters, each has a gradient of its size, which the same function copies in the same
 * step. Takes them out of the batches. A program that copies a few results of a batch's size back
 * has batches.
 */
static void settle_round_trips(struct phases *p, const struct model_step *m, struct frames *frames)
{
	struct map place = { 0 };
	VEC(struct trips) trips = { 0 };
	uint64_t *keys = mem_zero((p->calls.n + 1) * sizeof(*keys)), n = 0, n_sizes = 0;
	for (size_t i = 0; frames && i < p->calls.n; i++) {
		const struct model_call *c = &m->calls.at[p->calls.at[i]];
		bool is_new;
		if (c->category != CAT_MEMCPY || c->bytes < TIMELINE_BATCH_BYTES || !c->stack ||
		    (c->copy != COPY_D2H && p->part_of_call.at[p->calls.at[i]] != PART_TO_DEVICE))
			continue;
		keys[i] = trip_key(c, frames);
		if (!keys[i])
			continue;
		uint64_t *at = map_at(&place, keys[i], &is_new);
		if (is_new) {
			*at = trips.n;
			vec_push(&trips, (struct trips){ 0 });
		}
		if (*at >= trips.n)
			continue;
		trips.at[*at].to_host += c->copy == COPY_D2H;
		trips.at[*at].to_device += c->copy == COPY_H2D;
	}
	for (size_t i = 0; i < trips.n; i++) {
		const struct trips *x = &trips.at[i];
		uint64_t both = x->to_host < x->to_device ? x->to_host : x->to_device;
		n += both;
		n_sizes += both > 0;
	}
	for (size_t i = 0; n >= READS_LEAST && n_sizes > 1 && i < p->calls.n; i++) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		if (keys[i] && *part == PART_TO_DEVICE &&
		    trips.at[*map_find(&place, keys[i])].to_host)
			*part = PART_NONE;
	}
	free(keys);
	vec_free(&trips);
	map_free(&place);
}

/* ---- Parts that follow from the order of calls ---- */

/*
 * Sets the part of calls without a stack to the part of the lane's next call. `own` is the lane's
 * own thread. If most of its calls have no stack (PROF_STACKS), the calls with a known part are
 * mostly those of autograd's threads, whose part follows from the thread's name. They say nothing
 * about the calls of `own`, so calls without a stack become PART_NONE.
 */
static void settle_unknown(struct phases *p, const struct model_thread *own)
{
	size_t n = 0;
	for (size_t i = own->first; i < own->first + own->n; i++)
		n += p->part_of_call.at[i] == PART_UNKNOWN;
	bool is_resolved = n * 2 <= own->n;
	uint8_t next = PART_NONE;
	/* After the last call comes the next step's first call, so this loop leaves the part of the
	 * first known call in `next`. */
	for (size_t i = p->calls.n; i-- > 0 && is_resolved;)
		if (p->part_of_call.at[p->calls.at[i]] != PART_UNKNOWN)
			next = p->part_of_call.at[p->calls.at[i]];
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		if (*part == PART_UNKNOWN)
			*part = next;
		next = is_resolved ? *part : PART_NONE;
	}
	p->n_unresolved += is_resolved ? 0 : n;
}

static bool is_open_call(struct phases *p, const struct model_step *m, uint32_t call,
			 struct frames *frames)
{
	uint32_t stack = m->calls.at[call].stack;
	if (phase_of_part(p->part_of_call.at[call]) == PHASE_BACKWARD || !frames || !stack)
		return false;
	struct phase_stack found = stack_of(p, frames, stack);
	return is_open(&found);
}

/* Returns true for calls that neither launch work nor wait. A polling loop is a wait. */
static bool is_preparing(const struct model_call *c)
{
	return c->category == CAT_ALLOC || c->category == CAT_EVENT || c->category == CAT_STREAM ||
	       c->category == CAT_CONTROL || (c->category == CAT_QUERY && !c->polls);
}

/* Returns true if both calls come from the same line and are within one operator. */
static bool are_of_one_operator(const struct model_call *a, const struct model_call *b,
				struct frames *frames)
{
	const char *of_a = frames_operator(frames, a->stack, true);
	if (!*of_a || strcmp(of_a, frames_operator(frames, b->stack, true)) != 0)
		return false;
	struct phase_parting parting = phase_rules_parting(frames, a->stack, b->stack);
	return !parting.at && !parting.other;
}

/*
 * Assigns calls that only prepare the copy of a batch to the time in which the batch is awaited.
 * Such a call may come from the loop's own line, after the data loader has returned. For example,
 * when the loop takes the next batch, the previous batch may be freed. For pinned memory, PyTorch's
 * allocator then records an event.
 */
static void settle_before_batch(struct phases *p, const struct model_step *m, struct frames *frames)
{
	bool is_ahead = false;
	/* Two rounds, because the next step's first call follows the last call. */
	size_t n_left = (m->is_whole_run ? 1 : 2) * p->calls.n;
	for (size_t i = p->calls.n; n_left-- > 0; i = i ? i : p->calls.n) {
		uint32_t call = p->calls.at[--i];
		uint8_t *part = &p->part_of_call.at[call];
		if (*part == PART_UNKNOWN && is_preparing(&m->calls.at[call]))
			continue;
		bool is_prepared = is_preparing(&m->calls.at[call]) &&
				   (*part == PART_AWAITED || is_open_call(p, m, call, frames));
		if (!is_prepared)
			is_ahead =
				(is_ahead && *part == PART_ZERO_GRAD) ||
				(*part == PART_TO_DEVICE && m->calls.at[call].category != CAT_SYNC);
		else if (is_ahead)
			*part = PART_AWAITED;
	}
}

/* A blocking copy of a batch consists of a copy and a synchronization. Assigns the synchronization
 * to the batch, too. */
static void settle_after_batch(struct phases *p, const struct model_step *m, struct frames *frames)
{
	const struct model_call *copy = NULL, *calls = m->calls.at;
	for (size_t i = 0; calls && i < p->calls.n; i++) {
		uint32_t call = p->calls.at[i];
		const struct model_call *c = &calls[call];
		if (p->part_of_call.at[call] == PART_TO_DEVICE)
			copy = c;
		else if (copy && c->category == CAT_SYNC && is_open_call(p, m, call, frames) &&
			 are_of_one_operator(copy, c, frames))
			p->part_of_call.at[call] = PART_TO_DEVICE;
		else if (!is_preparing(c))
			copy = NULL;
	}
}

/* Assigns user code between the batch and backward() to the forward pass: it usually computes the
 * loss. Other user code becomes PART_NONE. */
static void settle_user_calls(struct phases *p)
{
	bool before_backward = false;
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		enum phase phase = phase_of_part(*part);
		if (*part == PART_USER)
			*part = before_backward ? PART_FUNCTIONAL : PART_NONE;
		else if (*part != PART_NONE && *part != PART_ZERO_GRAD && *part != PART_UNKNOWN &&
			 *part != PART_METRIC && *part != PART_PRINT)
			before_backward = phase == PHASE_BACKWARD ||
					  (before_backward && phase == PHASE_FORWARD);
	}
}

/* Returns true for calls in the closure of an optimizer. A closure is part of the training, never
 * an evaluation. It may run several times, and a step boundary may lie anywhere in it (L-BFGS). */
static bool is_in_closure(struct phases *p, const struct model_step *m, uint32_t call,
			  struct frames *frames)
{
	uint32_t stack = m->calls.at[call].stack;
	return frames && stack && stack_of(p, frames, stack).in_closure;
}

/*
 * In a step with a backward pass, a forward pass is an evaluation if no backward pass comes after
 * it before the next call of the optimizer or the step's end. This does not hold for a step that
 * begins with its backward pass: its boundary lies after the forward pass, so the last forward pass
 * belongs to the next step's backward pass.
 */
static void settle_evaluation(struct phases *p, const struct model_step *m, struct frames *frames)
{
	bool has_backward = false, begins_forward = false;
	for (size_t i = 0; i < p->calls.n && !has_backward; i++) {
		enum phase phase = phase_of_part(p->part_of_call.at[p->calls.at[i]]);
		has_backward = phase == PHASE_BACKWARD;
		begins_forward |= phase == PHASE_FORWARD;
	}
	if (!has_backward || !begins_forward)
		return;
	bool is_followed = false;
	for (size_t i = p->calls.n; i-- > 0;) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		enum phase phase = phase_of_part(*part);
		if (phase == PHASE_BACKWARD)
			is_followed = true;
		else if (*part == PART_OPTIMIZER)
			is_followed = false;
		else if (phase == PHASE_FORWARD && !is_followed &&
			 !is_in_closure(p, m, p->calls.at[i], frames))
			*part = PART_EVALUATION;
	}
}

/* Returns the stack of the thread's first call within backward(); 0: none. `before` gets the number
 * of the lane's calls before the backward pass. */
static uint32_t first_backward(const struct phases *p, const struct model_step *m, uint32_t thread,
			       size_t *before)
{
	const struct model_thread *t = &m->threads.at[thread];
	*before = p->calls.n;
	for (size_t i = 0; i < p->calls.n; i++) {
		uint32_t call = p->calls.at[i];
		if (phase_of_part(p->part_of_call.at[call]) != PHASE_BACKWARD)
			continue;
		if (*before == p->calls.n)
			*before = i;
		if (call >= t->first && call < t->first + t->n)
			return m->calls.at[call].stack;
	}
	return 0;
}

/*
 * If the step boundary lies after the optimizer, the step begins with the code after the optimizer,
 * at the end of the loop's body. A forward pass in this code is an evaluation. Such a pass is
 * called on a later line than backward(), and is followed by a forward pass of the same model on an
 * earlier line than backward().
 */
static void settle_early_evaluation(struct phases *p, const struct model_step *m, uint32_t thread,
				    struct frames *frames)
{
	size_t before, n_after = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0;
	const char *evaluated = "", *trained = "";
	for (size_t i = 0; backward && i < before; i++) {
		uint32_t call = p->calls.at[i], stack = m->calls.at[call].stack;
		if (phase_of_part(p->part_of_call.at[call]) != PHASE_FORWARD || !stack ||
		    is_in_closure(p, m, call, frames))
			continue;
		const char *module = stack_of(p, frames, stack).module;
		bool is_later = phase_rules_is_after(frames, stack, backward);
		n_after = is_later ? i + 1 : n_after;
		if (*module)
			*(is_later ? &evaluated : &trained) = module;
	}
	if (!*evaluated || strcmp(evaluated, trained) != 0)
		return;
	for (size_t i = 0; i < n_after; i++) {
		uint8_t *part = &p->part_of_call.at[p->calls.at[i]];
		if (phase_of_part(*part) == PHASE_FORWARD)
			*part = PART_EVALUATION;
	}
}

/*
 * A step that begins with the end of the loop's body (see settle_early_evaluation()) may copy many
 * values to the host there, to save a model or to log norms. This code does not belong to the
 * forward pass that follows. The time from its last copy to the next call belongs to this code,
 * too, for example to the writing of a file.
 */
static void settle_early_reads(struct phases *p, const struct model_step *m, uint32_t thread,
			       struct frames *frames)
{
	size_t before, n_copies = 0, n = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0;
	p->n_reads = 0;
	for (; backward && n < before; n++) {
		const struct model_call *c = &m->calls.at[p->calls.at[n]];
		uint8_t part = p->part_of_call.at[p->calls.at[n]];
		if ((part != PART_USER && part != PART_NONE) ||
		    !phase_rules_is_after(frames, c->stack, backward))
			break;
		n_copies += c->category == CAT_MEMCPY && c->copy == COPY_D2H;
	}
	if (n_copies < READS_LEAST)
		return;
	p->n_reads = n;
	for (size_t i = 0; i < n; i++)
		p->part_of_call.at[p->calls.at[i]] = PART_NONE;
}

/* Marks evaluations that the loop runs before its training pass (evaluation.h). */
static void settle_evaluation_ahead(struct phases *p, const struct model_step *m, uint32_t thread,
				    struct frames *frames)
{
	size_t before, n = 0;
	if (!frames || !first_backward(p, m, thread, &before) || !before)
		return;
	uint32_t *calls = mem_resize(NULL, before * sizeof(*calls));
	bool *is_eval = mem_zero(before * sizeof(*is_eval));
	for (size_t i = 0; i < before; i++) {
		uint8_t part = p->part_of_call.at[p->calls.at[i]];
		if (phase_of_part(part) == PHASE_FORWARD && part != PART_EVALUATION &&
		    !is_in_closure(p, m, p->calls.at[i], frames))
			calls[n++] = p->calls.at[i];
	}
	evaluation_find(m, frames, thread, calls, n, m->calls.at[p->calls.at[before]].begin_ns,
			is_eval);
	for (size_t i = 0; i < n; i++)
		if (is_eval[i])
			p->part_of_call.at[calls[i]] = PART_EVALUATION;
	free(calls);
	free(is_eval);
}

/*
 * Takes user code out of the forward pass that settle_user_calls() put there, but that is not
 * part of it: code of the previous iteration, which is on a later line than backward(), such as an
 * average of the weights; and lines whose result the CPU reads, such as an accuracy, because
 * backward() cannot follow what the CPU reads.
 */
static void settle_user_code_apart(struct phases *p, const struct model_step *m, uint32_t thread,
				   struct frames *frames)
{
	size_t before = 0;
	uint32_t backward = frames ? first_backward(p, m, thread, &before) : 0, read_site = 0;
	for (size_t i = p->calls.n; frames && i-- > 0;) {
		uint32_t call = p->calls.at[i], stack = m->calls.at[call].stack;
		if (p->part_of_call.at[call] != PART_FUNCTIONAL || !stack ||
		    stack_of(p, frames, stack).part != PART_USER)
			continue;
		if (stack_of(p, frames, stack).is_read)
			read_site = frames_site(frames, stack);
		bool is_earlier = backward && i < before &&
				  phase_rules_is_after(frames, stack, backward);
		if (is_earlier || (read_site && frames_site(frames, stack) == read_site))
			p->part_of_call.at[call] = PART_NONE;
	}
}

/* ---- Lanes ---- */

/* Collects the lane's calls in order of time. `workers`: by thread, true for autograd's threads,
 * whose calls are included; NULL: only the calls of `thread`. */
static void gather_calls(struct phases *p, const struct model_step *m, size_t thread,
			 const bool *workers)
{
	struct order_key *keys = mem_resize(NULL, m->calls.n * sizeof(*keys));
	size_t n = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *t = &m->threads.at[i];
		for (size_t k = 0; k < t->n && (i == thread || (workers && workers[i])); k++)
			keys[n++] = (struct order_key){ m->calls.at[t->first + k].begin_ns,
							(uint32_t)(t->first + k) };
	}
	order_sort(keys, n);
	p->calls.n = 0;
	for (size_t i = 0; i < n; i++)
		vec_push(&p->calls, keys[i].index);
	free(keys);
}

static bool is_evidence(uint8_t part)
{
	return phase_of_part(part) != PHASE_OTHER && part != PART_TO_DEVICE && part != PART_AWAITED;
}

static void add_lane(struct phases *p, const struct model_step *m, size_t thread,
		     const bool *workers, struct frames *frames)
{
	struct phase_lane lane = { .thread = (uint32_t)thread, .first = p->spans.n };
	gather_calls(p, m, thread, workers);
	settle_round_trips(p, m, frames);
	settle_after_batch(p, m, frames);
	settle_before_batch(p, m, frames);
	settle_early_reads(p, m, lane.thread, frames);
	settle_user_calls(p);
	settle_evaluation(p, m, frames);
	settle_early_evaluation(p, m, lane.thread, frames);
	settle_evaluation_ahead(p, m, lane.thread, frames);
	settle_user_code_apart(p, m, lane.thread, frames);
	if (p->calls.n)
		settle_unknown(p, &m->threads.at[thread]);
	add_spans(p, m, lane.thread, frames);
	lane.n = p->spans.n - lane.first;
	for (size_t i = lane.first; i < p->spans.n; i++)
		lane.has_phases |= is_evidence(p->spans.at[i].part);
	vec_push(&p->lanes, lane);
}

/* Returns the index of the thread that launches most, not counting autograd's threads. */
static size_t main_thread(const struct model_step *m, const bool *workers)
{
	size_t best = m->threads.n, most = 0;
	for (size_t i = 0; i < m->threads.n; i++) {
		size_t n = count_launches(m, &m->threads.at[i]);
		if (workers[i] || (best < m->threads.n && n <= most))
			continue;
		best = i;
		most = n;
	}
	return best < m->threads.n ? best : 0;
}

void phases_find(struct phases *p, const struct model_step *m, struct frames *frames)
{
	bool *workers = mem_zero(m->threads.n * sizeof(*workers));
	p->lanes.n = p->spans.n = p->part_of_call.n = p->batches.n = 0;
	p->n_guessed = p->n_without_stack = p->n_unresolved = 0;
	vec_reserve(&p->part_of_call, m->calls.n);
	p->part_of_call.n = m->calls.n;
	memset(p->part_of_call.at, PART_NONE, m->calls.n);
	for (size_t i = 0; i < m->threads.n; i++) {
		const struct model_thread *t = &m->threads.at[i];
		workers[i] = is_worker(p, m, t, frames);
		for (size_t k = t->first; k < t->first + t->n; k++) {
			const struct model_call *c = &m->calls.at[k];
			p->part_of_call.at[k] = part_of(p, c, frames, workers[i]);
			if (p->part_of_call.at[k] == PART_TO_DEVICE && is_batch(c) &&
			    is_of_program(p, c, frames))
				vec_push(&p->batches, (struct phase_batch){ c->begin_ns, c->end_ns,
									    (uint32_t)i });
		}
	}
	size_t main = main_thread(m, workers);
	add_lane(p, m, main, workers, frames);
	for (size_t i = 0; i < m->threads.n; i++)
		if (i != main && !workers[i] && m->threads.at[i].n)
			add_lane(p, m, i, NULL, frames);
	free(workers);
}

/* ---- Sums ---- */

static uint8_t part_of_work(const struct phases *p, const struct model_step *m,
			    const struct model_work *w, const uint8_t *captured)
{
	uint32_t origin = model_work_origin(m, w);
	if (captured && origin != MODEL_NO_CALL)
		return captured[origin];
	return w->call < m->calls.n ? p->part_of_call.at[w->call] : (uint8_t)PART_NONE;
}

void phase_sums_add(struct phase_sums *s, const struct phases *p, const struct model_step *m,
		    const uint8_t *captured)
{
	const struct phase_lane *lane = &p->lanes.at[0];
	for (size_t i = lane->first; i < lane->first + lane->n; i++)
		s->host_ns[p->spans.at[i].part] += p->spans.at[i].end_ns - p->spans.at[i].begin_ns;
	for (size_t i = 0; i < m->works.n; i++) {
		const struct model_work *w = &m->works.at[i];
		if (w->kind == WORK_SYNC)
			continue;
		uint8_t part = part_of_work(p, m, w, captured);
		s->gpu_ns[part] += w->end_ns - w->begin_ns;
		s->graph_ns[part] += w->graph ? w->end_ns - w->begin_ns : 0;
		s->work_ns += w->end_ns - w->begin_ns;
	}
	s->steps_ns += m->end_ns - m->begin_ns;
	s->n_calls += m->calls.n;
	s->n_guessed += p->n_guessed;
	s->n_without_stack += p->n_without_stack;
	s->n_unresolved += p->n_unresolved;
	for (size_t i = 0; i < p->lanes.n; i++)
		s->has_phases |= p->lanes.at[i].has_phases;
	for (size_t i = 0; captured && i < m->captured.n; i++)
		s->has_phases |= is_evidence(captured[i]);
}

bool phase_sums_are_right(const struct phase_sums *s)
{
	uint64_t host_ns = 0, gpu_ns = 0;
	for (size_t i = 0; i < PHASE_PARTS_N; i++) {
		host_ns += s->host_ns[i];
		gpu_ns += s->gpu_ns[i];
	}
	return host_ns == s->steps_ns && gpu_ns == s->work_ns;
}
