// step: loop at line 97; iterations 50
// Barnes-Hut after NVIDIA's cdpQuadtree sample and ChaNGa: each step builds a quadtree by recursion
// on the host, with one kernel for each node, and walks its leaves, also by recursion.
#include <cuda_runtime.h>
#include <array>
#include <cstdio>
#include <memory>
#include <random>
#include <vector>

#define CHECK(x) do { if (cudaError_t e = (x)) { printf("%s\n", cudaGetErrorString(e)); \
	return 1; } } while (0)

__global__ void moments(const float2 *x, int begin, int end, float *node)
{
	int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
	if (i < end)
		atomicAdd(node, x[i].x + x[i].y);
}
__global__ void combine(float *node, int children)
{
	node[0] += children;
}
__global__ void leafForces(const float2 *x, float2 *f, int begin, int end)
{
	int i = begin + blockIdx.x * blockDim.x + threadIdx.x;
	for (int k = begin; i < end && k < end; k++)
		f[i].x += x[i].x - x[k].x;
}
__global__ void push(float2 *x, const float2 *f, int n)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		x[i].x += 1e-3f * f[i].x;
}

struct Node {
	int begin, end;
	std::array<std::unique_ptr<Node>, 4> children;
	bool leaf() const { return !children[0]; }
};

class Tree {
	std::mt19937 random{11};
	float2 *x, *f;
	float *mass;
	static const int LEAF = 600;

public:
	int nodes = 0;
	Tree(float2 *x, float2 *f, float *mass) : x(x), f(f), mass(mass) {}

	std::unique_ptr<Node> build(int begin, int end, int depth)
	{
		auto node = std::make_unique<Node>();
		node->begin = begin, node->end = end;
		nodes++;
		if (end - begin <= LEAF || depth == 4) {
			moments<<<(end - begin + 127) / 128 + 1, 128>>>(x, begin, end, mass);
			return node;
		}
		int at = begin;
		for (int c = 0; c < 4; c++) {
			int part = 10 + random() % 40, rest = end - at;
			int share = c == 3 ? rest : rest * part / 100;
			node->children[c] = build(at, at + share, depth + 1);
			at += share;
		}
		combine<<<1, 32>>>(mass, 4);
		return node;
	}

	void walk(const Node &node)
	{
		if (node.leaf()) {
			leafForces<<<(node.end - node.begin + 63) / 64 + 1, 64>>>(x, f, node.begin,
										  node.end);
			return;
		}
		for (auto &child : node.children)
			walk(*child);
	}
};

int main()
{
	const int n = 6000, steps = 50;
	float2 *x, *f;
	float *mass;
	CHECK(cudaMalloc(&x, n * sizeof(float2)));
	CHECK(cudaMalloc(&f, n * sizeof(float2)));
	CHECK(cudaMalloc(&mass, sizeof(float)));
	std::vector<float2> host(n);
	CHECK(cudaMemcpy(x, host.data(), n * sizeof(float2), cudaMemcpyHostToDevice));
	Tree tree(x, f, mass);
	int done = 0;
	for (int step = 0; step < steps; ++step) {
		CHECK(cudaMemset(f, 0, n * sizeof(float2)));
		auto root = tree.build(0, n, 0);
		tree.walk(*root);
		push<<<(n + 127) / 128, 128>>>(x, f, n);
		done++;
	}
	CHECK(cudaDeviceSynchronize());
	printf("COUNT %d %d\n", done, tree.nodes);
}
