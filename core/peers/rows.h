/*
 * The events of a Kineto trace as other tools see them: every event, with its numbers as the file
 * has them. The run model of core/source/kineto is not used here, because it corrects what those
 * tools get wrong. One thread per trace.
 */
#ifndef CORE_PEERS_ROWS_H
#define CORE_PEERS_ROWS_H

#include "core/runtime/err.h"
#include "core/util/strtab.h"
#include "core/util/vec.h"

#include <stdbool.h>
#include <stdint.h>

enum { PEER_NONE = INT64_MIN }; /* a number that the event does not have */

/* Texts are ids in `names`; 0: none. */
struct peer_row {
	double ts, duration;			    /* microseconds, as in the file; NAN: none */
	double bandwidth, blocks_per_sm, occupancy; /* arguments; NAN: none */
	int64_t pid, tid, stream, correlation, external, device;
	int64_t python, python_parent, module;
	uint32_t name, category;
	uint32_t shape, types,
		call_stack; /* "Input Dims" and "Input type", as Python prints them */
	uint32_t grid, block, registers, shared; /* as texts */
	uint32_t index;				 /* position in the file's list of events */
	char phase;
};

/* "[memory]": a block that PyTorch's allocator gave out or took back. */
struct peer_memory {
	double ts, allocated, reserved; /* totals in bytes; NAN: none */
	int64_t tid, address, bytes, device_type, device;
};

/* An end of an arrow from a forward to a backward operator. */
struct peer_arrow {
	double ts;
	int64_t id;
	char phase; /* 's' or 'f' */
};

struct peer_device {
	char name[64];			   /* "": not known */
	double memory_bytes, major, minor; /* NAN: not known */
};

struct peer_rows {
	struct strtab names;
	VEC(struct peer_row) at;
	VEC(struct peer_memory) memory;
	VEC(struct peer_arrow) arrows;
	VEC(struct peer_device) devices; /* by position in the file */
	int64_t rank;			 /* PEER_NONE: the trace does not say */
	bool is_lightning;		 /* Framework: pytorch-lightning */
	bool has_fractions;		 /* a time is not a whole number, or is missing */
};

/* Reads a trace. Returns 0, or -errno with one line in `e`. A cut file is read up to the cut. Free
 * with peer_rows_free() in any case. */
int peer_rows_read(struct peer_rows *r, const char *path, struct err *e);
void peer_rows_free(struct peer_rows *r);

/* Returns the text of an id. */
static inline const char *peer_text(const struct peer_rows *r, uint32_t id)
{
	return strtab_text(&r->names, id);
}

#endif
