// Loops whose statement has no code. usage: endless KIND. `step of KIND` marks the line of the loop
// whose iterations are the steps, of which there are 60.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>

__global__ void advance_30us(float *x) { x[threadIdx.x] += 1; }
__global__ void limit_20us(float *x) { x[threadIdx.x] *= 2; }

enum { STEPS = 60 };

static float *x, value;

static void read() { cudaMemcpy(&value, x, sizeof(value), cudaMemcpyDeviceToHost); }

static void while_true()
{
    int t = 0;
    while (true) { // step of while_true
        // A comment between the statement and its body.

        advance_30us<<<4, 64>>>(x);
        read();
        if (++t == STEPS)
            break;
        limit_20us<<<4, 64>>>(x);
    }
}

static void while_one()
{
    int t = 0;
    while (1) // step of while_one
    {
        read();
        limit_20us<<<4, 64>>>(x);
        if (++t == STEPS)
            return;
    }
}

static void for_ever()
{
    for (int t = 0;;) { // step of for_ever
        if (t % 3 == 0)
            advance_30us<<<4, 64>>>(x);
        limit_20us<<<4, 64>>>(x);
        read();
        if (++t == STEPS)
            return;
    }
}

static void do_while()
{
    int t = 0;
    do { // step of do_while
        advance_30us<<<4, 64>>>(x);
        for (int k = 0; k < 2; k++)
            limit_20us<<<4, 64>>>(x);
        read();
    } while (++t < STEPS);
}

// The statement before the body is no loop, and the loop has a line of its own.
static void while_condition()
{
    int t = 0;
    while (t < STEPS) { // step of while_condition
        read();
        advance_30us<<<4, 64>>>(x);
        t++;
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = { { "while_true", while_true },
                  { "while_one", while_one },
                  { "for_ever", for_ever },
                  { "do_while", do_while },
                  { "while_condition", while_condition } };
    cudaMalloc(&x, 4096);
    for (const auto &kind : kinds)
        if (argc > 1 && !strcmp(argv[1], kind.name)) {
            kind.run();
            cudaDeviceSynchronize();
            printf("%d\n", (int)STEPS);
            return 0;
        }
    fprintf(stderr, "usage: endless KIND\n");
    return 2;
}
