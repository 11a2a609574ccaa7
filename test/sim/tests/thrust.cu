// Thrust and CUB choose their kernels by the PTX version of the program's own code.
#include "test/sim/tests/check.h"

#include <cub/device/device_reduce.cuh>
#include <thrust/device_vector.h>
#include <thrust/execution_policy.h>
#include <thrust/transform.h>

int main()
{
	size_t bytes = 0;
	int *numbers, *sum;
	void *space;
	thrust::device_vector<int> vector(1000, 7);
	thrust::transform(vector.begin(), vector.end(), vector.begin(), thrust::negate<int>());
	NEED(cudaMalloc(&numbers, 4000));
	NEED(cudaMalloc(&sum, 4));
	NEED(cub::DeviceReduce::Sum(NULL, bytes, numbers, sum, 1000));
	NEED(cudaMalloc(&space, bytes));
	NEED(cub::DeviceReduce::Sum(space, bytes, numbers, sum, 1000));
	NEED(cudaDeviceSynchronize());
	check(true, "a program with Thrust and CUB runs", "%s", "");
	return check_failed;
}
