/*
 * Where C++ exceptions lead in machine code: to the landing pad of the call that raised them. The
 * tables are .eh_frame, which has an entry for each function, and .gcc_except_table, which has the
 * calls of a function and their landing pads. Damaged entries are left out.
 */
#ifndef CORE_FLOW_LANDING_PADS_H
#define CORE_FLOW_LANDING_PADS_H

#include <stddef.h>
#include <stdint.h>

struct landing_pads;

/* The loaded image of a file. It must outlive what is made from it. */
struct landing_image {
	const uint8_t *frames; /* .eh_frame */
	size_t frames_bytes;
	uint64_t frames_address;
	/* Returns the bytes from `address` on, and their number in `*n`; NULL: there are none. */
	const uint8_t *(*bytes_from)(void *context, uint64_t address, size_t *n);
	void *context;
};

/* Reads .eh_frame. The caller frees the result with landing_pads_free(). */
struct landing_pads *landing_pads_new(const struct landing_image *image);
void landing_pads_free(struct landing_pads *p);

/* Returns where an exception leads that the call at `address` raises; 0: out of the function. */
uint64_t landing_pads_find(struct landing_pads *p, uint64_t address);

#endif
