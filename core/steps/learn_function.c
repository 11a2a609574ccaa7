/* See learn_function.h. */
#include "core/steps/learn_function.h"

#include "core/runtime/record.h"
#include "core/source/journal/pylines.h"

#include <string.h>

enum {
	/*
	 * A search is due after FIRST_LOOK more launches, and one more for every LOOK_GROWTH made
	 * so far.
	 */
	FIRST_LOOK = 8,
	LOOK_GROWTH = 8,
	/*
	 * 16 MiB of launches. A function that has not been called four times by then is not a step.
	 */
	MOST_LAUNCHES = 1 << 20,
	/*
	 * Calls of the function that must have been found, while the program runs and at its end.
	 */
	CALLS_WANTED = 4,
	CALLS_ENDED = 2,
	/*
	 * The largest distance of anchor or backup from the start of the call, in launches. It must
	 * be large, because the first launches may be a loop over layers, whose trigrams occur
	 * several times.
	 */
	MAX_OFFSET = 64,
	TRIGRAM = 3,
	/* One call in this many may lack the anchor. */
	MISSES = 10,
};

void learn_function_free(struct learn_function *x)
{
	vec_free(&x->match_of_code);
	map_free(&x->at_of_stack);
	source_free(&x->source);
	strtab_free(&x->texts);
	vec_free(&x->launches);
}

/*
 * Returns whether `text` is `suffix`, or ends with `separator` and `suffix`: train.py is not a
 * suffix of pretrain.py.
 */
static bool ends_with(const char *text, char separator, const char *suffix, size_t n)
{
	size_t length = strlen(text);
	if (length < n || memcmp(text + length - n, suffix, n) != 0)
		return false;
	return length == n || text[length - n - 1] == separator;
}

static bool matches(struct learn_function *x, const struct dict *d, const char *setting,
		    uint32_t code)
{
	const struct code_entry *entry = dict_code(d, code);
	const char *colon = strrchr(setting, ':');
	if (!entry || !colon)
		return false;
	while (x->match_of_code.n <= code)
		vec_push(&x->match_of_code, 0);
	if (!x->match_of_code.at[code]) {
		bool is = ends_with(strtab_text(&d->t.names, entry->file), '/', setting,
				    (size_t)(colon - setting)) &&
			  ends_with(strtab_text(&d->t.names, entry->name), '.', colon + 1,
				    strlen(colon + 1));
		x->match_of_code.at[code] = is ? 2 : 1;
	}
	return x->match_of_code.at[code] == 2;
}

static uint32_t loop_of(struct learn_function *x, const struct dict *d, uint32_t code, uint32_t at)
{
	const struct code_entry *c = dict_code(d, code);
	const char *folder = tables_fact(&d->t, "cwd");
	uint32_t line = pylines_line((enum line_table)c->lines, d->tables.at + c->table,
				     c->table_bytes, c->first_line, at);
	return source_loop(&x->source, &x->texts, folder ? folder : "",
			   strtab_text(&d->t.names, c->file), c->first_line, line);
}

/*
 * Returns the place in the function at which the stack's launch was made, and the loop around that
 * place, in the format of at_of_stack. Uses the function's outermost frame, because recursive calls
 * are part of one call.
 */
static uint64_t find_at(struct learn_function *x, const struct dict *d, const char *setting,
			uint32_t stack)
{
	uint64_t raw[DICT_FRAMES_MOST];
	uint32_t flags;
	for (size_t i = dict_stack(d, stack, raw, &flags); i-- > 0;) {
		uint32_t code = raw[i] >> 32 & 0x7fffffff, at = (uint32_t)raw[i];
		if (raw[i] & FRAME_PYTHON && matches(x, d, setting, code))
			return (uint64_t)loop_of(x, d, code, at) << 32 | at;
	}
	return FUNCTION_OUTSIDE;
}

void learn_function_feed(struct learn_function *x, const struct dict *d, const char *setting,
			 uint32_t thread, uint64_t hash, uint32_t stack)
{
	bool is_new;
	uint64_t *at = map_at(&x->at_of_stack, stack, &is_new);
	if (is_new)
		*at = stack ? find_at(x, d, setting, stack) : FUNCTION_OUTSIDE;
	bool is_in = (uint32_t)*at != FUNCTION_OUTSIDE;
	if (!x->launches.n && is_in)
		x->thread = thread;
	if ((!x->launches.n && !is_in) || thread != x->thread || x->launches.n == MOST_LAUNCHES)
		return;
	vec_push(&x->launches, ((struct function_launch){ hash, (uint32_t)*at, *at >> 32 }));
}

/* ---- Where calls begin ---- */

typedef VEC(size_t) call_list;

/*
 * Finds the launches with which calls of the function begin.
 *
 * A call begins when the function's first launching instruction is reached from outside the
 * function or from a later instruction. All launches that this one instruction makes in a row
 * belong to one call, for example a whole forward pass. If the instruction is in a loop of the
 * function, it launches in each iteration of that loop. Then a call begins only if something
 * outside the loop launched before.
 */
static void find_calls(const struct learn_function *x, call_list *calls)
{
	uint32_t first = FUNCTION_OUTSIDE, before = FUNCTION_OUTSIDE, loop = 0;
	bool was_left = true; /* the loop or the function was left since the last call began */
	for (size_t i = 0; i < x->launches.n; i++)
		if (x->launches.at[i].at < first) {
			first = x->launches.at[i].at;
			loop = x->launches.at[i].loop;
		}
	for (size_t i = 0; i < x->launches.n; i++) {
		const struct function_launch *launch = &x->launches.at[i];
		was_left |= !loop || launch->at == FUNCTION_OUTSIDE || launch->loop != loop;
		if (launch->at == first && before != first && was_left) {
			vec_push(calls, i);
			was_left = false;
		}
		before = launch->at;
	}
}

/* ---- The anchor and its backup ---- */

/*
 * Returns the trigram of the launch at `offset` from the first launch of call `k`. Returns 0 if
 * there is no launch there.
 */
static uint64_t hash_at(const struct learn_function *x, const call_list *calls, size_t k,
			int offset)
{
	size_t begin = calls->at[k];
	if (offset < 0 ? begin < (size_t)-offset : begin + (size_t)offset >= x->launches.n)
		return 0;
	return x->launches.at[offset < 0 ? begin - (size_t)-offset : begin + (size_t)offset].hash;
}

/*
 * Returns the trigram that occurs at `offset` in nearly all calls and nowhere else, or 0 if no
 * trigram does. Ignores the first call.
 */
static uint64_t anchor_at(const struct learn_function *x, const call_list *calls, int offset)
{
	size_t middle = calls->n / 2, n = 0, n_all = 0, n_there = 0;
	uint64_t hash = hash_at(x, calls, middle ? middle : 1, offset);
	for (size_t k = 1; hash && k < calls->n; k++) {
		n += hash_at(x, calls, k, offset) != 0;
		n_there += hash_at(x, calls, k, offset) == hash;
	}
	if (!hash || n - n_there > n / MISSES)
		return 0;
	for (size_t i = calls->at[0] + (offset < 0 ? 0 : (size_t)offset + 1); i < x->launches.n;
	     i++)
		n_all += x->launches.at[i].hash == hash;
	/* At a negative offset, the anchor of the next call may have occurred already. */
	bool is_next = offset < 0 && x->launches.at[x->launches.n - 1].hash == hash;
	return n_all == n_there + is_next ? hash : 0;
}

/*
 * Finds a backup that shares no launch with the anchor. The backup is searched for among the call's
 * own launches, because they vary less than those that precede the call.
 */
static void find_backup(const struct learn_function *x, const call_list *calls, int anchor,
			struct level_choice *out)
{
	for (int offset = anchor + TRIGRAM; offset < MAX_OFFSET && !out->backup; offset++)
		out->backup = anchor_at(x, calls, offset);
	for (size_t i = x->launches.n; i-- > 0 && x->launches.at[i].hash != out->anchor;)
		out->backup_is_last |= x->launches.at[i].hash == out->backup;
}

/* Returns the mean number of launches from one call to the next. */
static uint32_t period_of(const call_list *calls)
{
	return (uint32_t)((calls->at[calls->n - 1] - calls->at[0]) / (calls->n - 1));
}

/* Counts the steps that have ended. Step 0 is the first call and everything before it. */
static uint64_t count_ended(const struct learn_function *x, const call_list *calls, int offset,
			    uint64_t anchor)
{
	uint64_t n = 0;
	for (size_t k = 1; k < calls->n; k++)
		n += hash_at(x, calls, k, offset) != 0;
	return n + (offset < 0 && x->launches.at[x->launches.n - 1].hash == anchor);
}

/*
 * Chooses the anchor that is nearest to the start of the call. `max_offset`: the anchor must be
 * less than this many launches into the call.
 */
static bool choose(struct learn_function *x, const call_list *calls, int max_offset,
		   struct level_choice *out)
{
	for (int offset = -1; offset < max_offset; offset++) {
		uint64_t anchor = anchor_at(x, calls, offset);
		if (!anchor)
			continue;
		*out = (struct level_choice){
			.anchor = anchor,
			.thread = x->thread,
			.calls_per_step = period_of(calls),
			.count = count_ended(x, calls, offset, anchor),
			.confidence = 1 - 1.0 / (double)calls->n,
			.boundary = LEVEL_BY_FUNCTION,
		};
		find_backup(x, calls, offset, out);
		return true;
	}
	return false;
}

/*
 * Returns the number of launches, without those made outside the function since the last call. The
 * latter may be the start of work between two calls, such as an evaluation, and that work is
 * complete only when the next call begins. Until then, a trigram of the function's own launches may
 * also occur in that work, so it cannot become the anchor.
 */
static size_t count_settled(const struct learn_function *x)
{
	size_t n = x->launches.n;
	while (n && x->launches.at[n - 1].at == FUNCTION_OUTSIDE)
		n--;
	return n;
}

bool learn_function_vote(struct learn_function *x, bool ended, struct level_choice *out)
{
	call_list calls = { 0 };
	if (!x->launches.n || (!ended && x->launches.n < x->next_look))
		return false;
	x->next_look = x->launches.n + x->launches.n / LOOK_GROWTH + FIRST_LOOK;
	size_t n_all = x->launches.n;
	x->launches.n = ended ? n_all : count_settled(x);
	find_calls(x, &calls);
	x->n_calls = calls.n;
	bool found = calls.n >= (ended ? CALLS_ENDED : CALLS_WANTED) &&
		     choose(x, &calls, x->launches.n < n_all ? 0 : MAX_OFFSET, out);
	for (size_t i = x->launches.n; found && i < n_all; i++)
		out->count += x->launches.at[i].hash == out->anchor;
	x->launches.n = n_all;
	vec_free(&calls);
	return found;
}
