// Known work of the CPU between two CUDA calls, for the tests of host samples of native code.
//   host_native ITERATIONS [PART...]        default: all parts
// Each iteration calls the functions of the parts, one after the other, and then copies to the GPU
// and synchronizes. Prints, as JSON, how many seconds each part took. With ON_CPU=N, the main
// thread runs on that CPU only, and after all others.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <mutex>
#include <sched.h>
#include <thread>
#include <unistd.h>

// On a busy machine, samples are some milliseconds apart. Parts must not be shorter.
static const double part_s = 0.01;
static std::mutex held;
static int to_helper[2], from_helper[2];

static double now_s()
{
	timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void nap()
{
	usleep((useconds_t)(part_s * 1e6));
}

// Holds the mutex, or delays a byte, for as long as a part takes.
static void help()
{
	char what;
	while (read(to_helper[0], &what, 1) == 1) {
		if (what == 'm')
			held.lock();
		if (what == 'm' && write(from_helper[1], "h", 1) != 1)
			std::exit(1);
		nap();
		if (what == 'm')
			held.unlock();
		else if (write(from_helper[1], "b", 1) != 1)
			std::exit(1);
	}
}

static void ask(char what)
{
	if (write(to_helper[1], &what, 1) != 1)
		std::exit(1);
}

static void read_byte()
{
	char byte;
	if (read(from_helper[0], &byte, 1) != 1)
		std::exit(1);
}

__attribute__((noinline)) static void spin_part()
{
	volatile double sum = 0;
	for (double end = now_s() + part_s; now_s() < end;)
		for (int i = 0; i < 1000; i++)
			sum = sum + i;
}

__attribute__((noinline)) static void sleep_part()
{
	char room[300];
	std::memset(room, 1, sizeof(room));
	nap();
	__asm__ volatile("" ::"r"(room) : "memory");
}

__attribute__((noinline)) static void wait_part()
{
	ask('m');
	read_byte();
	std::lock_guard<std::mutex> guard(held);
}

__attribute__((noinline)) static void read_part()
{
	ask('b');
	read_byte();
	__asm__ volatile("" ::: "memory");
}

static const struct {
	const char *name;
	std::function<void()> run;
} parts[] = {
	{ "spin_part", spin_part },
	{ "sleep_part", sleep_part },
	{ "wait_part", wait_part },
	{ "read_part", read_part },
};
enum { PARTS = sizeof(parts) / sizeof(*parts) };

static bool is_wanted(const char *name, int argc, char **argv)
{
	for (int i = 2; i < argc; i++)
		if (!std::strcmp(argv[i], name))
			return true;
	return argc == 2;
}

// Called after the first CUDA call, so that profrun's threads run on any CPU.
static void pin()
{
	const char *cpu = std::getenv("ON_CPU");
	cpu_set_t set;
	if (!cpu)
		return;
	CPU_ZERO(&set);
	CPU_SET(std::atoi(cpu), &set);
	sched_param none = {};
	if (sched_setaffinity(0, sizeof(set), &set) || sched_setscheduler(0, SCHED_IDLE, &none))
		std::exit(1);
}

static void must(cudaError_t status)
{
	if (status) {
		std::fprintf(stderr, "%s\n", cudaGetErrorString(status));
		std::exit(1);
	}
}

int main(int argc, char **argv)
{
	double took_s[PARTS] = {};
	char host[4096] = "";
	void *device;
	cudaStream_t stream;
	if (argc < 2 || pipe(to_helper) || pipe(from_helper))
		return 2;
	std::thread(help).detach();
	must(cudaMalloc(&device, sizeof(host)));
	must(cudaStreamCreate(&stream));
	pin();
	for (int i = 0; i < std::atoi(argv[1]); i++) {
		for (int k = 0; k < PARTS; k++) {
			if (!is_wanted(parts[k].name, argc, argv))
				continue;
			double begin_s = now_s();
			parts[k].run();
			took_s[k] += now_s() - begin_s;
		}
		must(cudaMemcpyAsync(device, host, sizeof(host), cudaMemcpyHostToDevice, stream));
		must(cudaStreamSynchronize(stream));
	}
	const char *separator = "{";
	for (int k = 0; k < PARTS; k++) {
		if (!is_wanted(parts[k].name, argc, argv))
			continue;
		std::printf("%s\"%s\": %f", separator, parts[k].name, took_s[k]);
		separator = ", ";
	}
	std::printf("}\n");
	std::fflush(stdout);
	_exit(0); // the helper still runs
}
