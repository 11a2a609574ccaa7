/*
 * What a launch or copy looks like to step learning, as 64 bits, and the hash of three in a row (an
 * anchor). Shared by the application, which counts an anchor with one compare per launch, and the
 * collector, which chooses it: both must mix alike, so both include this. Nothing here is secret or
 * hostile; tokens only have to differ where launches do.
 */
#ifndef CORE_TOKEN_H
#define CORE_TOKEN_H

#include "core/runtime/record.h"

#include <stdbool.h>
#include <stdint.h>

/* Odd, with well spread bits; three unlike ones so that equal numbers in different places do not
 * cancel. */
#define TOKEN_K0 0x9e3779b97f4a7c15ull
#define TOKEN_K1 0xd6e8feb86659fd93ull
#define TOKEN_K2 0xa0761d6478bd642full

/* The high half of a product knows every bit of both factors' low parts: folding it back makes one
 * step a full mix. */
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
 * A kernel launch: function handle, grid and block as the caller asked. The three products do not
 * wait for one another. Shared memory and stream stay out: the first is set by the function, the
 * second by the caller's allocator of streams.
 */
static inline uint64_t token_launch_of(uint64_t function, uint32_t gx, uint32_t gy, uint32_t gz,
				       uint32_t bx, uint32_t by, uint32_t bz)
{
	uint64_t xy = token_fold(token_pair(gx, gy) ^ TOKEN_K0, TOKEN_K1);
	uint64_t zx = token_fold(token_pair(gz, bx) ^ TOKEN_K1, TOKEN_K2);
	uint64_t yz = token_fold(token_pair(by, bz) ^ function, TOKEN_K0);
	return xy ^ (zx << 1 | zx >> 63) ^ yz;
}

/* The same of arrays. Arrays that were only just stored cost 5 ns more: two halves do not forward to one load. */
static inline uint64_t token_launch(uint64_t function, const uint32_t grid[3],
				    const uint32_t block[3])
{
	return token_launch_of(function, grid[0], grid[1], grid[2], block[0], block[1], block[2]);
}

/* Small families of tokens that have no function handle. Sizes stay out: a batch's last copy is
 * often a shorter one. */
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

/* A graph is one piece of work, known by the handle of its executable form. */
static inline uint64_t token_graph(uint64_t exec)
{
	return token_of(TOKEN_FAMILY_GRAPH, exec);
}

/* Three tokens in this order. Never 0, so that 0 can stand for "no anchor". */
static inline uint64_t token_trigram(uint64_t first, uint64_t second, uint64_t third)
{
	uint64_t before = first * TOKEN_K0 + (second << 23 | second >> 41);
	return ((before ^ before >> 29) + third) * TOKEN_K1 | 1;
}

/* Two tokens in this order; never 0. */
static inline uint64_t token_pair_hash(uint64_t first, uint64_t second)
{
	return token_trigram(0, first, second);
}

/*
 * An anchor of another kind: the first copy to the device behind a copy to the host, whatever was launched between. A server that batches what
 * there is reads an answer and feeds what follows, and may have nothing else in common with its next iteration.
 */
#define TOKEN_EXCHANGE 0x65786368616e6765ull

/* What a thread remembers; zeros at its start. */
struct token_window {
	uint64_t before_last, last;
	bool was_read; /* its last copy between host and device was to the host */
};

/* The anchor hash that `token` completes. Before a thread's third token it is a hash that no anchor
 * has, for all practical purposes. */
static inline uint64_t token_window_push(struct token_window *w, uint64_t token)
{
	uint64_t hash = token_trigram(w->before_last, w->last, token);
	w->before_last = w->last;
	w->last = token;
	return hash;
}

/* Whether `token`, the next one, is a copy that TOKEN_EXCHANGE stands for. Launches need not be asked. */
static inline bool token_window_exchanges(struct token_window *w, uint64_t token)
{
	bool is_fed = token == token_copy(COPY_H2D), is_read = token == token_copy(COPY_D2H);
	bool exchanges = is_fed && w->was_read;
	if (is_fed || is_read)
		w->was_read = is_read;
	return exchanges;
}

/* Pushes a token of any kind, for who counts `anchor`. */
static inline uint64_t token_window_push_for(struct token_window *w, uint64_t token,
					     uint64_t anchor)
{
	uint64_t hash = token_window_push(w, token);
	bool exchanges = token_window_exchanges(w, token);
	return exchanges && anchor == TOKEN_EXCHANGE ? TOKEN_EXCHANGE : hash;
}

/*
 * Whether a thread's last calls end a step whose anchor is the next one's first: they are the two that `end` stands for (0: it is not known), or, where
 * steps are exchanges, the answer that is read.
 */
static inline bool token_window_is_at_end(const struct token_window *w, uint64_t anchor,
					  uint64_t end)
{
	if (anchor == TOKEN_EXCHANGE)
		return w->last == token_copy(COPY_D2H);
	return end && end == token_pair_hash(w->before_last, w->last);
}

#endif
