// step: loop at line 107; iterations 500
// N-body, leapfrog (kick-drift-kick). One step is captured as a graph and replayed.
#include <cstdio>
#include <cstdlib>
#include <random>
#include <stdexcept>
#include <vector>
#include <cuda_runtime.h>

inline void check(cudaError_t e, const char *what)
{
	if (e != cudaSuccess)
		throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(e));
}
#define CK(x) check((x), #x)

__global__ void forces(const float4 *pos, float3 *acc, int n)
{
	extern __shared__ float4 tile[];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float4 me = pos[i];
	float3 a = {0, 0, 0};
	for (int base = 0; base < n; base += blockDim.x) {
		tile[threadIdx.x] = pos[base + threadIdx.x];
		__syncthreads();
		for (int j = 0; j < blockDim.x; j++) {
			float dx = tile[j].x - me.x, dy = tile[j].y - me.y, dz = tile[j].z - me.z;
			float r = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-4f),
			      s = tile[j].w * r * r * r;
			a.x += dx * s, a.y += dy * s, a.z += dz * s;
		}
		__syncthreads();
	}
	acc[i] = a;
}
__global__ void kick(float3 *vel, const float3 *acc, float h)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	vel[i].x += h * acc[i].x, vel[i].y += h * acc[i].y, vel[i].z += h * acc[i].z;
}
__global__ void drift(float4 *pos, const float3 *vel, float h)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	pos[i].x += h * vel[i].x, pos[i].y += h * vel[i].y, pos[i].z += h * vel[i].z;
}
__global__ void kinetic(const float3 *vel, float *sum)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float3 v = vel[i];
	atomicAdd(sum, 0.5f * (v.x * v.x + v.y * v.y + v.z * v.z));
}

class System {
	int n;
	float4 *pos;
	float3 *vel, *acc;
	float *energy;
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec;

public:
	System(int n, float dt) : n(n)
	{
		CK(cudaStreamCreate(&s));
		CK(cudaMalloc(&pos, n * sizeof(float4)));
		CK(cudaMalloc(&vel, n * sizeof(float3)));
		CK(cudaMalloc(&acc, n * sizeof(float3)));
		CK(cudaMalloc(&energy, sizeof(float)));
		std::mt19937 gen(7);
		std::normal_distribution<float> d;
		std::vector<float4> p(n);
		for (auto &b : p)
			b = {d(gen), d(gen), d(gen), 1.0f / n};
		CK(cudaMemcpy(pos, p.data(), n * sizeof(float4), cudaMemcpyHostToDevice));
		CK(cudaMemset(vel, 0, n * sizeof(float3)));
		forces<<<n / 256, 256, 256 * sizeof(float4), s>>>(pos, acc, n);
		CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
		kick<<<n / 256, 256, 0, s>>>(vel, acc, dt / 2);
		drift<<<n / 256, 256, 0, s>>>(pos, vel, dt);
		forces<<<n / 256, 256, 256 * sizeof(float4), s>>>(pos, acc, n);
		kick<<<n / 256, 256, 0, s>>>(vel, acc, dt / 2);
		CK(cudaStreamEndCapture(s, &graph));
		CK(cudaGraphInstantiate(&exec, graph, 0));
	}
	void step() { CK(cudaGraphLaunch(exec, s)); }
	float kineticEnergy()
	{
		float e;
		CK(cudaMemsetAsync(energy, 0, sizeof(float), s));
		kinetic<<<n / 256, 256, 0, s>>>(vel, energy);
		CK(cudaMemcpyAsync(&e, energy, sizeof(float), cudaMemcpyDeviceToHost, s));
		CK(cudaStreamSynchronize(s));
		return e;
	}
	~System()
	{
		cudaGraphExecDestroy(exec), cudaGraphDestroy(graph), cudaStreamDestroy(s);
		cudaFree(pos), cudaFree(vel), cudaFree(acc), cudaFree(energy);
	}
};

int main()
{
	System sys(8192, 1e-3f);
	const int steps = 500;
	for (int i = 0; i < steps; ++i) {
		sys.step();
		if ((i + 1) % 100 == 0)
			printf("step %d  E_kin = %f\n", i + 1, sys.kineticEnergy());
	}
	CK(cudaDeviceSynchronize());
}
