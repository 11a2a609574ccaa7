/*
 * Tokens, for step detection. A token represents a launch or copy as 64 bits. A trigram is the hash
 * of three tokens in a row. An anchor is a trigram that the collector has chosen, or a single
 * token. The library in the application counts how often the anchor occurs, with two comparisons
 * per launch. Both sides must compute the same hashes, so both include this file. The hashes need
 * not resist attacks; it is enough that tokens of different launches differ.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core/runtime/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Factors of the hashes: odd numbers with well spread bits. There are three different ones, so that
 * equal numbers in different places of a launch do not cancel each other. */
#define TOKEN_K0 0x9e3779b97f4a7c15ull
#define TOKEN_K1 0xd6e8feb86659fd93ull
#define TOKEN_K2 0xa0761d6478bd642full

/*
 * Mixes two numbers: multiplies them and combines both halves of the product by exclusive or. The
 * high half of the product depends on every bit of both factors. So one such step mixes all bits.
 */
static inline uint64_t token_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t token_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/*
 * Returns the token of a kernel launch, by the function's handle and the requested grid and block.
 * The three products do not depend on each other, so the CPU computes them at the same time. Shared
 * memory is left out, because the function determines it. The stream is left out, because it
 * depends on how the application assigns streams.
 */
static inline uint64_t token_launch_of(uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz,
				       uint32_t bx, uint32_t by, uint32_t bz)
{
	uint64_t xy = token_fold(token_pair(gx, gy) ^ TOKEN_K0, TOKEN_K1);
	uint64_t zx = token_fold(token_pair(gz, bx) ^ TOKEN_K1, TOKEN_K2);
	uint64_t yz = token_fold(token_pair(by, bz) ^ function, TOKEN_K0);
	return xy ^ (zx << 1 | zx >> 63) ^ yz;
}

/*
 * Like token_launch_of(), but takes arrays. Takes 5 ns longer if the arrays were stored just
 * before, because the CPU cannot forward two 32-bit stores to one 64-bit load.
 */
static inline uint64_t token_launch(uint64_t function, const uint32_t grid[3],
				    const uint32_t block[3])
{
	return token_launch_of(function, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
}

enum token_family { TOKEN_FAMILY_COPY = 1, TOKEN_FAMILY_GRAPH };

/* Returns the token of an operation that has no function handle. */
static inline uint64_t token_of(enum token_family family, uint64_t what)
{
	return token_fold(what ^ TOKEN_K2, TOKEN_K0 + (uint64_t)family * 2);
}

/* Returns the token of a copy. `kind` is an enum record_copy. The size is left out, because the
 * last copy of a batch is often shorter. */
static inline uint64_t token_copy(uint32_t kind)
{
	return token_of(TOKEN_FAMILY_COPY, kind);
}

/* Returns the token of a graph launch. It counts as one launch, identified by the graph's exec
 * handle. */
static inline uint64_t token_graph(uint64_t exec)
{
	return token_of(TOKEN_FAMILY_GRAPH, exec);
}

/* Hashes three tokens in this order. Never 0, so that 0 can mean "no anchor". */
static inline uint64_t token_trigram(uint64_t first, uint64_t second, uint64_t third)
{
	uint64_t before = first * TOKEN_K0 + (second << 23 | second >> 41);
	return ((before ^ before >> 29) + third) * TOKEN_K1 | 1;
}

/*
 * Returns the anchor that stands for every occurrence of the token, whatever the tokens before it.
 * An even number, never 0; trigrams are odd.
 */
static inline uint64_t token_single(uint64_t token)
{
	return (token | 2) & ~1ull;
}

/* Hashes two tokens in this order. Never 0. */
static inline uint64_t token_pair_hash(uint64_t first, uint64_t second)
{
	return token_trigram(0, first, second);
}

/*
 * An anchor that is not a trigram. It stands for the first copy to the device after a copy to the
 * host, regardless of the launches in between. It is meant for servers with dynamic batching: they
 * copy a result to the host, then the next input to the device, and two iterations may have nothing
 * else in common.
 */
#define TOKEN_EXCHANGE 0x65786368616e6765ull

/* What a token completes: anchors that the library could count. All zeros: nothing. */
struct token_hashes {
	uint64_t trigram; /* or TOKEN_EXCHANGE */
	uint64_t single;
};

/* The last tokens of a thread. All zeros at the thread's start. */
struct token_window {
	uint64_t before_last, last;
	bool was_read; /* the thread's last copy between host and device was to the host */
};

/*
 * Appends `token` and returns the hash of the trigram that ends with it. For a thread's first two
 * tokens, this hash practically never equals an anchor.
 */
static inline uint64_t token_window_push(struct token_window *w, uint64_t token)
{
	uint64_t hash = token_trigram(w->before_last, w->last, token);
	w->before_last = w->last;
	w->last = token;
	return hash;
}

/* Returns whether the thread's next token, `token`, is a copy that TOKEN_EXCHANGE stands for. May
 * be omitted for launches. */
static inline bool token_window_exchanges(struct token_window *w, uint64_t token)
{
	bool is_fed = token == token_copy(COPY_H2D), is_read = token == token_copy(COPY_D2H);
	bool exchanges = is_fed && w->was_read;
	if (is_fed || is_read)
		w->was_read = is_read;
	return exchanges;
}

/*
 * Appends a token of any kind. Returns `anchor` if that is token_single(), or TOKEN_EXCHANGE and
 * `token` is such a copy. Otherwise returns the trigram hash.
 */
static inline uint64_t token_window_push_for(struct token_window *w, uint64_t token,
					     uint64_t anchor)
{
	uint64_t hash = token_window_push(w, token);
	bool exchanges = token_window_exchanges(w, token);
	bool is_single = anchor == token_single(token);
	return is_single || (exchanges && anchor == TOKEN_EXCHANGE) ? anchor : hash;
}

/*
 * Returns whether a thread's last calls end a step, for an anchor that is only completed by calls
 * of the next step. For TOKEN_EXCHANGE, the last call must have copied to the host. For other
 * anchors, the last two calls must have the token_pair_hash() `end`; if `end` is 0, this hash is
 * unknown and the function returns false.
 */
static inline bool token_window_is_at_end(const struct token_window *w, uint64_t anchor,
					  uint64_t end)
{
	if (anchor == TOKEN_EXCHANGE)
		return w->last == token_copy(COPY_D2H);
	return end && end == token_pair_hash(w->before_last, w->last);
}

#endif
