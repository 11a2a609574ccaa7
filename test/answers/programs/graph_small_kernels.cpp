/* A captured step has a long chain of small kernels; the fixed twin has one that does the same. */
#include "kit.h"

int main()
{
	cudaKernel_t gemm = kit::kernel("gemm_400us"), small = kit::kernel("small_4us"),
		     fused = kit::kernel("fused_20us");
	return kit::measure_graphs(kit::stream(), [=](cudaStream_t stream, bool fixed) {
		LAUNCH(gemm, stream);
		for (int i = 0; i < (fixed ? 0 : 120); i++)
			LAUNCH(small, stream); // PLANTED
		if (fixed)
			LAUNCH(fused, stream);
	});
}
