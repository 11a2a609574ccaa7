/* Which calls belong to the copy of a batch, and which copies are of no batch. */
#include "core/analysis/phase_parts.h"
#include "core/analysis/timeline.h"

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
void phase_batches_leave_trips(struct phases *p, const struct model_step *m, struct frames *frames)
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

static bool is_open_call(struct phases *p, const struct model_step *m, uint32_t call,
			 struct frames *frames)
{
	uint32_t stack = m->calls.at[call].stack;
	if (phase_of_part(p->part_of_call.at[call]) == PHASE_BACKWARD || !frames || !stack)
		return false;
	struct phase_stack found = phases_stack_of(p, frames, stack);
	return phases_is_open(&found);
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
void phase_batches_take_preparing(struct phases *p, const struct model_step *m,
				  struct frames *frames)
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
void phase_batches_take_waits(struct phases *p, const struct model_step *m, struct frames *frames)
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
