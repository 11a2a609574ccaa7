/*
 * Tokens: a launch or copy as 64 bits for step detection, and the hash of three in a row (a
 * trigram, or anchor). Shared by the application, which counts an anchor with one compare per
 * launch, and the collector, which chooses it: both must mix alike, so both include this. The
 * mixing need not resist attacks; tokens only have to differ where launches do.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core/runtime/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Odd, with well spread bits. Three different ones, so that equal numbers in different places do
 * not cancel. */
#define TOKEN_K0 0x9e3779b97f4a7c15ull
#define TOKEN_K1 0xd6e8feb86659fd93ull
#define TOKEN_K2 0xa0761d6478bd642full

/* Multiplies and folds. The high half of a product depends on every bit of both factors, so folding
 * it into the low half gives a full mix in one step. */
static inline uint64_t token_fold(uint64_t a, uint64_t b)
{
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static inline uint64_t token_pair(uint32_t low, uint32_t high)
{
	return (uint64_t)high << 32 | low;
}

/* Returns the token of a kernel launch: function handle, grid and block as requested. The three
 * products are independent, so they overlap in the CPU. Shared memory and stream are left out: the
 * function determines the former, the caller's stream allocation the latter. */
static inline uint64_t token_launch_of(uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz,
				       uint32_t bx, uint32_t by, uint32_t bz)
{
	uint64_t xy = token_fold(token_pair(gx, gy) ^ TOKEN_K0, TOKEN_K1);
	uint64_t zx = token_fold(token_pair(gz, bx) ^ TOKEN_K1, TOKEN_K2);
	uint64_t yz = token_fold(token_pair(by, bz) ^ function, TOKEN_K0);
	return xy ^ (zx << 1 | zx >> 63) ^ yz;
}

/* Takes arrays instead. Costs 5 ns more if the arrays were stored just before, because two 32-bit
 * stores do not forward to one 64-bit load. */
static inline uint64_t token_launch(uint64_t function, const uint32_t grid[3],
				    const uint32_t block[3])
{
	return token_launch_of(function, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
}

/* Tokens without a function handle. Sizes are left out: the last copy of a batch is often
 * shorter. */
enum token_family { TOKEN_FAMILY_COPY = 1, TOKEN_FAMILY_GRAPH };

static inline uint64_t token_of(enum token_family family, uint64_t what)
{
	return token_fold(what ^ TOKEN_K2, TOKEN_K0 + (uint64_t)family * 2);
}

/* `kind`: enum record_copy */
static inline uint64_t token_copy(uint32_t kind)
{
	return token_of(TOKEN_FAMILY_COPY, kind);
}

/* Returns the token of a graph launch: one piece of work, identified by its exec handle. */
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

/* Hashes two tokens in this order. Never 0. */
static inline uint64_t token_pair_hash(uint64_t first, uint64_t second)
{
	return token_trigram(0, first, second);
}

/* An anchor of another kind: the first copy to the device after a copy to the host, whatever was
 * launched in between. A server with dynamic batching copies a result to the host, then the next
 * input to the device, and two of its iterations may have nothing else in common. */
#define TOKEN_EXCHANGE 0x65786368616e6765ull

/* A thread's last tokens; all zeros at its start. */
struct token_window {
	uint64_t before_last, last;
	bool was_read; /* its last copy between host and device was to the host */
};

/* Appends `token` and returns the trigram hash that it completes. Before a thread's third token
 * this practically never equals an anchor. */
static inline uint64_t token_window_push(struct token_window *w, uint64_t token)
{
	uint64_t hash = token_trigram(w->before_last, w->last, token);
	w->before_last = w->last;
	w->last = token;
	return hash;
}

/* Returns whether `token`, the next one, is a copy that TOKEN_EXCHANGE stands for. Need not be
 * called for launches. */
static inline bool token_window_exchanges(struct token_window *w, uint64_t token)
{
	bool is_fed = token == token_copy(COPY_H2D), is_read = token == token_copy(COPY_D2H);
	bool exchanges = is_fed && w->was_read;
	if (is_fed || is_read)
		w->was_read = is_read;
	return exchanges;
}

/* Appends a token of any kind. Returns TOKEN_EXCHANGE if that is `anchor` and `token` completes it,
 * else the trigram hash. */
static inline uint64_t token_window_push_for(struct token_window *w, uint64_t token,
					     uint64_t anchor)
{
	uint64_t hash = token_window_push(w, token);
	bool exchanges = token_window_exchanges(w, token);
	return exchanges && anchor == TOKEN_EXCHANGE ? TOKEN_EXCHANGE : hash;
}

/* Returns whether a thread's last calls end a step whose anchor would be completed by the next
 * step. That is so if they are the two calls that `end` stands for (0: unknown) or, if the anchor
 * is TOKEN_EXCHANGE, if the last one copied to the host. */
static inline bool token_window_is_at_end(const struct token_window *w, uint64_t anchor,
					  uint64_t end)
{
	if (anchor == TOKEN_EXCHANGE)
		return w->last == token_copy(COPY_D2H);
	return end && end == token_pair_hash(w->before_last, w->last);
}

#endif
