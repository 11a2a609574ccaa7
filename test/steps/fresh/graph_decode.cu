// step: loop at line 41; iterations 40; or: loop at line 59; iterations 1280
// A language model's decoding with a CUDA graph: prefill by size, then 32 tokens by graph
// launches; after gpt-fast and FasterTransformer.
#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <vector>
#define CK(x)                                                                                      \
	do {                                                                                       \
		cudaError_t e_ = (x);                                                              \
		if (e_ != cudaSuccess) {                                                           \
			fprintf(stderr, "%s:%d %s\n", __FILE__, __LINE__, cudaGetErrorString(e_)); \
			exit(1);                                                                   \
		}                                                                                  \
	} while (0)

__global__ void attention(const float *a, float *b)
{
	b[threadIdx.x] = a[threadIdx.x];
}
__global__ void ffn(const float *a, float *b)
{
	b[threadIdx.x] = a[threadIdx.x] * 2;
}
__global__ void sample(const float *a, int *t)
{
	*t = a[0];
}
int main()
{
	float *x, *y;
	int *token, id;
	cudaStream_t s;
	cudaGraph_t graph;
	cudaGraphExec_t exec = nullptr;
	CK(cudaMalloc(&x, 4096));
	CK(cudaMalloc(&y, 4096));
	CK(cudaMalloc(&token, 4));
	CK(cudaStreamCreate(&s));
	int prompt[64] = { 0 };
	for (int request = 0; request < 40; request++) {
		int length = 16 + request * 5 % 40;
		CK(cudaMemcpyAsync(x, prompt, length * 4, cudaMemcpyHostToDevice, s));
		for (int layer = 0; layer < 6; layer++) {
			attention<<<length, 64, 0, s>>>(x, y);
			ffn<<<length, 64, 0, s>>>(y, x);
		}
		sample<<<1, 1, 0, s>>>(x, token);
		if (!exec) {
			CK(cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal));
			for (int layer = 0; layer < 6; layer++) {
				attention<<<1, 64, 0, s>>>(x, y);
				ffn<<<1, 64, 0, s>>>(y, x);
			}
			sample<<<1, 1, 0, s>>>(x, token);
			CK(cudaStreamEndCapture(s, &graph));
			CK(cudaGraphInstantiate(&exec, graph, 0));
		}
		for (int t = 0; t < 32; t++) {
			CK(cudaGraphLaunch(exec, s));
			CK(cudaMemcpyAsync(&id, token, 4, cudaMemcpyDeviceToHost, s));
			CK(cudaStreamSynchronize(s));
		}
	}
}
