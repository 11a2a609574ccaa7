// step: loop at line 121; iterations 120
// A two-layer network trained from scratch: gradient accumulation over micro-batches, then Adam.
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <algorithm>
#include <numeric>
#include <random>
#include <vector>
#include <cuda_runtime.h>

inline void cuda_check(cudaError_t error, const char *file, int line)
{
	if (error != cudaSuccess) {
		printf("[CUDA ERROR] at file %s:%d:\n%s\n", file, line, cudaGetErrorString(error));
		exit(EXIT_FAILURE);
	}
}
#define cudaCheck(err) (cuda_check(err, __FILE__, __LINE__))

#define CEIL_DIV(m, n) (((m) + (n) - 1) / (n))

__global__ void matmul_forward(float *out, const float *in, const float *w, const float *b, int B,
			       int C, int OC, bool relu)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= B * OC)
		return;
	float v = b[i % OC];
	for (int c = 0; c < C; c++)
		v += in[i / OC * C + c] * w[i % OC * C + c];
	out[i] = relu ? fmaxf(v, 0) : v;
}
__global__ void softmax_loss(float *dlogits, float *loss, const float *logits, const int *y, int B,
			     int OC)
{
	int b = blockIdx.x * blockDim.x + threadIdx.x;
	if (b >= B)
		return;
	float sum = 0;
	for (int o = 0; o < OC; o++)
		sum += expf(logits[b * OC + o]);
	for (int o = 0; o < OC; o++)
		dlogits[b * OC + o] = expf(logits[b * OC + o]) / sum - (o == y[b]);
	atomicAdd(loss, logf(sum) - logits[b * OC + y[b]]);
}
__global__ void matmul_backward_w(float *dw, float *db, const float *dout, const float *in, int B,
				  int C, int OC)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= C * OC)
		return;
	for (int b = 0; b < B; b++)
		dw[i] += dout[b * OC + i / C] * in[b * C + i % C];
	if (i % C == 0)
		for (int b = 0; b < B; b++)
			db[i / C] += dout[b * OC + i / C];
}
__global__ void matmul_backward_in(float *din, const float *dout, const float *w, const float *act,
				   int B, int C, int OC)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= B * C)
		return;
	float v = 0;
	for (int o = 0; o < OC; o++)
		v += dout[i / C * OC + o] * w[o * C + i % C];
	din[i] = act[i] > 0 ? v : 0;
}
__global__ void adamw(float *p, const float *g, float *m, float *v, int n, float lr, float c1,
		      float c2)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i >= n)
		return;
	m[i] = 0.9f * m[i] + 0.1f * g[i];
	v[i] = 0.999f * v[i] + 0.001f * g[i] * g[i];
	p[i] -= lr * (m[i] / c1 / (sqrtf(v[i] / c2) + 1e-8f) + 0.01f * p[i]);
}

struct Param {
	int n;
	float *w, *g, *m, *v;
};

static float *device(size_t n)
{
	float *p;
	cudaCheck(cudaMalloc(&p, n * sizeof(float)));
	cudaCheck(cudaMemset(p, 0, n * sizeof(float)));
	return p;
}

int main()
{
	const int IN = 64, HID = 128, OUT = 10, micro = 32, accum = 4, epochs = 4,
		  batch = micro * accum;
	const int samples = 30 * batch;
	std::mt19937 rng(1337);
	std::vector<Param> params;
	for (int n : {IN * HID, HID, HID * OUT, OUT}) {
		Param p{n, device(n), device(n), device(n), device(n)};
		std::vector<float> init(n);
		for (auto &x : init)
			x = 0.05f * (rng() % 2000 / 1000.f - 1);
		cudaCheck(cudaMemcpy(p.w, init.data(), n * sizeof(float), cudaMemcpyHostToDevice));
		params.push_back(p);
	}
	float *x = device(micro * IN), *h = device(micro * HID), *dh = device(micro * HID);
	float *o = device(micro * OUT), *dout = device(micro * OUT), *loss = device(1);
	int *y;
	cudaCheck(cudaMalloc(&y, micro * sizeof(int)));
	std::vector<float> hx(micro * IN);
	std::vector<int> hy(micro), order(samples);
	std::iota(order.begin(), order.end(), 0);

	int t = 0;
	for (int epoch = 0; epoch < epochs; epoch++) {
		std::shuffle(order.begin(), order.end(), rng);
		float sum = 0;
		for (int first = 0; first < samples; first += batch) {
			for (auto &p : params)
				cudaCheck(cudaMemset(p.g, 0, p.n * sizeof(float)));
			cudaCheck(cudaMemset(loss, 0, sizeof(float)));
			for (int k = 0; k < accum; k++) {
				for (int i = 0; i < micro; i++) {
					hy[i] = order[first + k * micro + i] % OUT;
					for (int c = 0; c < IN; c++)
						hx[i * IN + c] =
							(c % OUT == hy[i]) + 0.01f * (c & 3);
				}
				cudaCheck(cudaMemcpy(x, hx.data(), hx.size() * sizeof(float),
						     cudaMemcpyHostToDevice));
				cudaCheck(cudaMemcpy(y, hy.data(), hy.size() * sizeof(int),
						     cudaMemcpyHostToDevice));
				matmul_forward<<<CEIL_DIV(micro * HID, 256), 256>>>(
					h, x, params[0].w, params[1].w, micro, IN, HID, true);
				matmul_forward<<<CEIL_DIV(micro * OUT, 256), 256>>>(
					o, h, params[2].w, params[3].w, micro, HID, OUT, false);
				softmax_loss<<<1, micro>>>(dout, loss, o, y, micro, OUT);
				matmul_backward_w<<<CEIL_DIV(HID * OUT, 256), 256>>>(
					params[2].g, params[3].g, dout, h, micro, HID, OUT);
				matmul_backward_in<<<CEIL_DIV(micro * HID, 256), 256>>>(
					dh, dout, params[2].w, h, micro, HID, OUT);
				matmul_backward_w<<<CEIL_DIV(IN * HID, 256), 256>>>(
					params[0].g, params[1].g, dh, x, micro, IN, HID);
			}
			t++;
			for (auto &p : params)
				adamw<<<CEIL_DIV(p.n, 256), 256>>>(p.w, p.g, p.m, p.v, p.n, 1e-3f,
								   1 - powf(0.9f, t),
								   1 - powf(0.999f, t));
			float l;
			cudaCheck(cudaMemcpy(&l, loss, sizeof l, cudaMemcpyDeviceToHost));
			sum += l / batch;
		}
		printf("epoch %d: mean loss %f\n", epoch, sum / (samples / batch));
	}
	return 0;
}
