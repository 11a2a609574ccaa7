/*
 * The events that step learning searches: one process's launches in time order, with tokens and
 * trigrams as small numbers. Owned by core/steps/levels.c, which alone writes it. Memory is
 * bounded: when the store is full, its older half is dropped.
 */
#ifndef CORE_LEVELS_STORE_H
#define CORE_LEVELS_STORE_H

#include "core/runtime/token.h"
#include "core/steps/levels.h"

#include <stddef.h>

/* 48 MiB with its tables; more than a hundred of the longest steps seen (7,000 launches). */
#define LEVELS_MAX_EVENTS (1u << 20)

/* Fits 22 bits: 4 s. Longer waits do not belong to a step. */
#define LEVELS_MAX_BLOCKED_US 0x3fffffu

/* TOKEN_EXCHANGE's number among the trigrams. */
#define LEVELS_EXCHANGE 0u

/* Numbers 64-bit keys 0, 1, 2... in the order of their first occurrence. */
struct levels_intern {
	uint64_t *keys;	 /* by number */
	uint32_t *slots; /* open addressing: number + 1, 0 is empty */
	uint32_t used, n_slots;
};

/* Hint of a stored event: it is a TOKEN_EXCHANGE, besides the trigram that it completes. */
#define LEVELS_EXCHANGES 0x2000u
/* Hint of a stored event: its thread's last three calls only copy, as a loader does. */
#define LEVELS_ONLY_COPIES 0x1000u

struct levels_thread {
	struct token_window kernels;
	uint32_t n_copies; /* since its last launch */
};

struct levels_stored {
	uint64_t begin_ns, end_ns;
	uint32_t trigram; /* number of the trigram that this event completes */
	uint32_t token;
	uint64_t thread : 20; /* the caller's number for it */
	uint64_t hints : 22;
	uint64_t blocked_us : 22;
};

struct levels_store {
	struct levels_stored *events;
	uint32_t n, allocated;
	uint64_t n_forgotten; /* older events that were dropped */
	uint32_t n_sorted;    /* events before this one are in the order of begin_ns */
	struct levels_intern tokens, trigrams, threads;
	/*
	 * Without sizes, so that iterations on batches of other shapes are still alike: kernels,
	 * and trigrams of them.
	 */
	struct levels_intern kernels, forms;
	uint32_t *kernel_of_token, *form_of_trigram;
	/*
	 * Forms with smaller numbers occurred before the first optimizer launch; 0: there was none,
	 * or it has been dropped.
	 */
	uint32_t n_before_optimizer;
	struct token_window *windows; /* by thread number */
	struct levels_thread *by_thread;
	uint32_t n_windows;
};

/* What a token completes: a trigram, and possibly a TOKEN_EXCHANGE. */
struct levels_pushed {
	uint64_t hash;
	bool exchanges;
};

/* Pushes a token into its thread's window. Returns 0 or -ENOMEM. */
int levels_store_push(struct levels_store *s, uint32_t thread, uint64_t token,
		      struct levels_pushed *pushed);

static inline uint32_t levels_store_kernel(const struct levels_store *s,
					   const struct levels_stored *e)
{
	return s->kernel_of_token[e->token];
}

static inline uint32_t levels_store_form(const struct levels_store *s,
					 const struct levels_stored *e)
{
	return s->form_of_trigram[e->trigram];
}

/* Whether the event is an occurrence of the trigram with that number. */
static inline bool levels_store_is(const struct levels_stored *e, uint32_t trigram)
{
	return trigram == LEVELS_EXCHANGE ? (e->hints & LEVELS_EXCHANGES) != 0
					  : e->trigram == trigram;
}

/* Returns the hash that the event completes, for counting `anchor`. */
static inline uint64_t levels_store_hash(const struct levels_store *s,
					 const struct levels_stored *e, uint64_t anchor)
{
	return anchor == TOKEN_EXCHANGE && e->hints & LEVELS_EXCHANGES
		       ? TOKEN_EXCHANGE
		       : s->trigrams.keys[e->trigram];
}

/* Stores an event that has been pushed. Returns 0 or -ENOMEM. */
int levels_store_keep(struct levels_store *s, uint32_t thread, const struct level_event *event,
		      const struct levels_pushed *pushed);

/* Sorts the events by time. Returns 0 or -ENOMEM. */
int levels_store_sort(struct levels_store *s);

/* Frees the events. The windows stay, and tokens can still be pushed. */
void levels_store_drop_events(struct levels_store *s);

/* Frees everything; the store is then empty and usable again. */
void levels_store_clear(struct levels_store *s);

#endif
