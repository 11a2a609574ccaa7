// step: loop at line 46; iterations 300
// A game loop with states: load, play, pause, cut scene; after handmade engines and imgui
// examples.
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

__global__ void physics(float *x)
{
	x[threadIdx.x] += 1;
}
__global__ void animate(float *x)
{
	x[threadIdx.x] *= 2;
}
__global__ void raster(const float *x, unsigned *image)
{
	image[threadIdx.x] = x[threadIdx.x];
}
__global__ void fade(unsigned *image, int k)
{
	image[threadIdx.x] /= k + 1;
}
__global__ void upload(float *x)
{
	x[threadIdx.x] = 0;
}
enum State { LOADING, PLAYING, PAUSED, SCENE, QUIT };
int main()
{
	float *x;
	unsigned *image, host[64];
	State state = LOADING;
	CK(cudaMalloc(&x, 1024));
	CK(cudaMalloc(&image, 1024));
	int frame = 0, in_state = 0;
	while (state != QUIT) {
		State next = state;
		switch (state) {
		case LOADING:
			upload<<<4, 64>>>(x);
			if (in_state == 9)
				next = PLAYING;
			break;
		case PLAYING:
			for (int sub = 0; sub < 2; sub++)
				physics<<<4, 64>>>(x);
			animate<<<4, 64>>>(x);
			raster<<<8, 64>>>(x, image);
			if (in_state == 60)
				next = frame < 100 ? PAUSED : SCENE;
			break;
		case PAUSED:
			fade<<<8, 64>>>(image, in_state);
			if (in_state == 20)
				next = PLAYING;
			break;
		case SCENE:
			animate<<<4, 64>>>(x);
			raster<<<8, 64>>>(x, image);
			fade<<<8, 64>>>(image, in_state);
			if (in_state == 40)
				next = PLAYING;
			break;
		default:
			break;
		}
		CK(cudaMemcpy(host, image, 256, cudaMemcpyDeviceToHost));
		in_state = next == state ? in_state + 1 : 0;
		state = ++frame == 300 ? QUIT : next;
	}
}
