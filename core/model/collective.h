/* Names and properties of NCCL's functions and data types, in NCCL and in PyTorch. */
#ifndef CORE_COLLECTIVE_H
#define CORE_COLLECTIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What `count` of NCCL's function is, of the numbers that PyTorch gives. */
enum collective_count {
	COUNT_IN,      /* "In msg nelems" */
	COUNT_OUT,     /* "Out msg nelems" */
	COUNT_IN_PART, /* "In msg nelems" divided by the number of ranks */
};

struct collective {
	const char *function; /* "ncclAllReduce" */
	/* PyTorch's values of "Collective name", separated by blanks; the first one is written. */
	const char *torch;
	const char *range; /* name of PyTorch's range around the call, "nccl:all_reduce" */
	/* the call's `count` is one rank's part, 1/n of the total */
	bool counts_one_part;
	bool has_root; /* one rank sends to all, or all to one */
	/* with n ranks, the bytes that cross a link are the call's bytes * `links` * (n - 1) / n;
	 * 0: they are the call's bytes */
	uint8_t links;
	uint8_t count; /* enum collective_count */
	uint8_t facts; /* FACTS_COLLECTIVE or FACTS_MESSAGE */
};

/* Returns the row of a function of NCCL; NULL: unknown. */
const struct collective *collective_of(const char *function);
/* Returns the row of a value of "Collective name"; NULL: unknown. */
const struct collective *collective_of_torch(const char *name);

struct collective_type {
	const char *name;  /* "f32" */
	const char *torch; /* "Float" */
	uint8_t bytes;	   /* of an element */
};

enum { COLLECTIVE_NO_TYPE = UINT8_MAX };

/* Returns the type with the number of a ncclDataType_t; NULL: unknown. */
const struct collective_type *collective_type(uint8_t type);
/* Returns the ncclDataType_t of PyTorch's type, COLLECTIVE_NO_TYPE if NCCL has no such type. */
uint8_t collective_type_of_torch(const char *name);

#endif
