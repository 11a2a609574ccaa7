// step: loop at line 91; iterations 24; or: loop at line 94; iterations 384
// Path tracer: a camera flies around three spheres; each frame accumulates samples, then tone maps.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <vector>
#include <cuda_runtime.h>

#define checkCudaErrors(val) check_cuda((val), #val, __FILE__, __LINE__)
void check_cuda(cudaError_t result, char const *func, const char *file, int line)
{
	if (result) {
		fprintf(stderr, "CUDA error = %d at %s:%d '%s'\n", (int)result, file, line, func);
		cudaDeviceReset();
		exit(99);
	}
}

struct vec3 {
	float x, y, z;
	__host__ __device__ vec3 operator+(vec3 b) const { return {x + b.x, y + b.y, z + b.z}; }
	__host__ __device__ vec3 operator-(vec3 b) const { return {x - b.x, y - b.y, z - b.z}; }
	__host__ __device__ vec3 operator*(float s) const { return {x * s, y * s, z * s}; }
};
__device__ float dot(vec3 a, vec3 b) { return a.x * b.x + a.y * b.y + a.z * b.z; }

struct Camera {
	vec3 origin;
	float yaw;
};

__device__ float rnd(uint32_t &s)
{
	s ^= s << 13, s ^= s >> 17, s ^= s << 5;
	return (s & 0xffffff) / 16777216.f;
}

__device__ vec3 trace(vec3 o, vec3 d, uint32_t &seed)
{
	float weight = 1;
	for (int bounce = 0; bounce < 4; bounce++) {
		float best = 1e9f;
		vec3 centre{};
		for (int s = -1; s <= 1; s++) {
			vec3 c{2.f * s, 0, 0}, oc = o - c;
			float b = dot(oc, d), q = b * b - dot(oc, oc) + 1,
			      t = -b - sqrtf(fmaxf(q, 0));
			if (q > 0 && t > 1e-3f && t < best)
				best = t, centre = c;
		}
		if (best > 1e8f)
			break;
		o = o + d * best;
		d = (o - centre) + vec3{rnd(seed) - .5f, rnd(seed) - .5f, rnd(seed) - .5f};
		d = d * rsqrtf(dot(d, d));
		weight *= 0.6f;
	}
	return vec3{0.5f + 0.5f * d.y, 0.7f, 1.0f} * weight;
}

__global__ void renderSample(vec3 *accum, int w, int h, Camera cam, uint32_t seed)
{
	int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= w || y >= h)
		return;
	uint32_t rng = (y * w + x) * 9781u + seed * 6271u + 1;
	vec3 d{(x + rnd(rng)) / w - .5f + cam.yaw, (y + rnd(rng)) / h - .5f, 1};
	accum[y * w + x] = accum[y * w + x] + trace(cam.origin, d * rsqrtf(dot(d, d)), rng);
}
__global__ void toneMap(const vec3 *accum, uchar4 *out, int n, float scale)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		vec3 c = accum[i] * scale;
		out[i] = make_uchar4(255 * sqrtf(c.x), 255 * sqrtf(c.y), 255 * sqrtf(c.z), 255);
	}
}

int main(int argc, char **argv)
{
	const int w = 320, h = 192, frames = 24, spp = 16;
	const bool save = argc > 1;
	vec3 *accum;
	uchar4 *ldr;
	checkCudaErrors(cudaMalloc(&accum, w * h * sizeof(vec3)));
	checkCudaErrors(cudaMalloc(&ldr, w * h * sizeof(uchar4)));
	std::vector<uchar4> pixels(w * h);
	dim3 threads(8, 8), blocks(w / 8, h / 8);
	for (int frame = 0; frame < frames; frame++) {
		Camera cam{{0.1f * frame - 1.2f, 0, -5}, 0.01f * frame};
		checkCudaErrors(cudaMemset(accum, 0, w * h * sizeof(vec3)));
		for (int s = 0; s < spp; s++) {
			renderSample<<<blocks, threads>>>(accum, w, h, cam, frame * spp + s);
			checkCudaErrors(cudaGetLastError());
		}
		toneMap<<<w * h / 256, 256>>>(accum, ldr, w * h, 1.f / spp);
		checkCudaErrors(cudaMemcpy(pixels.data(), ldr, w * h * sizeof(uchar4),
					   cudaMemcpyDeviceToHost));
		if (save)
			std::ofstream("frame" + std::to_string(frame) + ".raw", std::ios::binary)
			    .write((const char *)pixels.data(), pixels.size() * sizeof(uchar4));
	}
	checkCudaErrors(cudaFree(accum));
	checkCudaErrors(cudaFree(ldr));
	printf("%d frames of %d samples\n", frames, spp);
}
