/*
 * Reads a Perfetto trace back: a plain protobuf walker that shares no code with the writer. Asserts
 * on the way what holds for every trace: clocks come first, words are defined before use and once
 * per sequence, slices nest per track.
 */
#ifndef TEST_UNIT_PERFETTO_DECODER_H
#define TEST_UNIT_PERFETTO_DECODER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DECODED_MOST = 128, DECODED_NAMES = 512, DECODED_LEVELS = 8, DECODED_SLICES = 64 };

struct decoded_track {
	uint64_t uuid, parent;
	char name[64];
	int depth;
	uint64_t last_end, n_slices, n_points, total_ns;
	uint64_t begins[DECODED_LEVELS];
};

/* One of the first slices of the trace, with what its arguments say. */
struct decoded_slice {
	char name[32], line[32], function[32], stack[160], domain[32];
	uint64_t track, begin;
	int depth;
};

struct decoded_sequence {
	uint64_t now, track;
	/* by number of the clock - 64 */
	uint64_t track_of_clock[64], begin_of_clock[64];
	bool is_begun;
	char *names[DECODED_NAMES];
	char *arg_strings[DECODED_NAMES], *arg_names[DECODED_NAMES];
	unsigned n_categories, n_args;
};

struct decoded {
	struct decoded_track tracks[DECODED_MOST];
	size_t n_tracks;
	struct decoded_sequence sequences[DECODED_MOST];
	uint64_t flows[4096], flow_ends[4096];
	size_t n_flows, n_flow_ends, n_packets;
	int64_t highest_point;
	char last_instant[256];
	struct decoded_slice slices[DECODED_SLICES];
	size_t n_slices;
};

void decode(struct decoded *d, const uint8_t *at, size_t n);
void decoded_free(struct decoded *d);

/* By number, by name. One that is not there fails the test. */
struct decoded_track *decoded_track(struct decoded *d, uint64_t uuid);
struct decoded_track *decoded_named(struct decoded *d, const char *name);

#endif
