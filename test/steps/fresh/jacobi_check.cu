// step: loop at line 76; iterations 400
// 2-D Laplace solver, Jacobi; the error is reduced and copied back only every 20th iteration.
#include <stdio.h>
#include <stdlib.h>
#include <math.h>
#include <cuda_runtime.h>

#define CUDA_CALL(call)                                                              \
    {                                                                                \
        cudaError_t status = (call);                                                 \
        if (status != cudaSuccess) {                                                 \
            fprintf(stderr, "CUDA error \"%s\" at %s:%d\n",                          \
                    cudaGetErrorString(status), __FILE__, __LINE__);                 \
            exit(status);                                                            \
        }                                                                            \
    }

__global__ void initialize_boundaries(float *a, float *a_new, float pi, int nx, int ny)
{
    for (int iy = blockIdx.x * blockDim.x + threadIdx.x; iy < ny; iy += blockDim.x * gridDim.x) {
        const float y0 = sinf(2.0f * pi * iy / (ny - 1));
        a[iy * nx] = a[iy * nx + nx - 1] = y0;
        a_new[iy * nx] = a_new[iy * nx + nx - 1] = y0;
    }
}

template <bool with_norm>
__global__ void jacobi_kernel(float *a_new, const float *a, float *l2_norm, int nx, int ny)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x + 1;
    int iy = blockIdx.y * blockDim.y + threadIdx.y + 1;
    if (iy >= ny - 1 || ix >= nx - 1)
        return;
    float v = 0.25f * (a[iy * nx + ix + 1] + a[iy * nx + ix - 1] +
                       a[(iy + 1) * nx + ix] + a[(iy - 1) * nx + ix]);
    a_new[iy * nx + ix] = v;
    if (with_norm) {
        float r = v - a[iy * nx + ix];
        atomicAdd(l2_norm, r * r);
    }
}

__global__ void periodic_rows(float *a, int nx, int ny)
{
    int ix = blockIdx.x * blockDim.x + threadIdx.x;
    if (ix < nx) {
        a[ix] = a[(ny - 2) * nx + ix];
        a[(ny - 1) * nx + ix] = a[nx + ix];
    }
}

int main(int argc, char *argv[])
{
    const int iter_max = argc > 1 ? atoi(argv[1]) : 400;
    const int nccheck = 20, nx = 1024, ny = 1024;
    const float tol = 0.0f;

    float *a, *a_new, *l2_norm_d, *l2_norm_h;
    CUDA_CALL(cudaMalloc(&a, nx * ny * sizeof(float)));
    CUDA_CALL(cudaMalloc(&a_new, nx * ny * sizeof(float)));
    CUDA_CALL(cudaMalloc(&l2_norm_d, sizeof(float)));
    CUDA_CALL(cudaMallocHost(&l2_norm_h, sizeof(float)));
    CUDA_CALL(cudaMemset(a, 0, nx * ny * sizeof(float)));
    CUDA_CALL(cudaMemset(a_new, 0, nx * ny * sizeof(float)));
    initialize_boundaries<<<ny / 128, 128>>>(a, a_new, (float)M_PI, nx, ny);
    CUDA_CALL(cudaGetLastError());
    CUDA_CALL(cudaDeviceSynchronize());

    printf("Jacobi relaxation: %d iterations on %d x %d mesh with norm check every %d iterations\n",
           iter_max, ny, nx, nccheck);

    dim3 dim_block(32, 4, 1);
    dim3 dim_grid(nx / 32, ny / 4, 1);
    int iter = 0;
    float l2_norm = 1.0f;
    while (l2_norm >= tol && iter < iter_max) {
        const bool calculate_norm = (iter % nccheck) == 0;
        if (calculate_norm) {
            CUDA_CALL(cudaMemsetAsync(l2_norm_d, 0, sizeof(float)));
            jacobi_kernel<true><<<dim_grid, dim_block>>>(a_new, a, l2_norm_d, nx, ny);
        } else {
            jacobi_kernel<false><<<dim_grid, dim_block>>>(a_new, a, l2_norm_d, nx, ny);
        }
        periodic_rows<<<nx / 128, 128>>>(a_new, nx, ny);
        CUDA_CALL(cudaGetLastError());

        if (calculate_norm) {
            CUDA_CALL(cudaMemcpyAsync(l2_norm_h, l2_norm_d, sizeof(float), cudaMemcpyDeviceToHost));
            CUDA_CALL(cudaDeviceSynchronize());
            l2_norm = sqrtf(*l2_norm_h);
            if (iter % 100 == 0)
                printf("%5d, %0.6f\n", iter, l2_norm);
        }
        float *tmp = a_new;
        a_new = a;
        a = tmp;
        iter++;
    }
    CUDA_CALL(cudaDeviceSynchronize());
    CUDA_CALL(cudaFreeHost(l2_norm_h));
    CUDA_CALL(cudaFree(l2_norm_d));
    CUDA_CALL(cudaFree(a_new));
    CUDA_CALL(cudaFree(a));
    return 0;
}
