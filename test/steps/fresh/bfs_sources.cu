// step: loop at line 82; iterations 20; or: loop at line 88; iterations 480
// Distances in a street grid from several depots: breadth-first search, one launch pair per level.
#include <cuda_runtime.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#define CHK(e)                                                                                     \
	do {                                                                                       \
		if (cudaError_t r = (e)) {                                                         \
			fprintf(stderr, "%s\n", cudaGetErrorString(r));                            \
			abort();                                                                   \
		}                                                                                  \
	} while (0)

struct Graph {
	std::vector<int> offsets{0}, edges;
	int width, height;
	Graph(int w, int h) : width(w), height(h)
	{
		for (int v = 0; v < w * h; v++) {
			int x = v % w, y = v / w;
			if (x > 0) edges.push_back(v - 1);
			if (x < w - 1) edges.push_back(v + 1);
			if (y > 0) edges.push_back(v - w);
			if (y < h - 1) edges.push_back(v + w);
			offsets.push_back(edges.size());
		}
	}
	int size() const { return width * height; }
	// The number of levels of a search from v.
	int eccentricity(int v) const
	{
		int x = v % width, y = v / width;
		return std::max(x, width - 1 - x) + std::max(y, height - 1 - y);
	}
};

__global__ void expand(const int *off, const int *adj, const char *frontier, char *next, int *cost,
		       int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n || !frontier[v])
		return;
	for (int e = off[v]; e < off[v + 1]; e++)
		if (cost[adj[e]] < 0) {
			cost[adj[e]] = cost[v] + 1;
			next[adj[e]] = 1;
		}
}
__global__ void advance(char *frontier, char *next, int *visited, int n)
{
	int v = blockIdx.x * blockDim.x + threadIdx.x;
	if (v >= n)
		return;
	if (next[v])
		atomicAdd(visited, 1);
	frontier[v] = next[v];
	next[v] = 0;
}

template <class T> T *toDevice(const std::vector<T> &v)
{
	T *p;
	CHK(cudaMalloc(&p, v.size() * sizeof(T)));
	CHK(cudaMemcpy(p, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
	return p;
}

int main()
{
	Graph g(32, 16);
	const int n = g.size(), sources = 20, T = 256, B = (n + T - 1) / T;
	int *off = toDevice(g.offsets), *adj = toDevice(g.edges);
	std::vector<char> mark(n);
	std::vector<int> dist(n, -1);
	char *frontier = toDevice(mark), *next = toDevice(mark);
	int *cost = toDevice(dist), *visited = toDevice(std::vector<int>{0});
	std::vector<long> centrality(n, 0);

	for (int s = 0; s < sources; s++) {
		int source = 8 * g.width + 16 - s % 2, zero = 0, reached = 0, one = 1;
		CHK(cudaMemset(frontier, 0, n));
		CHK(cudaMemset(cost, 0xff, n * sizeof(int)));
		CHK(cudaMemcpy(frontier + source, &one, 1, cudaMemcpyHostToDevice));
		CHK(cudaMemcpy(cost + source, &zero, sizeof zero, cudaMemcpyHostToDevice));
		for (int level = 0, depth = g.eccentricity(source); level < depth; level++) {
			CHK(cudaMemset(visited, 0, sizeof(int)));
			expand<<<B, T>>>(off, adj, frontier, next, cost, n);
			advance<<<B, T>>>(frontier, next, visited, n);
			int found;
			CHK(cudaMemcpy(&found, visited, sizeof(int), cudaMemcpyDeviceToHost));
			reached += found;
		}
		CHK(cudaMemcpy(dist.data(), cost, n * sizeof(int), cudaMemcpyDeviceToHost));
		for (int v = 0; v < n; v++)
			centrality[v] += dist[v] + reached % 2;
	}
	printf("centre of the grid: %ld\n", centrality[n / 2]);
	cudaFree(off), cudaFree(adj), cudaFree(frontier), cudaFree(next), cudaFree(cost),
		cudaFree(visited);
}
