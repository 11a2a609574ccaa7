// Launches from OpenMP regions, lambdas, inlined methods and functions of the kernel's own name.
// Built with several levels of optimization. The lines of the calls carry marks.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "test/prog/regions.h"

typedef solver::Grid<float> Grid;

__global__ void add_5us(float *x)
{
	x[1] += 2;
}

template <typename T> __global__ void scale_5us(T *x)
{
	x[2] *= 2;
}

static void add_5us(const Grid &g, int n)
{
	for (int i = 0; i < n; i++)
		add_5us<<<1, 32, 0, g.stream()>>>(g.data()); // line: name of the kernel
}

#define LAUNCH(kernel, grid)                                      \
	do {                                                      \
		kernel<<<1, 64, 0, grid.stream()>>>(grid.data()); \
		if (cudaPeekAtLastError())                        \
			puts("failed");                           \
	} while (0)

static inline void work_on_all(std::vector<Grid> &grids, int round)
{
#pragma omp parallel for num_threads(2)
	for (int i = 0; i < (int)grids.size(); i++) {
		grids[i].sweep();
		scale_5us<float><<<1, 64, 0, grids[i].stream()>>>(grids[i].data()); // line: for
		if (round % 4 == 0)
			cudaMemcpyAsync(grids[i].data(), grids[i].data() + 64, 64,
					cudaMemcpyDeviceToDevice,
					grids[i].stream()); // no line: of several lines
		cudaStreamSynchronize(grids[i].stream()); // line: wait
	}
}

// Works on the CPU only.
static double product(const std::vector<double> &v)
{
	double sum = 0;
#pragma omp parallel for num_threads(2) reduction(+ : sum)
	for (size_t i = 1; i < v.size(); i++)
		sum += v[i] * v[i - 1] / (1 + v[i] * v[i]); // on the host
	return sum;
}

int main()
{
	std::vector<Grid> grids(3);
	std::vector<double> values(400000, 1.5);
	double sum = 0;
	for (int round = 0; round < 60; round++) {
		std::for_each(grids.begin(), grids.end(), [](Grid &g) { solver::fill(g); });
		work_on_all(grids, round);
#pragma omp parallel num_threads(2)
		{
#pragma omp single
			LAUNCH(add_5us, grids[0]); // line: single
#pragma omp critical
			{
				LAUNCH(scale_5us, grids[1]); // line: critical
			}
		}
#pragma omp parallel num_threads(2)
#pragma omp single
		for (int i = 0; i < 2; i++) {
#pragma omp task firstprivate(i)
			grids[i].each(2, [&](int k) {
				LAUNCH(add_5us, grids[i]); // line: task
				(void)k;
			});
		}
		add_5us(grids[2], 2);
		cudaDeviceSynchronize(); // line: device
		sum += product(values);
	}
	puts(sum > 0 ? "done" : "wrong sum");
}
