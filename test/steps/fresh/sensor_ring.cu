// step: loop at line 99; iterations 200
// Producer and consumer: one thread acquires packets into a ring, another filters them on the GPU.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <thread>
#include <cuda_runtime.h>

#define CUDACHECK(cmd) do { cudaError_t e = cmd; if (e != cudaSuccess) { \
	printf("Failed: Cuda error %s:%d '%s'\n", __FILE__, __LINE__, cudaGetErrorString(e)); \
	exit(EXIT_FAILURE); } } while (0)

static const int SAMPLES = 1 << 14, TAPS = 32, DEPTH = 6, PACKETS = 200;

__global__ void fir(const short *in, float *out, const float *taps)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	float acc = 0;
	for (int t = 0; t < TAPS && t <= i; t++)
		acc += in[i - t] * taps[t];
	out[i] = acc;
}
__global__ void detect(const float *x, int *hits, float threshold)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (fabsf(x[i]) > threshold)
		atomicAdd(hits, 1);
}

template <typename T> class BlockingQueue {
	std::mutex mutex_;
	std::condition_variable notEmpty_, notFull_;
	T items_[DEPTH];
	size_t head_ = 0, count_ = 0;
	bool closed_ = false;

public:
	void push(T item)
	{
		std::unique_lock<std::mutex> lock(mutex_);
		notFull_.wait(lock, [this] { return count_ < DEPTH; });
		items_[(head_ + count_++) % DEPTH] = item;
		notEmpty_.notify_one();
	}
	std::optional<T> pop()
	{
		std::unique_lock<std::mutex> lock(mutex_);
		notEmpty_.wait(lock, [this] { return count_ || closed_; });
		if (!count_)
			return std::nullopt;
		T item = items_[head_];
		head_ = (head_ + 1) % DEPTH, count_--;
		notFull_.notify_one();
		return item;
	}
	void close()
	{
		std::lock_guard<std::mutex> lock(mutex_);
		closed_ = true;
		notEmpty_.notify_all();
	}
};

int main()
{
	BlockingQueue<short *> full, empty;
	short *buffers[DEPTH];
	for (auto &b : buffers) {
		CUDACHECK(cudaHostAlloc(&b, SAMPLES * sizeof(short), cudaHostAllocDefault));
		empty.push(b);
	}

	std::thread producer([&] {
		for (int n = 0; n < PACKETS; n++) {
			short *b = *empty.pop();
			for (int i = 0; i < SAMPLES; i++)
				b[i] = (short)((i * 7 + n * 13) & 0xfff);
			std::this_thread::sleep_for(std::chrono::microseconds(300));
			full.push(b);
		}
		full.close();
	});

	std::thread consumer([&] {
		short *in;
		float *out, *taps, weights[TAPS];
		int *hits, found, total = 0;
		for (int t = 0; t < TAPS; t++)
			weights[t] = 1.0f / TAPS;
		CUDACHECK(cudaMalloc(&in, SAMPLES * sizeof(short)));
		CUDACHECK(cudaMalloc(&out, SAMPLES * sizeof(float)));
		CUDACHECK(cudaMalloc(&taps, sizeof weights));
		CUDACHECK(cudaMalloc(&hits, sizeof(int)));
		CUDACHECK(cudaMemcpy(taps, weights, sizeof weights, cudaMemcpyHostToDevice));
		while (auto packet = full.pop()) {
			CUDACHECK(cudaMemcpy(in, *packet, SAMPLES * sizeof(short),
					     cudaMemcpyHostToDevice));
			empty.push(*packet);
			CUDACHECK(cudaMemset(hits, 0, sizeof(int)));
			fir<<<SAMPLES / 256, 256>>>(in, out, taps);
			detect<<<SAMPLES / 256, 256>>>(out, hits, 2000.f);
			CUDACHECK(cudaMemcpy(&found, hits, sizeof(int), cudaMemcpyDeviceToHost));
			total += found;
		}
		printf("%d samples above the threshold\n", total);
		cudaFree(in), cudaFree(out), cudaFree(taps), cudaFree(hits);
	});
	producer.join();
	consumer.join();
	for (auto &b : buffers)
		cudaFreeHost(b);
}
