/* See levels_store.h. Runs in one thread of the collector. */
#include "core/steps/levels_store.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define LEVELS_FIRST_SLOTS 1024u

static int intern_grow(struct levels_intern *t)
{
	uint32_t n_slots = t->n_slots ? t->n_slots * 2 : LEVELS_FIRST_SLOTS;
	uint32_t *slots = calloc(n_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	/* At most half of the slots are used, so half as many keys suffice. */
	uint64_t *keys = realloc(t->keys, n_slots / 2 * sizeof(*keys));
	if (!keys) {
		free(slots);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < t->used; i++) {
		uint32_t at = (uint32_t)(keys[i] * TOKEN_K0 >> 32) & (n_slots - 1);
		while (slots[at])
			at = (at + 1) & (n_slots - 1);
		slots[at] = i + 1;
	}
	free(t->slots);
	t->slots = slots;
	t->keys = keys;
	t->n_slots = n_slots;
	return 0;
}

/* Returns in `out` the number of `key`, which may be new. Returns 0 or -ENOMEM. */
static int intern_number(struct levels_intern *t, uint64_t key, uint32_t *out)
{
	if (t->used * 2 >= t->n_slots) {
		int rc = intern_grow(t);
		if (rc)
			return rc;
	}
	uint32_t at = (uint32_t)(key * TOKEN_K0 >> 32) & (t->n_slots - 1);
	while (t->slots[at] && t->keys[t->slots[at] - 1] != key)
		at = (at + 1) & (t->n_slots - 1);
	if (!t->slots[at]) {
		t->keys[t->used] = key;
		t->slots[at] = ++t->used;
	}
	*out = t->slots[at] - 1;
	return 0;
}

/*
 * Returns in `out` the number of `key` in `t`. If `key` is new, also numbers `what` in `others`,
 * and stores that number in (*of)[*out]. Returns 0 or -ENOMEM.
 */
static int intern_with(struct levels_intern *t, uint64_t key, uint32_t **of,
		       struct levels_intern *others, uint64_t what, uint32_t *out)
{
	uint32_t used = t->used, n_slots = t->n_slots, other;
	int rc = intern_number(t, key, out);
	if (!rc && t->n_slots != n_slots) {
		uint32_t *grown = realloc(*of, t->n_slots / 2 * sizeof(**of));
		if (!grown)
			return -ENOMEM;
		*of = grown;
	}
	if (rc || *out < used)
		return rc;
	(*of)[*out] = 0;
	rc = intern_number(others, what, &other);
	if (!rc)
		(*of)[*out] = other;
	return rc;
}

static void intern_clear(struct levels_intern *t)
{
	free(t->keys);
	free(t->slots);
	*t = (struct levels_intern){ 0 };
}

/* Makes the tables empty without freeing them, because a copy of the store owns them now. */
static void store_forget_names(struct levels_store *s)
{
	s->tokens = s->trigrams = s->kernels = s->forms = (struct levels_intern){ 0 };
	s->kernel_of_token = s->form_of_trigram = NULL;
}

static void store_free_names(struct levels_store *s)
{
	intern_clear(&s->tokens);
	intern_clear(&s->trigrams);
	intern_clear(&s->kernels);
	intern_clear(&s->forms);
	free(s->kernel_of_token);
	free(s->form_of_trigram);
}

/* Numbers TOKEN_EXCHANGE before any trigram, so that its number is LEVELS_EXCHANGE. */
static int store_name_exchange(struct levels_store *s)
{
	uint32_t number;
	return s->trigrams.used ? 0
				: intern_with(&s->trigrams, TOKEN_EXCHANGE, &s->form_of_trigram,
					      &s->forms, TOKEN_EXCHANGE, &number);
}

/*
 * Drops the older half of the events, and the numbers of all tokens and trigrams that occur only
 * there.
 */
static int store_thin(struct levels_store *s)
{
	int rc = levels_store_sort(s);
	if (rc)
		return rc;
	uint32_t keep = s->n / 2;
	memmove(s->events, s->events + s->n - keep, keep * sizeof(*s->events));
	s->n_forgotten += s->n - keep;
	s->n = s->n_sorted = keep;

	s->n_before_optimizer = 0;
	struct levels_store old = *s;
	store_forget_names(s);
	rc = store_name_exchange(s);
	for (uint32_t i = 0; i < keep && !rc; i++) {
		struct levels_stored *e = &s->events[i];
		uint64_t kernel = old.kernels.keys[old.kernel_of_token[e->token]],
			 form = old.forms.keys[old.form_of_trigram[e->trigram]];
		rc = intern_with(&s->tokens, old.tokens.keys[e->token], &s->kernel_of_token,
				 &s->kernels, kernel, &e->token);
		if (!rc)
			rc = intern_with(&s->trigrams, old.trigrams.keys[e->trigram],
					 &s->form_of_trigram, &s->forms, form, &e->trigram);
	}
	store_free_names(&old);
	if (rc)
		levels_store_drop_events(s);
	return rc;
}

static int store_reserve(struct levels_store *s)
{
	if (s->n < s->allocated)
		return 0;
	if (s->n >= LEVELS_MAX_EVENTS)
		return store_thin(s);
	uint32_t allocated = s->allocated ? s->allocated * 2 : LEVELS_FIRST_SLOTS;
	struct levels_stored *events = realloc(s->events, allocated * sizeof(*events));
	if (!events)
		return -ENOMEM;
	s->events = events;
	s->allocated = allocated;
	return 0;
}

/*
 * Returns in `number` the number of a thread, and makes room for its window. Returns 0 or -ENOMEM.
 */
static int store_thread(struct levels_store *s, uint32_t thread, uint32_t *number)
{
	int rc = intern_number(&s->threads, thread, number);
	if (rc || *number < s->n_windows)
		return rc;
	uint32_t n = s->n_windows ? s->n_windows * 2 : 16;
	struct token_window *windows = realloc(s->windows, n * sizeof(*windows));
	if (windows)
		s->windows = windows;
	struct levels_thread *by_thread = realloc(s->by_thread, n * sizeof(*by_thread));
	if (by_thread)
		s->by_thread = by_thread;
	if (!windows || !by_thread)
		return -ENOMEM;
	memset(windows + s->n_windows, 0, (n - s->n_windows) * sizeof(*windows));
	memset(by_thread + s->n_windows, 0, (n - s->n_windows) * sizeof(*by_thread));
	s->n_windows = n;
	return 0;
}

int levels_store_push(struct levels_store *s, uint32_t thread, uint64_t token,
		      struct levels_pushed *pushed)
{
	uint32_t number;
	int rc = store_thread(s, thread, &number);
	if (rc)
		return rc;
	pushed->hash = token_window_push(&s->windows[number], token);
	pushed->exchanges = token_window_exchanges(&s->windows[number], token);
	return 0;
}

int levels_store_keep(struct levels_store *s, uint32_t thread, const struct level_event *event,
		      const struct levels_pushed *pushed)
{
	uint32_t token, trigram, number;
	uint64_t kernel = event->kernel ? event->kernel : event->token;
	int rc = store_reserve(s);
	if (!rc)
		rc = store_name_exchange(s);
	if (!rc)
		rc = store_thread(s, thread, &number);
	if (rc)
		return rc;
	struct levels_thread *t = &s->by_thread[number];
	uint64_t form = token_window_push(&t->kernels, kernel);
	t->n_copies = event->hints & LEVEL_COPY ? t->n_copies + 1 : 0;
	if (event->hints & LEVEL_OPTIMIZER && !s->n_before_optimizer)
		s->n_before_optimizer = s->forms.used;
	rc = intern_with(&s->tokens, event->token, &s->kernel_of_token, &s->kernels, kernel,
			 &token);
	if (!rc)
		rc = intern_with(&s->trigrams, pushed->hash, &s->form_of_trigram, &s->forms, form,
				 &trigram);
	if (rc)
		return rc;
	uint64_t blocked_us = event->blocked_ns / 1000;
	s->events[s->n++] = (struct levels_stored){
		.begin_ns = event->begin_ns,
		.end_ns = event->end_ns,
		.trigram = trigram,
		.token = token,
		.thread = thread,
		.blocked_us = blocked_us < LEVELS_MAX_BLOCKED_US ? (uint32_t)blocked_us
								 : LEVELS_MAX_BLOCKED_US,
		.hints = (event->hints & (LEVELS_ONLY_COPIES - 1)) |
			 (t->n_copies >= 3 ? LEVELS_ONLY_COPIES : 0) |
			 (pushed->exchanges ? LEVELS_EXCHANGES : 0),
	};
	return 0;
}

/* Merges two sorted runs of events. Of events with the same time, those of `a` come first. */
static void store_merge(struct levels_stored *out, const struct levels_stored *a, uint32_t n_a,
			const struct levels_stored *b, uint32_t n_b)
{
	while (n_a && n_b) {
		if (b->begin_ns < a->begin_ns) {
			*out++ = *b++;
			n_b--;
		} else {
			*out++ = *a++;
			n_a--;
		}
	}
	memcpy(out, a, n_a * sizeof(*out));
	memcpy(out + n_a, b, n_b * sizeof(*out));
}

/* Returns the end of the sorted run that begins at event `from`. */
static uint32_t store_run_end(const struct levels_stored *e, uint32_t from, uint32_t n)
{
	while (++from < n && e[from - 1].begin_ns <= e[from].begin_ns)
		;
	return from < n ? from : n;
}

/*
 * Merges neighbouring sorted runs until one is left. The events come as a few long runs, one per
 * thread and batch. `from` is the first event that may have to move.
 */
int levels_store_sort(struct levels_store *s)
{
	if (s->n_sorted == s->n)
		return 0;
	uint32_t from = s->n_sorted;
	uint64_t earliest_ns = UINT64_MAX;
	for (uint32_t i = s->n_sorted; i < s->n; i++)
		if (s->events[i].begin_ns < earliest_ns)
			earliest_ns = s->events[i].begin_ns;
	while (from && s->events[from - 1].begin_ns > earliest_ns)
		from--;

	struct levels_stored *e = s->events + from;
	uint32_t n = s->n - from;
	if (store_run_end(e, 0, n) < n) {
		struct levels_stored *spare = malloc(n * sizeof(*spare));
		if (!spare)
			return -ENOMEM;
		while (store_run_end(e, 0, n) < n) {
			for (uint32_t at = 0; at < n;) {
				uint32_t middle = store_run_end(e, at, n);
				uint32_t end = middle < n ? store_run_end(e, middle, n) : n;
				store_merge(spare + at, e + at, middle - at, e + middle,
					    end - middle);
				at = end;
			}
			memcpy(e, spare, n * sizeof(*e));
		}
		free(spare);
	}
	s->n_sorted = s->n;
	return 0;
}

void levels_store_drop_events(struct levels_store *s)
{
	store_free_names(s);
	store_forget_names(s);
	free(s->events);
	s->events = NULL;
	s->n_forgotten += s->n;
	s->n = s->allocated = s->n_sorted = 0;
}

void levels_store_clear(struct levels_store *s)
{
	levels_store_drop_events(s);
	intern_clear(&s->threads);
	free(s->windows);
	free(s->by_thread);
	*s = (struct levels_store){ 0 };
}
