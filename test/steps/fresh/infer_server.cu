// step: loop at line 90; iterations 240
// Inference server: clients put requests into a queue, a pool of workers runs the network.
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <future>
#include <mutex>
#include <queue>
#include <thread>
#include <vector>
#include <cuda_runtime.h>

#define CUDA_OK(expr)                                                                              \
	do {                                                                                       \
		if (auto rc = (expr); rc != cudaSuccess) {                                         \
			fprintf(stderr, "CUDA: %s at line %d\n", cudaGetErrorString(rc),           \
				__LINE__);                                                         \
			exit(1);                                                                   \
		}                                                                                  \
	} while (false)

constexpr int kDim = 256, kLayers = 6, kBatch = 16;

__global__ void linear(const float *x, const float *w, float *y)
{
	int row = blockIdx.x, col = threadIdx.x;
	float s = 0;
	for (int k = 0; k < kDim; k++)
		s += x[row * kDim + k] * w[k * kDim + col];
	y[row * kDim + col] = s;
}
__global__ void relu(float *y)
{
	int i = blockIdx.x * kDim + threadIdx.x;
	y[i] = y[i] > 0 ? y[i] : 0;
}

struct Request {
	std::vector<float> input;
	std::promise<std::vector<float>> reply;
};

class Model {
	std::vector<float *> weights;
	float *a, *b;
	cudaStream_t stream;

public:
	Model()
	{
		CUDA_OK(cudaStreamCreate(&stream));
		CUDA_OK(cudaMalloc(&a, kBatch * kDim * sizeof(float)));
		CUDA_OK(cudaMalloc(&b, kBatch * kDim * sizeof(float)));
		std::vector<float> init(kDim * kDim, 0.01f);
		for (int l = 0; l < kLayers; l++) {
			float *w;
			CUDA_OK(cudaMalloc(&w, init.size() * sizeof(float)));
			CUDA_OK(cudaMemcpy(w, init.data(), init.size() * sizeof(float),
					   cudaMemcpyHostToDevice));
			weights.push_back(w);
		}
	}
	std::vector<float> forward(const std::vector<float> &in)
	{
		std::vector<float> out(in.size());
		size_t bytes = in.size() * sizeof(float);
		CUDA_OK(cudaMemcpyAsync(a, in.data(), bytes, cudaMemcpyHostToDevice, stream));
		for (float *w : weights) {
			linear<<<kBatch, kDim, 0, stream>>>(a, w, b);
			relu<<<kBatch, kDim, 0, stream>>>(b);
			std::swap(a, b);
		}
		CUDA_OK(cudaMemcpyAsync(out.data(), a, bytes, cudaMemcpyDeviceToHost, stream));
		CUDA_OK(cudaStreamSynchronize(stream));
		return out;
	}
};

class Server {
	std::queue<Request> queue;
	std::mutex m;
	std::condition_variable cv;
	bool stopping = false;
	std::vector<std::thread> pool;

	void worker()
	{
		Model model;
		while (true) {
			std::unique_lock<std::mutex> lock(m);
			cv.wait(lock, [this] { return stopping || !queue.empty(); });
			if (queue.empty())
				return;
			Request r = std::move(queue.front());
			queue.pop();
			lock.unlock();
			r.reply.set_value(model.forward(r.input));
		}
	}

public:
	explicit Server(int n)
	{
		for (int i = 0; i < n; i++)
			pool.emplace_back(&Server::worker, this);
	}
	std::future<std::vector<float>> submit(std::vector<float> x)
	{
		Request r{std::move(x), {}};
		auto f = r.reply.get_future();
		std::lock_guard<std::mutex> guard(m);
		queue.push(std::move(r));
		cv.notify_one();
		return f;
	}
	~Server()
	{
		{ std::lock_guard<std::mutex> guard(m); stopping = true; }
		cv.notify_all();
		for (auto &t : pool)
			t.join();
	}
};

int main()
{
	Server server(3);
	std::vector<std::future<std::vector<float>>> pending;
	for (int i = 0; i < 240; i++) {
		pending.push_back(server.submit(std::vector<float>(kBatch * kDim, i * 0.1f)));
		std::this_thread::sleep_for(std::chrono::microseconds(400));
	}
	float sum = 0;
	for (auto &f : pending)
		sum += f.get()[0];
	printf("%zu replies, sum %g\n", pending.size(), sum);
}
