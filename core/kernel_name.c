#include "core/kernel_name.h"

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
