/* PyTorch's operators, told by the native functions that every call of one passes through. */
#ifndef CORE_OPERATORS_H
#define CORE_OPERATORS_H

#include <stdbool.h>
#include <stddef.h>

/* The operator that a function (as demangle_function has it) is the call of: "at::_ops::add__Tensor::call" gives
 * "aten::add_". False for any other function. */
bool operator_name(const char *function, char *to, size_t room);

#endif
