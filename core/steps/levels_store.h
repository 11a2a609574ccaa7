/*
 * Stores the events that step learning searches: the launches of one process in the order of time,
 * with small numbers in place of tokens and trigrams. Owned by core/steps/levels.c, and written
 * only there. When the store is full, the older half of the events is dropped, so memory is
 * bounded.
 */
#ifndef CORE_LEVELS_STORE_H
#define CORE_LEVELS_STORE_H

#include "core/runtime/token.h"
#include "core/steps/levels.h"

#include <stddef.h>

/*
 * 48 MiB with all tables. Room for more than a hundred of the longest steps seen (7,000 launches).
 */
#define LEVELS_MAX_EVENTS (1u << 20)

/* 4 s, which fits into 22 bits. A longer wait does not belong to a step. */
#define LEVELS_MAX_BLOCKED_US 0x3fffffu

/* the number of TOKEN_EXCHANGE among the trigrams */
#define LEVELS_EXCHANGE 0u

/* A table that numbers 64-bit keys 0, 1, 2, ... in the order of their first occurrence. */
struct levels_intern {
	uint64_t *keys;	 /* by number */
	uint32_t *slots; /* hash table with open addressing: number + 1; 0: empty */
	uint32_t used, n_slots;
};

/* Hint of a stored event: the event completes a TOKEN_EXCHANGE, besides its trigram. */
#define LEVELS_EXCHANGES 0x2000u
/* Hint of a stored event: the last three calls of its thread are copies, as in a data loader. */
#define LEVELS_ONLY_COPIES 0x1000u

struct levels_thread {
	/* The thread's last kernels. */
	struct token_window kernels;
	uint32_t n_copies; /* number of copies since the thread's last launch */
};

struct levels_stored {
	uint64_t begin_ns, end_ns;
	uint32_t trigram; /* number of the trigram that the event completes */
	/* number of the event's token */
	uint32_t token;
	uint64_t thread : 20; /* the caller's number of the thread */
	uint64_t hints : 22;
	uint64_t blocked_us : 22;
};

struct levels_store {
	struct levels_stored *events;
	uint32_t n, allocated;
	uint64_t n_forgotten; /* number of older events that were dropped */
	uint32_t n_sorted;    /* the first n_sorted events are sorted by begin_ns */
	struct levels_intern tokens, trigrams, threads;
	/*
	 * Kernels are tokens without sizes, and forms are trigrams of kernels. So iterations on
	 * batches of other shapes are still similar.
	 */
	struct levels_intern kernels, forms;
	/* Number of a token's kernel, and number of a trigram's form. */
	uint32_t *kernel_of_token, *form_of_trigram;
	/*
	 * Forms with smaller numbers occurred before the first optimizer launch. 0: no optimizer
	 * has launched, or that launch was dropped.
	 */
	uint32_t n_before_optimizer;
	struct token_window *windows; /* by thread number */
	struct levels_thread *by_thread;
	uint32_t n_windows;
};

/* What a token completes: always a trigram, and sometimes also a TOKEN_EXCHANGE. */
struct levels_pushed {
	uint64_t hash;
	bool exchanges;
};

/*
 * Pushes a token into the window of its thread, and returns in `pushed` what the token completes.
 * Returns 0 or -ENOMEM.
 */
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

/*
 * Returns whether the event completes the trigram with this number, which may be LEVELS_EXCHANGE.
 */
static inline bool levels_store_is(const struct levels_stored *e, uint32_t trigram)
{
	return trigram == LEVELS_EXCHANGE ? (e->hints & LEVELS_EXCHANGES) != 0
					  : e->trigram == trigram;
}

/*
 * Returns the hash that the event completes. If `anchor` is TOKEN_EXCHANGE and the event completes
 * one, returns TOKEN_EXCHANGE instead of the trigram's hash.
 */
static inline uint64_t levels_store_hash(const struct levels_store *s,
					 const struct levels_stored *e, uint64_t anchor)
{
	return anchor == TOKEN_EXCHANGE && e->hints & LEVELS_EXCHANGES
		       ? TOKEN_EXCHANGE
		       : s->trigrams.keys[e->trigram];
}

/*
 * Stores an event whose token has been pushed. `pushed` is what levels_store_push() returned. Drops
 * the older half of the events if the store is full. Returns 0 or -ENOMEM.
 */
int levels_store_keep(struct levels_store *s, uint32_t thread, const struct level_event *event,
		      const struct levels_pushed *pushed);

/* Sorts the events by time; events of the same time keep their order. Returns 0 or -ENOMEM. */
int levels_store_sort(struct levels_store *s);

/* Frees the events. Keeps the windows, so tokens can still be pushed. */
void levels_store_drop_events(struct levels_store *s);

/* Frees everything. The store is then empty, and may be used again. */
void levels_store_clear(struct levels_store *s);

#endif
