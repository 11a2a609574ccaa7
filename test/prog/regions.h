// A user's header with a class template and kernels of its own, for regions.cu.
#ifndef TEST_PROG_REGIONS_H
#define TEST_PROG_REGIONS_H

#include <cuda_runtime.h>

namespace solver
{

template <typename T, int N> __global__ void relax_5us(T *x)
{
	x[threadIdx.x] = x[threadIdx.x] * T(0.5) + T(N);
}

static __global__ void once_5us(float *x)
{
	x[0] = 1;
}

template <typename T> class Grid
{
	T *data_;
	cudaStream_t stream_;

      public:
	Grid()
	{
		cudaMalloc(&data_, 4096); // no line: before the steps
		cudaStreamCreate(&stream_);
	}
	void sweep() const
	{
		relax_5us<T, 3><<<2, 64, 0, stream_>>>(data_); // line: method
	}
	template <typename F> void each(int n, F f)
	{
		for (int i = 0; i < n; i++)
			f(i);
	}
	T *data() const
	{
		return data_;
	}
	cudaStream_t stream() const
	{
		return stream_;
	}
};

inline void fill(Grid<float> &g)
{
	cudaMemsetAsync(g.data(), 0, 1024, g.stream()); // line: memset
	cudaLaunchConfig_t c = {};
	c.gridDim = 1;
	c.blockDim = 32;
	c.stream = g.stream();
	cudaLaunchKernelEx(&c, once_5us, g.data()); // line: template of CUDA
}

} // namespace solver

#endif
