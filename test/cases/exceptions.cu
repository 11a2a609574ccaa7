// Loops of C++ programs that continue after exceptions. usage: exceptions KIND. `step` marks the
// line of the loop whose iterations are the steps, of which there are 60.
#include <cuda_runtime.h>

#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <vector>

__global__ void advance_30us(float *x) { x[threadIdx.x] += 1; }
__global__ void limit_20us(float *x) { x[threadIdx.x] *= 2; }
__global__ void reduce_15us(float *x) { x[threadIdx.x] -= 1; }

enum { STEPS = 60 };

struct Failed : std::runtime_error {
    int code;
    explicit Failed(int code) : std::runtime_error("failed"), code(code) {}
};

static float *x, value;
static int n_runs;

static void upload() { cudaMemcpy(x, &value, sizeof(value), cudaMemcpyHostToDevice); }
static void read() { cudaMemcpy(&value, x, sizeof(value), cudaMemcpyDeviceToHost); }

// Fails in every fifth call, after its first kernel.
__attribute__((noinline)) static void flaky_model()
{
    advance_30us<<<4, 64>>>(x);
    if (++n_runs % 5 == 0)
        throw Failed(n_runs);
    limit_20us<<<4, 64>>>(x);
}

static void retries()
{
    for (int t = 0; t < STEPS; t++) { // step of retries
        upload();
        while (true) {
            try {
                flaky_model();
                break;
            } catch (const Failed &) {
                continue;
            }
        }
        read();
    }
}

// The exception is thrown two calls further in, through a function with an object to destroy.
__attribute__((noinline)) static int through(int n)
{
    std::vector<int> held(n % 7 + 1);
    flaky_model();
    return (int)held.size();
}

static void callees()
{
    int sum = 0;
    for (int t = 0; t < STEPS; t++) { // step of callees
        std::vector<int> held(t % 3 + 1);
        upload();
        for (;;) {
            try {
                sum += through(t + (int)held.size());
                break;
            } catch (const std::exception &e) {
                sum += e.what()[0];
            }
        }
        read();
    }
    value = (float)sum;
}

static void skipped()
{
    for (int t = 0; t < STEPS; t++) { // step of skipped
        upload();
        try {
            flaky_model();
        } catch (...) {
            reduce_15us<<<1, 64>>>(x);
            continue;
        }
        read();
    }
}

static void nested()
{
    for (int t = 0; t < STEPS; t++) { // step of nested
        upload();
        try {
            try {
                flaky_model();
            } catch (const Failed &e) {
                reduce_15us<<<1, 64>>>(x);
                if (e.code % 2)
                    throw;
            }
            limit_20us<<<4, 64>>>(x);
        } catch (const std::exception &) {
            advance_30us<<<4, 64>>>(x);
        }
        read();
    }
}

// Runs out of memory until the parts of a batch are small enough.
static void halved()
{
    for (int batch = 0; batch < STEPS; batch++) { // step of halved
        int size = 8;
        upload();
        while (true) {
            try {
                for (int part = 0; part < 8 / size; part++) {
                    advance_30us<<<4, 64>>>(x);
                    if (size > 2 && batch % 3 == 0)
                        throw Failed(size);
                    limit_20us<<<4, 64>>>(x);
                }
                break;
            } catch (const Failed &) {
                size /= 2;
            }
        }
        read();
    }
}

// The request's retries are in a function of their own, with a limit.
__attribute__((noinline)) static void robust()
{
    for (int attempt = 0;; attempt++) {
        try {
            flaky_model();
            return;
        } catch (const Failed &) {
            if (attempt == 3)
                throw;
            cudaDeviceSynchronize();
        }
    }
}

static void guarded()
{
    for (int t = 0; t < STEPS; t++) // step of guarded
        robust();
}

// A retry looks like an iteration of the caller's loop, but the copies are missing.
__attribute__((noinline)) static bool attempt(int tries)
{
    do {
        try {
            flaky_model();
            return true;
        } catch (const Failed &) {
        }
    } while (tries--);
    return false;
}

static void attempted()
{
    for (int t = 0; t < STEPS; t++) { // step of attempted
        upload();
        attempt(3);
        read();
    }
}

// Nothing shows how often the outer loop goes round, and failures recur most regularly.
static void epochs()
{
    for (int epoch = 0; epoch < 2; epoch++)
        for (int t = 0; t < STEPS / 2; t++) { // step of epochs
            upload();
            attempt(3);
            read();
        }
}

// The loop itself is in a handler.
static void inside_handler()
{
    try {
        throw Failed(0);
    } catch (const Failed &e) {
        for (int t = e.code; t < STEPS; t++) { // step of inside_handler
            upload();
            advance_30us<<<4, 64>>>(x);
            limit_20us<<<4, 64>>>(x);
        }
    }
}

// The loop ends by an exception.
static void until_thrown()
{
    int t = 0;
    try {
        while (true) { // step of until_thrown
            upload();
            advance_30us<<<4, 64>>>(x);
            if (++t == STEPS)
                throw Failed(t);
            limit_20us<<<4, 64>>>(x);
        }
    } catch (const Failed &) {
        read();
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)();
    } kinds[] = { { "retries", retries },	{ "callees", callees },
                  { "skipped", skipped },	{ "nested", nested },
                  { "halved", halved },		{ "guarded", guarded },
                  { "attempted", attempted },	{ "epochs", epochs },
                  { "inside_handler", inside_handler }, { "until_thrown", until_thrown } };
    cudaMalloc(&x, 4096);
    for (const auto &kind : kinds)
        if (argc > 1 && !strcmp(argv[1], kind.name)) {
            kind.run();
            cudaDeviceSynchronize();
            printf("%d\n", (int)STEPS);
            return 0;
        }
    fprintf(stderr, "usage: exceptions KIND\n");
    return 2;
}
