/* A convergence check copies one number back in each iteration and waits for it. */
#include "kit.h"

namespace
{
struct problem {
	cudaStream_t stream = cudaStreamLegacy;
	cudaKernel_t apply = kit::kernel("apply_150us"), dot = kit::kernel("dot_20us"),
		     axpy = kit::kernel("axpy_40us"), assemble = kit::kernel("assemble_30us"),
		     boundary = kit::kernel("boundary_10us"), scatter = kit::kernel("scatter_20us"),
		     smooth = kit::kernel("smooth_20us");
	float *device = nullptr;
	float norm = 0;
};

float residual(problem &p)
{
	kit::check(cudaMemcpy(&p.norm, p.device, sizeof(float), cudaMemcpyDeviceToHost)); // PLANTED
	return p.norm;
}
}

int main()
{
	problem p;
	kit::check(cudaMalloc((void **)&p.device, 4096));
	return kit::measure([&](int, bool fixed) {
		LAUNCH(p.assemble, p.stream);
		LAUNCH(p.boundary, p.stream);
		for (int i = 0; i < 6; i++) {
			kit::spin(180);
			LAUNCH(p.apply, p.stream);
			LAUNCH(p.dot, p.stream);
			if (!fixed && residual(p) < 0)
				break;
		}
		LAUNCH(p.axpy, p.stream);
		LAUNCH(p.smooth, p.stream);
		LAUNCH(p.scatter, p.stream);
		LAUNCH(p.smooth, p.stream);
	});
}
