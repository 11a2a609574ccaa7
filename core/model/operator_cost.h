/*
 * The arithmetic of a framework's operators, from the shapes of their inputs: matrix products,
 * convolutions and attention.
 */
#ifndef CORE_OPERATOR_COST_H
#define CORE_OPERATOR_COST_H

#include <stdbool.h>
#include <stdint.h>

struct operator_cost {
	/* Floating-point operations; an addition and a multiplication count as two. `flops_most` is
	 * more than `flops` if the inputs do not tell how much of the work is left out. */
	double flops, flops_most;
	double bytes;	/* of the inputs and outputs, each read or written once */
	uint8_t type;	/* enum library_type, of the first matrix */
	char shape[96]; /* "1024x1705 1705x512" */
};

/* Returns whether the operator's cost may be known. */
bool operator_cost_knows(const char *name);

/*
 * Finds the cost of an operator of PyTorch. `dims`, `types`, `values`: torch.profiler's "Input
 * Dims", "Input type" and "Concrete Inputs" as texts without blanks, such as "[[2,3],[3,4]]"; ""
 * if they are missing. Returns false if they do not tell the cost.
 */
bool operator_cost_find(struct operator_cost *to, const char *name, const char *dims,
			const char *types, const char *values);

#endif
