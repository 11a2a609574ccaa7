// step: loop at line 104; iterations 50
// Poisson equation by geometric multigrid: recursive V-cycles with damped Jacobi smoothing.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_SAFE(call) { cudaError_t rc = call; if (cudaSuccess != rc) { \
	fprintf(stderr, "error '%s' in line %i\n", cudaGetErrorString(rc), __LINE__); exit(1); } }

__global__ void smooth(const float *u, const float *f, float *out, int n, float h2)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x + 1,
	    y = blockIdx.y * blockDim.y + threadIdx.y + 1;
	if (x >= n - 1 || y >= n - 1)
		return;
	int i = y * n + x;
	float j = 0.25f * (u[i - 1] + u[i + 1] + u[i - n] + u[i + n] + h2 * f[i]);
	out[i] = u[i] + 0.8f * (j - u[i]);
}
__global__ void residual(const float *u, const float *f, float *r, int n, float h2)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x + 1,
	    y = blockIdx.y * blockDim.y + threadIdx.y + 1;
	if (x >= n - 1 || y >= n - 1)
		return;
	int i = y * n + x;
	r[i] = f[i] - (4 * u[i] - u[i - 1] - u[i + 1] - u[i - n] - u[i + n]) / h2;
}
__global__ void restrictTo(const float *fine, float *coarse, int nc)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x < nc - 1 && y < nc - 1 && x && y)
		coarse[y * nc + x] = fine[2 * y * (2 * nc - 1) + 2 * x];
}
__global__ void prolong(const float *coarse, float *fine, int n)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y,
	    nc = n / 2 + 1;
	if (x < n - 1 && y < n - 1 && x && y)
		fine[y * n + x] += coarse[y / 2 * nc + x / 2];
}
__global__ void sumSquares(const float *r, float *sum, int count)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < count)
		atomicAdd(sum, r[i] * r[i]);
}

class Multigrid {
	struct Level {
		int n;
		float h2, *u, *f, *r;
		dim3 grid() const { return dim3((n + 15) / 16, (n + 15) / 16); }
		size_t bytes() const { return sizeof(float) * n * n; }
	};
	std::vector<Level> levels;
	float *norm;
	const dim3 block{16, 16};

	void relax(Level &l, int sweeps)
	{
		for (int s = 0; s < sweeps; s++) {
			smooth<<<l.grid(), block>>>(l.u, l.f, l.r, l.n, l.h2);
			std::swap(l.u, l.r);
		}
	}
	void vcycle(size_t k)
	{
		Level &l = levels[k];
		if (k + 1 == levels.size()) {
			relax(l, 8);
			return;
		}
		relax(l, 2);
		residual<<<l.grid(), block>>>(l.u, l.f, l.r, l.n, l.h2);
		Level &c = levels[k + 1];
		restrictTo<<<c.grid(), block>>>(l.r, c.f, c.n);
		CUDA_SAFE(cudaMemsetAsync(c.u, 0, c.bytes()));
		vcycle(k + 1);
		prolong<<<l.grid(), block>>>(c.u, l.u, l.n);
		relax(l, 2);
	}

public:
	Multigrid(int n, int depth)
	{
		CUDA_SAFE(cudaMalloc(&norm, sizeof(float)));
		for (int d = 0; d < depth; d++, n = n / 2 + 1) {
			Level l{n, 1.0f / ((n - 1) * (n - 1))};
			for (float **p : {&l.u, &l.f, &l.r}) {
				CUDA_SAFE(cudaMalloc(p, l.bytes()));
				CUDA_SAFE(cudaMemset(*p, 0, l.bytes()));
			}
			levels.push_back(l);
		}
	}
	float solve(const std::vector<float> &rhs, int maxCycles, float tol)
	{
		Level &top = levels[0];
		CUDA_SAFE(cudaMemcpy(top.f, rhs.data(), top.bytes(), cudaMemcpyHostToDevice));
		float res = 0;
		for (int cycle = 0; cycle < maxCycles; cycle++) {
			vcycle(0);
			residual<<<top.grid(), block>>>(top.u, top.f, top.r, top.n, top.h2);
			CUDA_SAFE(cudaMemset(norm, 0, sizeof(float)));
			sumSquares<<<(top.n * top.n + 255) / 256, 256>>>(top.r, norm,
									 top.n * top.n);
			CUDA_SAFE(cudaMemcpy(&res, norm, sizeof(float), cudaMemcpyDeviceToHost));
			if (std::sqrt(res) < tol)
				break;
		}
		return std::sqrt(res);
	}
};

int main()
{
	Multigrid mg(257, 6);
	printf("residual %g\n", mg.solve(std::vector<float>(257 * 257, 1.0f), 50, 0.0f));
}
