/* Detects PyTorch operators by the native functions through which every call of an operator
 * passes. */
#ifndef CORE_OPERATORS_H
#define CORE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Writes the name of the operator whose entry is `function`, a name that demangle_function() has
 * demangled. For "at::_ops::add__Tensor::call", writes "aten::add_". Returns false if the function
 * is not an operator's entry.
 */
bool operator_name(const char *function, char *to, size_t room);

/*
 * Writes PyTorch's name of a torch.autograd.Function of Python code, or of its node. `qualified` is
 * the qualified name of a method. For "f.<locals>.Doubled.forward", writes "Doubled". For
 * "f.<locals>.Doubled.backward", writes "DoubledBackward". Returns false for any other method.
 */
bool operator_of_function(const char *qualified, char *to, size_t room);

enum operator_role {
	OPERATOR_FORWARD, /* an operator that is not a node of autograd */
	OPERATOR_NODE,	  /* a node of autograd */
	OPERATOR_ENGINE,  /* a node of autograd that no operator created: AccumulateGrad */
};

/*
 * Returns the role of an operator by its name. Writes to `kind` a text that is the same for an
 * operator and for the node that it creates: "addmm" for both "aten::addmm" and "AddmmBackward0".
 * Writes "" if the operator creates no node, or if it is unknown which operator created the node.
 */
enum operator_role operator_kind(const char *name, char *kind, size_t room);

#endif
