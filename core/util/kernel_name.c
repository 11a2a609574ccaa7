#include "core/util/kernel_name.h"

#include <stddef.h>
#include <string.h>

/* Instruction shapes (s16816: 16x8x16), instructions, and families that use nothing else on the architectures they are for. */
static const char *const tensor_core[] = {
	"h884",	      "s884",	    "h1688",	     "s1688",	     "c1688",
	"d884",	      "i8816",	    "16816",	     "16832",	     "8832",
	"16864",      "hmma",	    "imma",	     "dmma",	     "gmma",
	"wgmma",      "tensorop",   "nvjet",	     "xmma_gemm",    "xmma_fprop",
	"xmma_dgrad", "xmma_wgrad", "xmma_implicit", "xmma_sparse",  "xmma_warp_specialized",
	"flash_fwd",  "flash_bwd",  "fmha_cutlass",  "conv2d_c1_k1",
};

bool kernel_uses_tensor_cores(const char *name)
{
	if (strstr(name, "simt"))
		return false;
	for (size_t i = 0; i < sizeof(tensor_core) / sizeof(*tensor_core); i++)
		if (strstr(name, tensor_core[i]))
			return true;
	return false;
}

/* ---- Optimizers: parts of names, as they stand in mangled and plain ones ---- */

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

bool kernel_is_optimizers(const char *name)
{
	return name_has_part(name, optimizer_parts,
			     sizeof(optimizer_parts) / sizeof(optimizer_parts[0])) &&
	       !name_has_part(name, other_parts, sizeof(other_parts) / sizeof(other_parts[0]));
}
