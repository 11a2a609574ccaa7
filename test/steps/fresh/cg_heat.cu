// step: loop at line 104; iterations 30; or: loop at line 83; iterations 450
// Implicit heat conduction: each time step solves (I - k L) u = u_old by conjugate gradients.
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

static inline void _cu(cudaError_t e, const char *f, int l)
{
	if (e) {
		fprintf(stderr, "%s:%d: %s\n", f, l, cudaGetErrorString(e));
		exit(2);
	}
}
#define CU(x) _cu(x, __FILE__, __LINE__)

const int N = 256, SIZE = N * N, BLOCKS = SIZE / 256;

__global__ void apply(const double *x, double *y, double k)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x, c = i % N, r = i / N;
	double s = 0;
	if (c > 0) s += x[i - 1];
	if (c < N - 1) s += x[i + 1];
	if (r > 0) s += x[i - N];
	if (r < N - 1) s += x[i + N];
	y[i] = (1 + 4 * k) * x[i] - k * s;
}
__global__ void axpy(double a, const double *x, double *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	y[i] += a * x[i];
}
__global__ void xpay(const double *x, double a, double *y)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	y[i] = x[i] + a * y[i];
}
__global__ void dotKernel(const double *a, const double *b, double *out)
{
	__shared__ double s[256];
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	s[threadIdx.x] = a[i] * b[i];
	for (int w = 128; w; w >>= 1) {
		__syncthreads();
		if (threadIdx.x < w)
			s[threadIdx.x] += s[threadIdx.x + w];
	}
	if (threadIdx.x == 0)
		atomicAdd(out, s[0]);
}

struct Vec {
	double *d;
	Vec() { CU(cudaMalloc(&d, SIZE * sizeof(double))); }
	~Vec() { cudaFree(d); }
	void copyFrom(const Vec &o)
	{
		CU(cudaMemcpy(d, o.d, SIZE * sizeof(double), cudaMemcpyDeviceToDevice));
	}
};

static double dot(const Vec &a, const Vec &b)
{
	static double *out = nullptr;
	double result;
	if (!out)
		CU(cudaMalloc(&out, sizeof(double)));
	CU(cudaMemset(out, 0, sizeof(double)));
	dotKernel<<<BLOCKS, 256>>>(a.d, b.d, out);
	CU(cudaMemcpy(&result, out, sizeof(double), cudaMemcpyDeviceToHost));
	return result;
}

static int solve(Vec &x, const Vec &b, Vec &r, Vec &p, Vec &q, double k, int maxit, double tol)
{
	apply<<<BLOCKS, 256>>>(x.d, q.d, k);
	r.copyFrom(b);
	axpy<<<BLOCKS, 256>>>(-1.0, q.d, r.d);
	p.copyFrom(r);
	double rr = dot(r, r);
	int it;
	for (it = 0; it < maxit; it++) {
		apply<<<BLOCKS, 256>>>(p.d, q.d, k);
		double alpha = rr / dot(p, q);
		axpy<<<BLOCKS, 256>>>(alpha, p.d, x.d);
		axpy<<<BLOCKS, 256>>>(-alpha, q.d, r.d);
		double next = dot(r, r);
		if (next < tol)
			break;
		xpay<<<BLOCKS, 256>>>(r.d, next / rr, p.d);
		rr = next;
	}
	return it;
}

int main()
{
	Vec u, old, r, p, q;
	std::vector<double> hot(SIZE, 0.0);
	hot[SIZE / 2 + N / 2] = 1000;
	CU(cudaMemcpy(u.d, hot.data(), SIZE * sizeof(double), cudaMemcpyHostToDevice));
	int total = 0;
	for (int step = 0; step < 30; step++) {
		old.copyFrom(u);
		total += solve(u, old, r, p, q, 0.5, 15, 0.0);
	}
	CU(cudaMemcpy(hot.data(), u.d, SIZE * sizeof(double), cudaMemcpyDeviceToHost));
	printf("%d CG iterations, centre %g\n", total, hot[SIZE / 2 + N / 2]);
}
