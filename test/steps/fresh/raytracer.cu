// step: loop at line 50; iterations 60
// A ray tracer that maps tones and writes each frame on the CPU.
#include <cmath>
#include <cstdio>
#include <cstdint>
#include <vector>
#include <cuda_runtime.h>
struct Ray { float o[3], d[3], w[3]; };
__global__ void gen_rays(Ray *r, int w, int h, int f)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < w * h) r[i].o[0] = f;
}
__global__ void trace(Ray *r, float *img, int n, int bounce)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) img[i] += r[i].d[0] * bounce;
}
__global__ void clear(float *img, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) img[i] = 0;
}

static void tonemap(const std::vector<float> &hdr, std::vector<uint8_t> &ldr)
{
	for (size_t i = 0; i < hdr.size(); i++) {
		float c = hdr[i] / (1.0f + hdr[i]) + 0.25f;
		float g = powf(c, 1.0f / 2.2f);
		ldr[i] = (uint8_t)(255 * fminf(g, 1.0f));
	}
}

static void write_ppm(const std::vector<uint8_t> &ldr, int w, int h)
{
	FILE *f = tmpfile();
	fprintf(f, "P5 %d %d 255\n", w, h);
	fwrite(ldr.data(), 1, ldr.size(), f);
	fclose(f);
}

int main()
{
	const int W = 640, H = 480, N = W * H;
	Ray *rays; float *img;
	cudaMalloc(&rays, N * sizeof(Ray));
	cudaMalloc(&img, N * sizeof(float));
	std::vector<float> hdr(N);
	std::vector<uint8_t> ldr(N);
	for (int f = 0; f < 60; f++) {
		clear<<<N / 256, 256>>>(img, N);
		gen_rays<<<N / 256, 256>>>(rays, W, H, f);
		for (int b = 0; b < 4; b++)
			trace<<<N / 256, 256>>>(rays, img, N, b);
		cudaMemcpy(hdr.data(), img, N * sizeof(float), cudaMemcpyDeviceToHost);
		tonemap(hdr, ldr);
		write_ppm(ldr, W, H);
	}
	printf("frames 60\n");
	cudaFree(img); cudaFree(rays);
}
