// step: loop at line 37; iterations 569
// Discrete events after ns-3 and ROSS: a priority queue of events, each a std::function that may
// launch kernels and schedule further events.
#include <cuda_runtime.h>
#include <cstdio>
#include <functional>
#include <queue>
#include <random>
#include <vector>

__global__ void transmit(float *q, int n) { if (threadIdx.x < n) q[threadIdx.x] += 1; }
__global__ void route(float *q, int n) { if (threadIdx.x < n) q[threadIdx.x] *= 0.9f; }
__global__ void drop(float *q) { q[0] = 0; }
__global__ void statistics(const float *q, float *out) { atomicAdd(out, q[threadIdx.x]); }

struct Event {
	double time;
	std::function<void()> action;
	bool operator>(const Event &other) const { return time > other.time; }
};

class Simulator {
	std::priority_queue<Event, std::vector<Event>, std::greater<Event>> events;
	double now = 0;
	bool stopped = false;

public:
	int processed = 0;
	double time() const { return now; }
	void schedule(double delay, std::function<void()> action)
	{
		events.push({now + delay, std::move(action)});
	}
	void stop() { stopped = true; }
	void run()
	{
		while (!events.empty() && !stopped) {
			Event next = events.top();
			events.pop();
			now = next.time;
			next.action();
			processed++;
		}
	}
};

class Network {
	Simulator &simulator;
	std::mt19937 random{4};
	float *queues, *totals;
	double uniform(double low, double high)
	{
		return low + (high - low) * (random() / 4294967296.0);
	}

public:
	explicit Network(Simulator &s) : simulator(s)
	{
		cudaMalloc(&queues, 4096);
		cudaMalloc(&totals, 64);
		cudaMemset(queues, 0, 4096);
	}
	void send(int node)
	{
		transmit<<<1, 64>>>(queues + node * 64, 64);
		simulator.schedule(uniform(0.1, 0.4), [this, node] { receive((node + 1) % 8, 3); });
		simulator.schedule(uniform(0.5, 1.5), [this, node] { send(node); });
	}
	void receive(int node, int hops)
	{
		if (uniform(0, 1) < 0.1) {
			drop<<<1, 1>>>(queues + node * 64);
			return;
		}
		route<<<2, 64>>>(queues + node * 64, 64);
		route<<<4, 64>>>(queues + node * 64, 64);
		if (hops)
			simulator.schedule(0.2, [=] { receive((node + 3) % 8, hops - 1); });
		else
			cudaMemcpyAsync(totals, queues, 64, cudaMemcpyDeviceToDevice);
	}
	void report()
	{
		float host[16];
		for (int node = 0; node < 8; node++)
			statistics<<<1, 64>>>(queues + node * 64, totals);
		cudaMemcpy(host, totals, sizeof host, cudaMemcpyDeviceToHost);
		printf("t = %.1f\n", simulator.time());
		simulator.schedule(4.0, [this] { report(); });
	}
};

int main()
{
	Simulator simulator;
	Network network(simulator);
	for (int node = 0; node < 4; node++)
		simulator.schedule(0.05 * node, [&network, node] { network.send(node); });
	simulator.schedule(4.0, [&network] { network.report(); });
	simulator.schedule(30.0, [&simulator] { simulator.stop(); });
	simulator.run();
	printf("COUNT %d\n", simulator.processed);
}
