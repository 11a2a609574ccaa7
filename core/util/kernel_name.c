#include "core/util/kernel_name.h"

#include <stddef.h>
#include <string.h>

/* Instruction shapes (s16816: 16x8x16), instructions, and families of kernels that always use
 * tensor cores on the architectures they are built for. */
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

/* ---- Optimizers: substrings that mangled and demangled names share ---- */

/* "lamb" alone would match every C++ lambda. */
static const char *const optimizer_parts[] = {
	"multi_tensor_apply", /* PyTorch's foreach and fused optimizers, Apex */
	/* Adam with foreach=False, once per parameter. Its lerp and addcmul kernels also run in
	 * forward passes: token shifts, codebooks, image colours. */
	"addcdiv_cuda_kernel", "adam", "Adam", "sgd", "Sgd", "SGD", "lamb_kernel", "LAMBStage",
	"kOptimizerStatic", "kPreconditionOptimizer", /* Apex, TensorFlow, bitsandbytes */
};

/* Exceptions: gradient scaling and norms, which run before the optimizer's step. */
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
