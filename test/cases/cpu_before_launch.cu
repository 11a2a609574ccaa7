// Computes on the CPU before its only launch, or after it: the reference of a finite-difference
// sample, the matrix that is copied to the GPU, or a checksum of what came back. Loads no data.
#include <chrono>
#include <cstdio>
#include <cstring>
#include <vector>
#include <cuda_runtime.h>

enum { CELLS = 1 << 14 };
constexpr double WORK_S = 0.3;

__global__ void compute_200us(float *x) { x[threadIdx.x] += 1; }

static double now_s() {
    return std::chrono::duration<double>(
        std::chrono::steady_clock::now().time_since_epoch()).count();
}

static float reference_cpu(std::vector<float> &cells) {
    double end_s = now_s() + WORK_S;
    while (now_s() < end_s)
        for (size_t i = 1; i + 1 < cells.size(); i++)
            cells[i] = 0.5f * cells[i] + 0.25f * (cells[i - 1] + cells[i + 1]);
    return cells[CELLS / 2];
}

static float fill_cpu(std::vector<float> &cells) {
    double end_s = now_s() + WORK_S;
    unsigned random = 1;
    while (now_s() < end_s)
        for (float &cell : cells) cell = (random = random * 1664525u + 1013904223u) >> 8;
    return cells[CELLS / 2];
}

static float checksum_cpu(const std::vector<float> &cells) {
    double end_s = now_s() + WORK_S;
    float sum = 0;
    while (now_s() < end_s)
        for (float cell : cells) sum = 0.5f * sum + cell;
    return sum;
}

int main(int, char **arguments) {
    const char *what = arguments[1];
    std::vector<float> cells(CELLS, 1), copied(CELLS);
    float *x, result = 0;
    cudaMalloc(&x, CELLS * sizeof(float));
    if (!strcmp(what, "reference")) result = reference_cpu(cells);
    if (!strcmp(what, "fill")) result = fill_cpu(cells);
    cudaMemcpy(x, cells.data(), CELLS * sizeof(float), cudaMemcpyHostToDevice);
    compute_200us<<<1, 64>>>(x);
    cudaMemcpy(copied.data(), x, CELLS * sizeof(float), cudaMemcpyDeviceToHost);
    if (!strcmp(what, "checksum")) result = checksum_cpu(copied);
    cudaFree(x);
    printf("%f\n", result);
}
