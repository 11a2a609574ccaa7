// Loops of other kinds than those of the reported programs. usage: loops KIND [STEPS]. Prints how
// many steps it makes; some kinds have two nested loops that may both be called the step.
#include <cuda_runtime.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>

__global__ void advance_30us(float *x) { x[threadIdx.x] += 1; }
__global__ void limit_20us(float *x) { x[threadIdx.x] *= 2; }
__global__ void reduce_15us(float *x) { x[threadIdx.x] -= 1; }

static float *room()
{
    float *x;
    cudaMalloc(&x, 4096);
    return x;
}

static float read(const float *x)
{
    float value;
    cudaMemcpy(&value, x, sizeof(value), cudaMemcpyDeviceToHost);
    return value;
}

static int wanted = 60;

// Three stages of the same two kernels, and a wait.
static int stages()
{
    float *x = room();
    for (int t = 0; t < wanted; t++) {
        for (int k = 0; k < 3; k++) {
            advance_30us<<<4, 64>>>(x);
            limit_20us<<<4, 64>>>(x);
        }
        cudaDeviceSynchronize();
    }
    return wanted;
}

// An inner solver that reads its residual and needs 3 to 6 iterations.
static int solver()
{
    float *x = room();
    for (int t = 0; t < 40; t++) {
        advance_30us<<<4, 64>>>(x);
        for (int k = 0; k < 3 + t % 4; k++) {
            limit_20us<<<4, 64>>>(x);
            reduce_15us<<<1, 64>>>(x);
            read(x);
        }
        advance_30us<<<4, 64>>>(x);
    }
    return 40;
}

// The same work on each device, one after the other.
static int devices()
{
    int n = 0;
    float *x[8];
    cudaGetDeviceCount(&n);
    for (int d = 0; d < n; d++) {
        cudaSetDevice(d);
        x[d] = room();
    }
    for (int t = 0; t < 50; t++) {
        for (int d = 0; d < n; d++) {
            cudaSetDevice(d);
            advance_30us<<<4, 64>>>(x[d]);
            limit_20us<<<4, 64>>>(x[d]);
        }
        for (int d = 0; d < n; d++) {
            cudaSetDevice(d);
            cudaDeviceSynchronize();
        }
    }
    return 50;
}

static std::mutex lock;
static std::condition_variable wake;
static std::queue<int> requests;

static void serve()
{
    float *x = room();
    for (;;) {
        std::unique_lock<std::mutex> held(lock);
        wake.wait(held, [] { return !requests.empty(); });
        int request = requests.front();
        requests.pop();
        held.unlock();
        if (request < 0)
            return;
        advance_30us<<<4, 64>>>(x);
        for (int k = 0; k < 5; k++)
            limit_20us<<<4, 64>>>(x);
        read(x);
    }
}

// Requests that four threads take from a queue.
static int pool()
{
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; i++)
        threads.emplace_back(serve);
    for (int i = 0; i < 124; i++) {
        std::unique_lock<std::mutex> held(lock);
        requests.push(i < 120 ? i : -1);
        wake.notify_one();
    }
    for (auto &t : threads)
        t.join();
    return 120;
}

static void cycle(float *x, int level)
{
    advance_30us<<<4, 64>>>(x);
    if (level < 4)
        cycle(x, level + 1);
    limit_20us<<<4, 64>>>(x);
}

// A recursion in a loop: V-cycles of a multigrid solver.
static int recursion()
{
    float *x = room();
    for (int t = 0; t < 45; t++) {
        cycle(x, 0);
        read(x);
    }
    return 45;
}

// One call site calls all stages of a pipeline.
static int callbacks()
{
    float *x = room();
    std::vector<std::function<void()>> stages = {
        [=] { advance_30us<<<4, 64>>>(x); },
        [=] { limit_20us<<<4, 64>>>(x); },
        [=] { reduce_15us<<<4, 64>>>(x); },
    };
    for (int t = 0; t < 70; t++) {
        for (auto &stage : stages)
            stage();
        read(x);
    }
    return 70;
}

static void copy_and_wait(float *x, float *host)
{
    cudaStream_t stream;
    cudaStreamCreate(&stream);
    cudaMemcpyAsync(host, x, 256, cudaMemcpyDeviceToHost, stream);
    cudaStreamSynchronize(stream);
    cudaStreamDestroy(stream);
}

// Four equal launches, and a new thread that copies the result.
static int threads()
{
    float *x = room(), *host;
    cudaMallocHost(&host, 256);
    for (int t = 0; t < 60; t++) {
        for (int k = 0; k < 4; k++)
            advance_30us<<<4, 64>>>(x);
        std::thread(copy_and_wait, x, host).join();
    }
    return 60;
}

// What a step does depends on its number.
static int branches()
{
    float *x = room();
    int n = wanted + 30;
    for (int t = 0; t < n; t++) {
        switch (t % 3) {
        case 0:
            advance_30us<<<4, 64>>>(x);
            break;
        case 1:
            limit_20us<<<4, 64>>>(x);
            // fall through
        default:
            reduce_15us<<<4, 64>>>(x);
        }
        if (t % 10 == 9)
            read(x);
        cudaDeviceSynchronize();
    }
    return n;
}

// Each iteration makes all its calls on two new threads.
static int lives()
{
    float *x = room();
    for (int t = 0; t < wanted; t++) {
        std::vector<std::thread> workers;
        for (int k = 0; k < 2; k++)
            workers.emplace_back([=] {
                float value = 1;
                cudaMemcpy(x + k, &value, sizeof(value), cudaMemcpyHostToDevice);
                advance_30us<<<4, 64>>>(x);
                limit_20us<<<4, 64>>>(x);
                read(x);
            });
        for (auto &worker : workers)
            worker.join();
    }
    return wanted;
}

static void advance(float *x)
{
    for (int i = 0; i < 4; i++)
        advance_30us<<<4, 64>>>(x);
    cudaDeviceSynchronize();
}

// Each iteration makes all its calls in loops on three new threads.
static int parts()
{
    std::vector<float *> rooms{room(), room(), room()};
    for (int t = 0; t < wanted; t++) {
        std::vector<std::thread> workers;
        for (float *x : rooms)
            workers.emplace_back(advance, x);
        for (auto &worker : workers)
            worker.join();
    }
    return wanted;
}

// Three threads for the whole run, with a barrier in each iteration.
static int in_turns()
{
    std::mutex mutex;
    std::condition_variable changed;
    int arrived = 0;
    auto work = [&] {
        float *x = room();
        for (int t = 0; t < wanted; t++) {
            advance(x);
            std::unique_lock<std::mutex> lock(mutex);
            arrived++;
            changed.notify_all();
            changed.wait(lock, [&] { return arrived >= 3 * (t + 1); });
            lock.unlock();
            read(x);
        }
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 3; i++)
        threads.emplace_back(work);
    for (auto &thread : threads)
        thread.join();
    return wanted;
}

// One launch in an iteration, and a copy after every hundredth: three launches in a row often
// extend over the copy.
static int one_launch()
{
    float *x = room();
    for (int t = 0; t < wanted; t++) {
        advance_30us<<<4, 64>>>(x);
        if (t % 100 == 99)
            read(x);
    }
    return wanted;
}

// Two launches in an iteration, and more after every seventh.
static int two_launches()
{
    float *x = room();
    for (int t = 0; t < wanted; t++) {
        advance_30us<<<4, 64>>>(x);
        limit_20us<<<4, 64>>>(x);
        if (t % 7 == 6) {
            reduce_15us<<<1, 64>>>(x);
            read(x);
        }
    }
    return wanted;
}

// From the middle on, a new thread makes the launches of each iteration.
static int threads_later()
{
    float *x = room();
    for (int t = 0; t < wanted; t++) {
        if (t < wanted / 2)
            advance(x);
        else
            std::thread(advance, x).join();
        read(x);
    }
    return wanted;
}

// A warm-up and a download, each in a loop of its own.
static int phases()
{
    float *x = room();
    for (int i = 0; i < 25; i++) {
        limit_20us<<<4, 64>>>(x);
        limit_20us<<<8, 64>>>(x);
        cudaDeviceSynchronize();
    }
    for (int t = 0; t < wanted; t++) {
        advance_30us<<<4, 64>>>(x);
        for (int k = 0; k < 3; k++)
            limit_20us<<<4, 64>>>(x);
        reduce_15us<<<1, 64>>>(x);
        cudaDeviceSynchronize();
    }
    for (int i = 0; i < 120; i++)
        read(x);
    return wanted;
}

// A draft proposes one to six tokens, one pass checks them, and chance decides how many are kept.
static int speculative()
{
    float *x = room();
    unsigned chance = 7;
    for (int prompt = 0; prompt < 6; prompt++) {
        limit_20us<<<prompt + 20, 64>>>(x);
        for (int round = 0; round < 10; round++) {
            int n = 1 + chance % 6;
            for (int i = 0; i < n; i++) {
                advance_30us<<<4, 64>>>(x);
                if (i + prompt > 4)
                    limit_20us<<<4, 64>>>(x);
            }
            limit_20us<<<8 + n, 64>>>(x);
            chance = chance * 1103515245u + 12345;
            int kept = (int)(chance >> 16) % (n + 1);
            if (kept == n)
                limit_20us<<<2, 64>>>(x);
            else if (kept)
                reduce_15us<<<(unsigned)kept, 64>>>(x);
            read(x);
            if (kept < n / 2)
                advance_30us<<<1, 64>>>(x);
            chance = chance >> 8 | chance << 24;
        }
    }
    return 60;
}

// All layers of a token are alike. No call shows where a prompt begins.
static int decode()
{
    float *x = room();
    for (int prompt = 0; prompt < 4; prompt++)
        for (int token = 0; token < 50; token++) {
            void *workspace;
            cudaMalloc(&workspace, 1 << 20);
            for (int layer = 0; layer < 24; layer++)
                limit_20us<<<4, 64>>>(x);
            cudaDeviceSynchronize();
            cudaFree(workspace);
        }
    return 200;
}

// Waits for another thread in a loop of its own. The compiler makes one loop of both.
static int polls()
{
    static std::atomic<int> ready;
    float *x = room();
    std::thread producer([] {
        for (int i = 0; i < 70; i++) {
            std::this_thread::sleep_for(std::chrono::microseconds(300));
            ready++;
        }
    });
    for (int i = 0; i < 70; i++) {
        while (ready.load() <= i)
            std::this_thread::yield();
        for (int k = 0; k < 5; k++)
            limit_20us<<<4, 64>>>(x);
        cudaDeviceSynchronize();
    }
    producer.join();
    return 70;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        int (*run)();
    } kinds[] = {
        { "stages", stages },       { "solver", solver },       { "devices", devices },
        { "pool", pool },           { "recursion", recursion }, { "callbacks", callbacks },
        { "threads", threads },     { "branches", branches },   { "lives", lives },
        { "parts", parts },         { "speculative", speculative },
        { "phases", phases },       { "threads_later", threads_later },
        { "decode", decode },       { "polls", polls },
        { "in_turns", in_turns },   { "one_launch", one_launch }, { "two_launches", two_launches },
    };
    wanted = argc > 2 ? atoi(argv[2]) : wanted;
    for (auto &kind : kinds)
        if (argc > 1 && !strcmp(argv[1], kind.name)) {
            printf("%d\n", kind.run());
            cudaDeviceSynchronize();
            return 0;
        }
    return 2;
}
