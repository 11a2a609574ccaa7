/* Kernel names that tell an optimizer's step (core/levels.h). Parts of names, as they stand in
 * mangled and plain ones. */
#include "core/levels.h"

#include <stddef.h>
#include <string.h>

/* A name with one of these parts... ("lamb" alone is in every C++ lambda's name) */
static const char *const optimizer_parts[] = {
	"multi_tensor_apply", /* PyTorch's foreach and fused optimizers, Apex */
	/* foreach=False: Adam's, once per parameter; its lerp and addcmul are in forward passes, too: token shifts, codebooks, images' colours */
	"addcdiv_cuda_kernel", "adam", "Adam", "sgd", "Sgd", "SGD", "lamb_kernel", "LAMBStage",
	"kOptimizerStatic", "kPreconditionOptimizer", /* Apex, TensorFlow, bitsandbytes */
};

/* ...is an optimizer's, unless it also has one of these: gradient scaling and norms come before the
 * step. */
static const char *const other_parts[] = {
	"non_finite_check",
	"LpNorm",
	"multi_tensor_l2norm",
};

static bool name_has_part(const char *name, const char *const parts[], size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strstr(name, parts[i]))
			return true;
	return false;
}

bool level_name_is_optimizer(const char *name)
{
	return name_has_part(name, optimizer_parts,
			     sizeof(optimizer_parts) / sizeof(optimizer_parts[0])) &&
	       !name_has_part(name, other_parts, sizeof(other_parts) / sizeof(other_parts[0]));
}
