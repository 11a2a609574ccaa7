// step: loop at line 82; iterations 150; or: loop at line 117; iterations 150
// Video analytics after NVIDIA-AI-IOT/deepstream and dusty-nv/jetson-inference: decode, infer and
// encode are threads with bounded queues between them; a batch of regions varies by frame.
#include <cuda_runtime.h>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#define CU(x) if (cudaError_t e = (x); e != cudaSuccess) { \
	fprintf(stderr, "%s\n", cudaGetErrorString(e)); exit(1); }

__global__ void nv12ToRgb(const unsigned char *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		out[i] = in[i] / 255.0f;
}
__global__ void convolve(const float *in, float *out, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i > 0 && i < n - 1)
		out[i] = in[i - 1] - 2 * in[i] + in[i + 1];
}
__global__ void classify(const float *in, float *out, int region)
{
	out[region] += in[threadIdx.x + region * 32];
}
__global__ void overlay(float *image, const float *scores, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		image[i] += scores[i & 7];
}

template <typename T> class BlockingQueue {
	std::deque<T> items;
	std::mutex mutex;
	std::condition_variable changed;
	size_t limit;

public:
	explicit BlockingQueue(size_t limit) : limit(limit) {}
	void push(T item)
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [this] { return items.size() < limit; });
		items.push_back(std::move(item));
		changed.notify_all();
	}
	T pop()
	{
		std::unique_lock<std::mutex> lock(mutex);
		changed.wait(lock, [this] { return !items.empty(); });
		T item = std::move(items.front());
		items.pop_front();
		changed.notify_all();
		return item;
	}
};

struct Frame {
	int number, regions;
	float *image, *scores;
	cudaEvent_t ready;
};
using Queue = BlockingQueue<std::optional<Frame>>;

static const int FRAMES = 150, N = 64 * 1024, POOL = 4;

static void decode(Queue &pool, Queue &out)
{
	cudaStream_t stream;
	unsigned char *bits, *host;
	CU(cudaStreamCreate(&stream));
	CU(cudaMalloc(&bits, N));
	CU(cudaMallocHost(&host, N));
	for (int number = 0; number < FRAMES; number++) {
		Frame frame = *pool.pop();
		frame.number = number, frame.regions = number % 4;
		CU(cudaMemcpyAsync(bits, host, N, cudaMemcpyHostToDevice, stream));
		nv12ToRgb<<<N / 256, 256, 0, stream>>>(bits, frame.image, N);
		CU(cudaEventRecord(frame.ready, stream));
		out.push(frame);
	}
	out.push(std::nullopt);
}

static void infer(Queue &in, Queue &out)
{
	cudaStream_t stream;
	float *hidden;
	CU(cudaStreamCreate(&stream));
	CU(cudaMalloc(&hidden, N * sizeof(float)));
	while (auto frame = in.pop()) {
		CU(cudaStreamWaitEvent(stream, frame->ready, 0));
		convolve<<<N / 256, 256, 0, stream>>>(frame->image, hidden, N);
		convolve<<<N / 256, 256, 0, stream>>>(hidden, frame->image, N);
		for (int region = 0; region < frame->regions; region++)
			classify<<<1, 32, 0, stream>>>(hidden, frame->scores, region);
		CU(cudaEventRecord(frame->ready, stream));
		out.push(frame);
	}
	out.push(std::nullopt);
}

static int encode(Queue &in, Queue &pool)
{
	int written = 0;
	std::vector<float> host(N);
	cudaStream_t stream;
	CU(cudaStreamCreate(&stream));
	for (;;) {
		auto frame = in.pop();
		if (!frame)
			break;
		CU(cudaStreamWaitEvent(stream, frame->ready, 0));
		overlay<<<N / 256, 256, 0, stream>>>(frame->image, frame->scores, N);
		CU(cudaMemcpyAsync(host.data(), frame->image, N * sizeof(float),
				   cudaMemcpyDeviceToHost, stream));
		CU(cudaStreamSynchronize(stream));
		written++;
		pool.push(frame);
	}
	return written;
}

int main()
{
	Queue pool(POOL), decoded(POOL), inferred(POOL);
	for (int n = 0; n < POOL; n++) {
		Frame frame = {};
		CU(cudaMalloc(&frame.image, N * sizeof(float)));
		CU(cudaMalloc(&frame.scores, 8 * sizeof(float)));
		CU(cudaEventCreateWithFlags(&frame.ready, cudaEventDisableTiming));
		pool.push(frame);
	}
	std::thread first([&] { decode(pool, decoded); }),
		second([&] { infer(decoded, inferred); });
	int written = encode(inferred, pool);
	first.join();
	second.join();
	printf("COUNT %d\n", written);
}
