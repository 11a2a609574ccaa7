/* Detects PyTorch operators by the native functions that every call of one passes through. */
#ifndef CORE_OPERATORS_H
#define CORE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/* Writes the operator whose entry a function is (demangled by demangle_function):
 * "at::_ops::add__Tensor::call" gives "aten::add_". Returns false for any other function. */
bool operator_name(const char *function, char *to, size_t room);

/* Writes PyTorch's name of a Python torch.autograd.Function or its node, from a method's qualified
 * name: "f.<locals>.Doubled.forward" gives "Doubled", its backward() gives "DoubledBackward".
 * Returns false for any other function. */
bool operator_of_function(const char *qualified, char *to, size_t room);

enum operator_role {
	OPERATOR_FORWARD, /* of ATen */
	OPERATOR_NODE,	  /* of autograd */
	OPERATOR_ENGINE,  /* of autograd, not created by an operator: AccumulateGrad */
};

/* Returns the role of an operator by its name. `kind` gets the same text for an operator and the
 * node that it creates: "addmm" for "aten::addmm" and "AddmmBackward0". It is empty if the operator
 * creates no node, or the node's operator is unknown. */
enum operator_role operator_kind(const char *name, char *kind, size_t room);

#endif
