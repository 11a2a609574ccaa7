/* Determines from the operators in a stack whether the CPU reads a result of the GPU. */
#include "core/symbols/stack_about.h"

#include <string.h>

/* Operators that return a value of a tensor to the CPU, or a size that depends on such values. */
static const char *const reading[] = {
	"aten::item",
	"aten::_local_scalar_dense",
	"aten::nonzero",
	"aten::is_nonzero",
	"aten::equal",
	"aten::masked_select",
	"aten::unique_dim",
	"aten::_unique2",
	"aten::repeat_interleave",
	"aten::bincount",
	"aten::nonzero_numpy",
};

static bool reads(const char *operator)
{
	for (size_t i = 0; i < sizeof(reading) / sizeof(*reading); i++)
		if (!strcmp(operator, reading[i]))
			return true;
	return false;
}

bool stack_about_is_read(struct frames *f, uint32_t stack)
{
	const char *operators[16];
	size_t n = frames_operators(f, stack, operators, sizeof(operators) / sizeof(*operators));
	for (size_t i = 0; i < n; i++)
		if (reads(operators[i]))
			return true;
	return false;
}
