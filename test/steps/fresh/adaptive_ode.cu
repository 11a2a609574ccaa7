// step: loop at line 80; iterations 127
// Adaptive Runge-Kutta after headmyshoulder/odeint and SUNDIALS: a template over a stepper with a
// virtual step(), a lambda that observes, and rejected attempts that `continue`.
#include <cuda_runtime.h>
#include <cmath>
#include <cstdint>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

inline void cuda(cudaError_t rc)
{
	if (rc != cudaSuccess)
		throw std::runtime_error(cudaGetErrorString(rc));
}

__global__ void lorenz(const double *x, double *dx, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		dx[i] = 10 * (x[(i + 1) % n] - x[i]);
}
template <int K> __global__ void stage(const double *x, const double *k, double *y, double h, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		y[i] = x[i] + h / K * k[i];
}
__global__ void errorNorm(const double *y, const double *x, double *e, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		e[i & 31] += fabs(y[i] - x[i]);
}

class Stepper {
public:
	virtual ~Stepper() = default;
	virtual double step(double *x, double *y, double h) = 0;
	virtual int order() const = 0;
};

class Embedded : public Stepper {
	double *k, *e;
	int n;
	uint32_t seed = 99;

public:
	explicit Embedded(int n) : n(n)
	{
		cuda(cudaMalloc(&k, n * sizeof(double)));
		cuda(cudaMalloc(&e, 32 * sizeof(double)));
	}
	~Embedded() override { cudaFree(k), cudaFree(e); }
	int order() const override { return 3; }
	double step(double *x, double *y, double h) override
	{
		const int grid = (n + 255) / 256;
		double host[32];
		lorenz<<<grid, 256>>>(x, k, n);
		stage<2><<<grid, 256>>>(x, k, y, h, n);
		lorenz<<<grid, 256>>>(y, k, n);
		stage<3><<<grid, 256>>>(x, k, y, h, n);
		lorenz<<<grid, 256>>>(y, k, n);
		stage<1><<<grid, 256>>>(x, k, y, h, n);
		errorNorm<<<grid, 256>>>(y, x, e, n);
		cuda(cudaMemcpy(host, e, sizeof host, cudaMemcpyDeviceToHost));
		seed = seed * 1664525u + 1013904223u;
		return 0.2 + (seed >> 8) / 16777216.0 * 1.1;
	}
};

template <typename Observer>
int integrateAdaptive(Stepper &stepper, double *&x, double *&y, double t, double end, double h,
		      Observer &&observe)
{
	int attempts = 0;
	while (t < end) {
		attempts++;
		double error = stepper.step(x, y, h);
		if (error > 1) {
			h *= 0.9;
			continue;
		}
		t += h;
		std::swap(x, y);
		observe(t, x);
		h = std::fmin(0.05, h * (1 + 0.2 * (1 - error)));
	}
	return attempts;
}

int main(int argc, char **argv)
{
	const int n = 16384;
	const double end = argc > 1 ? std::stod(argv[1]) : 4;
	double *x, *y;
	cuda(cudaMalloc(&x, n * sizeof(double)));
	cuda(cudaMalloc(&y, n * sizeof(double)));
	cuda(cudaMemset(x, 0, n * sizeof(double)));
	std::unique_ptr<Stepper> stepper = std::make_unique<Embedded>(n);
	std::vector<double> snapshot(16);
	int accepted = 0;
	int attempts = integrateAdaptive(*stepper, x, y, 0.0, end, 0.02, [&](double, double *at) {
		if (accepted++ % 8 == 0)
			cuda(cudaMemcpy(snapshot.data(), at, 16 * sizeof(double),
					cudaMemcpyDeviceToHost));
	});
	std::cout << "COUNT " << attempts << " " << accepted << std::endl;
}
