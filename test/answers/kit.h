/*
 * Shared by the C++ programs of the answer-key suite, like kit.py by those in Python: a loop that
 * measures itself as the environment says (FIXED, ROUNDS, STEPS), and kernels that spin for the
 * time in their name.
 */
#ifndef ANSWERS_KIT_H
#define ANSWERS_KIT_H

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <cuda_runtime_api.h>
#include <string>
#include <vector>

namespace kit
{
constexpr int warm = 10; /* steps before the measured ones */

inline int setting(const char *name, int otherwise)
{
	const char *text = getenv(name);
	return text && *text ? atoi(text) : otherwise;
}

inline void check(cudaError_t status)
{
	if (status == cudaSuccess)
		return;
	fprintf(stderr, "CUDA error %d\n", status);
	exit(1);
}

inline double now_us()
{
	using namespace std::chrono;
	return duration<double, std::micro>(steady_clock::now().time_since_epoch()).count();
}

/* Returns the CPU time of the calling thread, in microseconds. */
inline double thread_us()
{
	timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return 1e6 * (double)t.tv_sec + 1e-3 * (double)t.tv_nsec;
}

/* Host work that needs the CPU for this long, whatever else the machine does. */
inline void spin(double us)
{
	double end = thread_us() + us;
	while (thread_us() < end)
		;
}

inline cudaStream_t stream()
{
	cudaStream_t made;
	check(cudaStreamCreateWithFlags(&made, cudaStreamNonBlocking));
	return made;
}

inline cudaEvent_t event()
{
	cudaEvent_t made;
	check(cudaEventCreateWithFlags(&made, cudaEventDisableTiming));
	return made;
}

/* Keeps the host at most two steps ahead of the device. */
struct pace {
	cudaEvent_t done[2] = { event(), event() };

	void wait(int i)
	{
		check(cudaEventSynchronize(done[i % 2]));
	}
	void mark(int i, cudaStream_t stream)
	{
		check(cudaEventRecord(done[i % 2], stream));
	}
};

/* A kernel that spins for the N microseconds of its name's _Nus. */
inline cudaKernel_t kernel(const std::string &name)
{
	std::string ns = std::to_string(std::stoi(name.substr(name.rfind('_') + 1)) * 1000);
	std::string ptx =
		".version 7.0\n.target sm_75\n.address_size 64\n.visible .entry " + name +
		"()\n{\n.reg .u64 %begin, %now;\n.reg .pred %busy;\nmov.u64 %begin, %globaltimer;\n"
		"wait:\nmov.u64 %now, %globaltimer;\nsub.u64 %now, %now, %begin;\n"
		"setp.lt.u64 %busy, %now, " +
		ns + ";\n@%busy bra wait;\nret;\n}\n";
	cudaLibrary_t library;
	cudaKernel_t made;
	check(cudaLibraryLoadData(&library, ptx.c_str(), nullptr, nullptr, 0, nullptr, nullptr, 0));
	check(cudaLibraryGetKernel(&made, library, name.c_str()));
	return made;
}

/* Milliseconds per step of one loop. */
template <typename Step> double run(Step &step, bool fixed, int steps)
{
	double begin = 0;
	for (int i = 0; i < warm + steps; i++) {
		if (i == warm) {
			check(cudaDeviceSynchronize());
			begin = now_us();
		}
		step(i, fixed);
	}
	check(cudaDeviceSynchronize());
	return (now_us() - begin) / steps / 1000;
}

inline double median(std::vector<double> values)
{
	std::sort(values.begin(), values.end());
	return values[values.size() / 2];
}

/* step(i, fixed) is one step. */
template <typename Step> int measure(Step step)
{
	int rounds = setting("ROUNDS", 0), steps = setting("STEPS", 60);
	bool is_fixed = setting("FIXED", 0);
	std::vector<double> slow, fixed;
	for (int i = 0; i < rounds; i++) {
		slow.push_back(run(step, false, steps));
		fixed.push_back(run(step, true, steps));
	}
	if (!rounds)
		(is_fixed ? fixed : slow).push_back(run(step, is_fixed, steps));
	printf("{\"steps\": %d", warm + steps);
	if (!slow.empty())
		printf(", \"slow_ms\": %.6f", median(slow));
	if (!fixed.empty())
		printf(", \"fixed_ms\": %.6f", median(fixed));
	puts("}");
	return 0;
}

/* make(stream) makes the calls to capture. */
template <typename Make> cudaGraphExec_t captured(cudaStream_t stream, Make make)
{
	cudaGraph_t graph;
	cudaGraphExec_t exec;
	check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
	make(stream);
	check(cudaStreamEndCapture(stream, &graph));
	check(cudaGraphInstantiate(&exec, graph, 0));
	check(cudaGraphDestroy(graph));
	return exec;
}

/* A step is one launch of the graph that make(stream, fixed) makes. */
template <typename Make> int measure_graphs(cudaStream_t stream, Make make)
{
	cudaGraphExec_t slow = captured(stream, [&](cudaStream_t s) { make(s, false); });
	cudaGraphExec_t good = captured(stream, [&](cudaStream_t s) { make(s, true); });
	pace pace;
	return measure([&](int i, bool fixed) {
		pace.wait(i);
		check(cudaGraphLaunch(fixed ? good : slow, stream));
		pace.mark(i, stream);
	});
}
} // namespace kit

/* A macro, so that the line of the call is the program's. */
#define LAUNCH(kernel, stream) \
	kit::check(cudaLaunchKernel((const void *)(kernel), dim3(1), dim3(32), nullptr, 0, stream))

#endif
