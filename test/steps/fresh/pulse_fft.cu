// step: loop at line 95; iterations 180
// Radar pulse compression: FFT, matched filter, inverse FFT; copies double-buffered with events.
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <vector>
#include <cuda_runtime.h>

#define HANDLE_ERROR(err) (HandleError(err, __FILE__, __LINE__))
static void HandleError(cudaError_t err, const char *file, int line)
{
	if (err != cudaSuccess) {
		printf("%s in %s at line %d\n", cudaGetErrorString(err), file, line);
		exit(EXIT_FAILURE);
	}
}

using cplx = float2;
constexpr int LOG2N = 12, N = 1 << LOG2N, PULSES = 16;

__device__ cplx mul(cplx a, cplx b) { return {a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x}; }

// One stage of a radix-2 Stockham FFT.
__global__ void fftStage(const cplx *in, cplx *out, int stage, float sign)
{
	int t = blockIdx.x * blockDim.x + threadIdx.x, half = N / 2, m = 1 << stage;
	const cplx *x = in + blockIdx.y * N;
	cplx *y = out + blockIdx.y * N, w;
	int k = t & (m - 1);
	sincospif(sign * k / m, &w.y, &w.x);
	cplx a = x[t], b = mul(x[t + half], w);
	int j = ((t - k) << 1) + k;
	y[j] = {a.x + b.x, a.y + b.y};
	y[j + m] = {a.x - b.x, a.y - b.y};
}
__global__ void matchedFilter(cplx *x, const cplx *ref)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	cplx r = ref[i];
	r.y = -r.y;
	x[blockIdx.y * N + i] = mul(x[blockIdx.y * N + i], r);
}
__global__ void magnitude(const cplx *x, float *out)
{
	int i = blockIdx.y * N + blockIdx.x * blockDim.x + threadIdx.x;
	out[i] = hypotf(x[i].x, x[i].y) / N;
}

class Event {
	cudaEvent_t e;

public:
	Event() { HANDLE_ERROR(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)); }
	~Event() { cudaEventDestroy(e); }
	void record(cudaStream_t s) { HANDLE_ERROR(cudaEventRecord(e, s)); }
	void block(cudaStream_t s) { HANDLE_ERROR(cudaStreamWaitEvent(s, e, 0)); }
	void wait() { HANDLE_ERROR(cudaEventSynchronize(e)); }
};

struct Buffer {
	cplx *host, *dev;
	float *mag, *hostMag;
	Event copied, computed, fetched;
	Buffer()
	{
		HANDLE_ERROR(cudaMallocHost(&host, PULSES * N * sizeof(cplx)));
		HANDLE_ERROR(cudaMallocHost(&hostMag, PULSES * N * sizeof(float)));
		HANDLE_ERROR(cudaMalloc(&dev, PULSES * N * sizeof(cplx)));
		HANDLE_ERROR(cudaMalloc(&mag, PULSES * N * sizeof(float)));
	}
};

static void fft(cplx *&a, cplx *&b, float sign, cudaStream_t s)
{
	for (int stage = 0; stage < LOG2N; stage++) {
		fftStage<<<dim3(N / 2 / 256, PULSES), 256, 0, s>>>(a, b, stage, sign);
		std::swap(a, b);
	}
}

int main()
{
	cudaStream_t copyIn, compute, copyOut;
	for (auto s : {&copyIn, &compute, &copyOut})
		HANDLE_ERROR(cudaStreamCreate(s));
	auto buf = std::make_unique<Buffer[]>(2);
	cplx *work, *ref;
	HANDLE_ERROR(cudaMalloc(&work, PULSES * N * sizeof(cplx)));
	HANDLE_ERROR(cudaMalloc(&ref, N * sizeof(cplx)));
	std::vector<cplx> chirp(N, cplx{1, 0});
	HANDLE_ERROR(cudaMemcpy(ref, chirp.data(), N * sizeof(cplx), cudaMemcpyHostToDevice));

	float peak = 0;
	const dim3 grid(N / 256, PULSES);
	for (int block = 0; block < 180; block++) {
		Buffer &b = buf[block & 1];
		if (block >= 2) {
			b.fetched.wait();
			for (int i = 0; i < N; i++)
				peak = b.hostMag[i] > peak ? b.hostMag[i] : peak;
		}
		for (int i = 0; i < N; i++)
			b.host[i] = {1.f * (i % 64), 1.f * block};
		HANDLE_ERROR(cudaMemcpyAsync(b.dev, b.host, PULSES * N * sizeof(cplx),
					     cudaMemcpyHostToDevice, copyIn));
		b.copied.record(copyIn);
		b.copied.block(compute);
		fft(b.dev, work, -1.f, compute);
		matchedFilter<<<grid, 256, 0, compute>>>(b.dev, ref);
		fft(b.dev, work, 1.f, compute);
		magnitude<<<grid, 256, 0, compute>>>(b.dev, b.mag);
		b.computed.record(compute);
		b.computed.block(copyOut);
		HANDLE_ERROR(cudaMemcpyAsync(b.hostMag, b.mag, PULSES * N * sizeof(float),
					     cudaMemcpyDeviceToHost, copyOut));
		b.fetched.record(copyOut);
	}
	HANDLE_ERROR(cudaDeviceSynchronize());
	printf("peak %f\n", peak);
}
