#include "core/util/kernel_name.h"

#include <stddef.h>
#include <string.h>

/* Parts of the names of kernels that use tensor cores: instruction shapes (s16816 stands for
 * 16x8x16), instructions, and families of kernels. Each family always uses tensor cores on the
 * architectures for which its kernels are built. */
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

/* ---- Optimizers ---- */

/* Parts of the names of optimizer kernels, in mangled and in demangled form. "lamb" alone is not in
 * the list, because it would match every C++ lambda. */
static const char *const optimizer_parts[] = {
	"multi_tensor_apply", /* PyTorch's foreach and fused optimizers, Apex */
	/* Adam with foreach=False launches this kernel once per parameter. Adam's lerp and addcmul
	 * kernels are not in the list, because forward passes launch them, too: for token shifts,
	 * codebooks and image colours. */
	"addcdiv_cuda_kernel", "adam", "Adam", "sgd", "Sgd", "SGD", "lamb_kernel", "LAMBStage",
	"kOptimizerStatic", "kPreconditionOptimizer", /* Apex, TensorFlow, bitsandbytes */
};

/* Kernels that match the list above but are no optimizer kernels. They scale gradients or compute
 * norms, before the optimizer's step. */
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
