/* PyTorch's operators, told by the native functions that every call of one passes through. */
#ifndef CORE_OPERATORS_H
#define CORE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/* The operator that a function (as demangle_function has it) is the call of: "at::_ops::add__Tensor::call" gives
 * "aten::add_". False for any other function. */
bool operator_name(const char *function, char *to, size_t room);

/* "Doubled" of "f.<locals>.Doubled.forward", "DoubledBackward" of its backward(): what PyTorch calls a torch.autograd.Function of Python
 * and its node, by a function's qualified name. False for any other function. */
bool operator_of_function(const char *qualified, char *to, size_t room);

enum operator_role {
	OPERATOR_FORWARD, /* of ATen */
	OPERATOR_NODE,	  /* of autograd */
	OPERATOR_ENGINE,  /* of autograd, not made by an operator: AccumulateGrad */
};

/* By an operator's name; the texts in `kind` of an operator and of the node that it makes are equal: "addmm" of "aten::addmm" and
 * "AddmmBackward0". Empty where it makes none, or what made it cannot be told. */
enum operator_role operator_kind(const char *name, char *kind, size_t room);

#endif
