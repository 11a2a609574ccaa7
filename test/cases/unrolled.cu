// Loops that GCC 13 and later unroll at -O2, and older ones with -funroll-loops: their machine code
// makes several iterations in one. usage: unrolled KIND. `step of KIND` marks the line of the loop
// whose iterations are the steps, of which there are 61.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void advance_30us(float *x) { x[threadIdx.x] += 1; }
__global__ void limit_20us(float *x) { x[threadIdx.x] *= 2; }

#define NO_INLINE __attribute__((noinline, noclone))

static float *x;
static volatile int steps = 61; // the compiler does not know the number of iterations

static NO_INLINE void step()
{
    advance_30us<<<4, 64>>>(x);
    limit_20us<<<4, 64>>>(x);
    float value;
    cudaMemcpy(&value, x, sizeof(value), cudaMemcpyDeviceToHost);
}

static NO_INLINE void stages()
{
    for (int k = 0; k < 5; k++)
        advance_30us<<<4, 64>>>(x);
    cudaDeviceSynchronize();
}

static NO_INLINE void sweep(int colour)
{
    advance_30us<<<4 + colour, 64>>>(x);
    limit_20us<<<4, 64>>>(x);
}

static NO_INLINE void counted()
{
    int n = steps;
    for (int i = 0; i < n; i++) // step of counted
        step();
}

static NO_INLINE void down()
{
    for (int n = steps; n > 0; n--) // step of down
        step();
}

// The main loop's iterations make their calls in an inner loop.
static NO_INLINE void inner()
{
    int n = steps;
    for (int i = 0; i < n; i++) // step of inner
        stages();
}

static NO_INLINE void numbered()
{
    int n = steps;
    for (int i = 0; i < n; i++) // step of numbered
        sweep(i % 2);
}

// Each iteration makes a call twice: it is not an unrolled loop.
static NO_INLINE void twice()
{
    int n = steps;
    for (int i = 0; i < n; i++) { // step of twice
        step();
        step();
    }
}

// Nor is this, although it counts by two.
static NO_INLINE void colours()
{
    int n = 2 * steps;
    for (int i = 0; i < n; i += 2) { // step of colours
        sweep(0);
        sweep(1);
    }
}

static NO_INLINE void epoch(int n)
{
    for (int i = 0; i < n; i++) // step of epochs
        step();
    cudaDeviceSynchronize();
}

// Most epochs have a number of steps that no power of two divides.
static NO_INLINE void epochs()
{
    static volatile int lengths[] = { 7, 9, 9, 10, 8, 9, 9 };
    for (int e = 0; e < 7; e++)
        epoch(lengths[e]);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = { { "counted", counted }, { "down", down },       { "inner", inner },
                  { "numbered", numbered }, { "twice", twice },   { "colours", colours },
                  { "epochs", epochs } };
    cudaMalloc(&x, 4096);
    for (const auto &kind : kinds)
        if (argc > 1 && !strcmp(argv[1], kind.name)) {
            kind.run();
            cudaDeviceSynchronize();
            return 0;
        }
    fprintf(stderr, "usage: unrolled KIND\n");
    return 2;
}
