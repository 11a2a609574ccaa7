// step: loop at line 42; iterations 60; or: loop at line 43; iterations 1500
// Material point method: substeps in a frame, and each frame is copied to the host.
#include <cstdio>
#include <utility>
#include <vector>

__global__ void clear(float *grid)
{
	grid[threadIdx.x] = 0;
}
__global__ void p2g(const float *x, float *grid)
{
	atomicAdd(&grid[threadIdx.x % 64], x[threadIdx.x]);
}
__global__ void update(float *grid, float dt)
{
	grid[threadIdx.x] *= 1 - dt;
}
__global__ void g2p(float *x, const float *grid)
{
	x[threadIdx.x] += grid[threadIdx.x % 64];
}

struct Simulation {
	float *x, *grid;
	void substep(float dt)
	{
		clear<<<1, 64>>>(grid);
		p2g<<<4, 64>>>(x, grid);
		update<<<1, 64>>>(grid, dt);
		g2p<<<4, 64>>>(x, grid);
	}
};

int main()
{
	Simulation s;
	std::vector<float> host(256);
	cudaMalloc(&s.x, 1024);
	cudaMalloc(&s.grid, 256);
	cudaMemset(s.x, 0, 1024);
	for (int frame = 0; frame < 60; frame++) {
		for (int sub = 0; sub < 25; sub++)
			s.substep(1e-3f);
		cudaMemcpy(host.data(), s.x, 1024, cudaMemcpyDeviceToHost);
	}
	printf("%g\n", host[0]);
}
