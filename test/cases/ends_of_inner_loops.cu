// Nested loops whose inner loop makes all launches. Only another call tells the end of an iteration
// of the outer loop: it asks for an event, frees memory, or calls a host function. usage:
// ends_of_inner_loops KIND. `step of KIND` marks the line of the outer loop, which has 60
// iterations.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <unistd.h>

__global__ void advance_30us(float *x) { x[threadIdx.x] += 1; }

enum { STEPS = 60, SWEEPS = 6, FLOATS = 4096 };

static float *x;

static void sweep(float *y)
{
    advance_30us<<<4, 64>>>(y);
}

static void polls()
{
    cudaEvent_t done;
    cudaEventCreate(&done);
    for (int t = 0; t < STEPS; t++) { // step of polls
        for (int k = 0; k < SWEEPS; k++)
            sweep(x);
        cudaEventRecord(done);
        while (cudaEventQuery(done) == cudaErrorNotReady)
            ;
        usleep(200);
    }
}

static void allocates()
{
    for (int t = 0; t < STEPS; t++) { // step of allocates
        float *y;
        cudaMalloc(&y, FLOATS * sizeof(*y));
        for (int k = 0; k < SWEEPS; k++)
            sweep(y);
        cudaFree(y);
    }
}

static void count(void *n) { ++*static_cast<int *>(n); }

static void calls_back()
{
    static int n;
    for (int t = 0; t < STEPS; t++) { // step of calls_back
        for (int k = 0; k < SWEEPS; k++)
            sweep(x);
        cudaLaunchHostFunc(nullptr, count, &n);
    }
    cudaDeviceSynchronize();
}

static void makes_streams()
{
    for (int t = 0; t < STEPS; t++) { // step of makes_streams
        cudaStream_t s;
        cudaStreamCreate(&s);
        for (int k = 0; k < SWEEPS; k++)
            sweep(x);
        cudaStreamDestroy(s);
    }
    cudaDeviceSynchronize();
}

int main(int argc, char **argv)
{
    const struct {
        const char *name;
        void (*run)();
    } kinds[] = { { "polls", polls },
                  { "allocates", allocates },
                  { "calls_back", calls_back },
                  { "makes_streams", makes_streams } };
    cudaMalloc(&x, FLOATS * sizeof(*x));
    for (const auto &kind : kinds)
        if (argc == 2 && !strcmp(argv[1], kind.name)) {
            kind.run();
            return 0;
        }
    fprintf(stderr, "usage: ends_of_inner_loops KIND\n");
    return 2;
}
