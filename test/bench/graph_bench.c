/*
 * `graph_bench NAME BUDGET_NS [lock]`: what CUDA graphs cost under the library: 10,000 calls that
 * are captured into 50 graphs, by time and room in the journal, and each launch of a graph
 * afterwards.
 * Run by graph_bench.sh in each state of the library, on a runtime whose calls do nothing. With
 * `lock` it acts as the collector: each launch of all graphs is a step.
 */
#include "test/bench/bench.h"

#include <cuda_runtime_api.h>

__typeof__(cudaLaunchKernel) bare_cudaLaunchKernel;
__typeof__(cudaGraphLaunch) bare_cudaGraphLaunch;
__typeof__(cudaStreamBeginCapture) bare_cudaStreamBeginCapture;
__typeof__(cudaStreamEndCapture) bare_cudaStreamEndCapture;

enum { GRAPHS = 50, NODES = 200, ROUNDS = 31, LAUNCHES = 100000 };

static cudaGraphExec_t execs[GRAPHS];
static char kernels[NODES], a_stream;
static const cudaStream_t stream = (cudaStream_t)&a_stream;

/* The calls of a model come from many lines. */
#define LAUNCH(i)   launch(&kernels[i], (dim3){ 64, 1, 1 }, (dim3){ 256, 1, 1 }, NULL, 0, stream)
#define LAUNCH_5(i) LAUNCH(i), LAUNCH((i) + 1), LAUNCH((i) + 2), LAUNCH((i) + 3), LAUNCH((i) + 4)

static void launch_nodes(__typeof__(cudaLaunchKernel) *launch)
{
	for (int i = 0; i < NODES; i += 20)
		LAUNCH_5(i), LAUNCH_5(i + 5), LAUNCH_5(i + 10), LAUNCH_5(i + 15);
}

/* Returns ns per captured call. */
static double capture_all(void)
{
	double begin = bench_now_ns();
	for (int i = 0; i < GRAPHS; i++) {
		cudaGraph_t graph;
		cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal);
		launch_nodes(cudaLaunchKernel);
		cudaStreamEndCapture(stream, &graph);
		cudaGraphInstantiate(&execs[i], graph, 0);
	}
	return (bench_now_ns() - begin) / (GRAPHS * NODES);
}

static double replay_all(__typeof__(cudaGraphLaunch) *launch)
{
	double begin = bench_now_ns();
	for (int i = 0; i < LAUNCHES; i++)
		launch(execs[i % GRAPHS], stream);
	return (bench_now_ns() - begin) / LAUNCHES;
}

static void pass(void)
{
	replay_all(cudaGraphLaunch);
}

static bool lock(struct journal_header *h)
{
	uint64_t last[3];
	for (int i = 0; i < 3; i++)
		last[i] = token_graph((uintptr_t)execs[GRAPHS - 3 + i]);
	return h && bench_lock_on(h, token_trigram(last[0], last[1], last[2]), GRAPHS, pass);
}

static double used_kb(const struct journal_header *h)
{
	return h ? (double)(atomic_load(&h->chunk_claims) * h->chunk_bytes) / 1000 : 0;
}

int main(int argc, char **argv)
{
	double bare[ROUNDS], hooked[ROUNDS], added[ROUNDS];
	if (argc < 3)
		return 2;
	launch_nodes(cudaLaunchKernel);
	struct journal_header *h = bench_map_journal(64 << 20);
	double before_kb = used_kb(h), capture_ns = capture_all(), after_kb = used_kb(h);
	if (argc > 3 && !lock(h)) {
		fprintf(stderr, "graph_bench: the library did not lock on the anchor\n");
		return 1;
	}
	for (int i = 0; i < ROUNDS; i++) {
		bare[i] = replay_all(bare_cudaGraphLaunch);
		hooked[i] = replay_all(cudaGraphLaunch);
		added[i] = hooked[i] - bare[i];
	}
	double b = bench_median(bare, ROUNDS), m = bench_median(hooked, ROUNDS),
	       a = bench_median(added, ROUNDS);
	printf("%-34s %7.1f %7.1f %7.1f %7s %9.0f %7.0f\n", argv[1], b, m, a, argv[2], capture_ns,
	       after_kb - before_kb);
	return 0;
}
