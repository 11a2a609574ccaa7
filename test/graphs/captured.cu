// Graphs made in every way, whose kernels, copies and memsets say at which line they were captured
// (known.h).
//   captured SCENE [REPLAYS]
// Prints how much GPU work of graphs there was. Each replay ends with a synchronization, so replays
// are the steps.
#include "known.h"

#include <cstring>
#include <map>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

char *memory, *pinned;
static cudaStream_t stream, other, third;
static int replays = 40;
static long work; // launched by graphs

static void replay(cudaGraphExec_t exec, int nodes_each, int times = 0)
{
	for (int i = 0; i < (times ? times : replays); i++) {
		CHECK(cudaGraphLaunch(exec, stream));
		CHECK(cudaStreamSynchronize(stream));
		work += nodes_each;
	}
}

static void one_stream()
{
	BEGIN(stream);
	KERNEL(stream);
	MEMSET(stream);
	for (int i = 0; i < 3; i++)
		KERNEL(stream);
	COPY(stream);
	KERNEL(stream);
	replay(made(end(stream)), 7);
}

// Nothing but their order distinguishes these kernels.
static void alike_kernels()
{
	BEGIN(stream);
	for (int i = 0; i < 2; i++) {
		ALIKE(stream);
		ALIKE(stream);
		ALIKE(stream);
	}
	replay(made(end(stream)), 6);
}

static void fork_to(cudaStream_t from, cudaStream_t to)
{
	static cudaEvent_t event;
	CHECK(cudaEventCreate(&event));
	CHECK(cudaEventRecord(event, from));
	CHECK(cudaStreamWaitEvent(to, event, 0));
}

static void several_streams()
{
	BEGIN(stream);
	KERNEL(stream);
	fork_to(stream, other);
	fork_to(stream, third);
	KERNEL(other);
	KERNEL(stream);
	KERNEL(third);
	MEMSET(other);
	KERNEL(other);
	KERNEL(stream);
	COPY(third);
	fork_to(other, stream);
	fork_to(third, stream);
	KERNEL(stream);
	replay(made(end(stream)), 9);
}

static void child_graph()
{
	cudaGraphNode_t node;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	COPY(stream);
	cudaGraph_t child = end(stream), graph;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	graph = end(stream);
	CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
	CHECK(cudaGraphAddChildGraphNode(&node, graph, nullptr, 0, child));
	nodes after{ node };
	ADD_KERNEL(node, graph, after);
	CHECK(cudaGraphDestroy(child));
	replay(made(graph), 2 + 2 * 3 + 1);
}

// A child graph within a child graph, which is also a child of its own. Each has a node after it.
static void nested_children()
{
	cudaGraphNode_t node;
	cudaGraph_t middle, graph;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t inner = end(stream);
	CHECK(cudaGraphCreate(&middle, 0));
	nodes none;
	ADD_KERNEL(node, middle, none);
	nodes in_middle{ node };
	CHECK(cudaGraphAddChildGraphNode(&node, middle, in_middle.data(), 1, inner));
	in_middle = { node };
	ADD_KERNEL(node, middle, in_middle);
	CHECK(cudaGraphCreate(&graph, 0));
	ADD_KERNEL(node, graph, none);
	nodes after{ node };
	CHECK(cudaGraphAddChildGraphNode(&node, graph, after.data(), 1, middle));
	after = { node };
	CHECK(cudaGraphAddChildGraphNode(&node, graph, after.data(), 1, inner));
	after = { node };
	ADD_KERNEL(node, graph, after);
	replay(made(graph), 2 + 4 + 2);
}

static void host_function(void *) {}

static void explicit_nodes()
{
	cudaGraph_t graph;
	cudaGraphNode_t a, b, c, d, e;
	cudaHostNodeParams host = { host_function, nullptr };
	cudaGraphNodeParams any = {};
	CHECK(cudaGraphCreate(&graph, 0));
	nodes none;
	ADD_KERNEL(a, graph, none);
	nodes after_a{ a };
	CHECK(cudaGraphAddEmptyNode(&b, graph, after_a.data(), 1));
	CHECK(cudaGraphAddHostNode(&c, graph, after_a.data(), 1, &host));
	nodes both{ b, c };
	ADD_MEMSET(d, graph, both);
	ADD_COPY(e, graph, both);
	nodes last{ d, e };
	ADD_KERNEL(a, graph, last);
	any.type = cudaGraphNodeTypeKernel;
	any.kernel.gridDim = dim3(1);
	any.kernel.blockDim = dim3(32);
	any.kernel.func = (void *)at<__LINE__ + 1>;
	CHECK(cudaGraphAddNode(&a, graph, last.data(), nullptr, last.size(), &any));
	replay(made(graph), 5);
}

// A capture into a graph that has explicit nodes already.
static void capture_to_graph()
{
	cudaGraph_t graph, same;
	cudaGraphNode_t a;
	CHECK(cudaGraphCreate(&graph, 0));
	nodes none;
	ADD_KERNEL(a, graph, none);
	CHECK(cudaStreamBeginCaptureToGraph(stream, graph, &a, nullptr, 1,
					    cudaStreamCaptureModeThreadLocal));
	KERNEL(stream);
	MEMSET(stream);
	CHECK(cudaStreamEndCapture(stream, &same));
	nodes after{ a };
	ADD_KERNEL(a, graph, after);
	replay(made(graph), 4);
}

// Nodes that were destroyed leave holes in the numbers.
static void destroyed_nodes()
{
	cudaGraphNode_t list[8];
	size_t count = 8;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t graph = end(stream);
	CHECK(cudaGraphGetNodes(graph, list, &count));
	CHECK(cudaGraphDestroyNode(list[1]));
	CHECK(cudaGraphAddDependencies(graph, &list[0], &list[2], nullptr, 1));
	nodes last{ list[3] };
	ADD_KERNEL(list[1], graph, last);
	replay(made(graph), 4);
}

// The executable graph of the first capture runs the second one's kernels.
static void exec_update()
{
	cudaGraphExecUpdateResultInfo result;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t first = end(stream);
	cudaGraphExec_t exec = made(first);
	replay(exec, 2);
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t second = end(stream);
	CHECK(cudaGraphExecUpdate(exec, second, &result));
	CHECK(cudaGraphDestroy(first));
	CHECK(cudaGraphDestroy(second));
	replay(exec, 2);
}

// Other kernels and sizes are set in a graph and in an executable graph; the lines that set them
// are the truth.
static void set_params()
{
	cudaGraph_t graph;
	cudaGraphNode_t a, b, c;
	CHECK(cudaGraphCreate(&graph, 0));
	nodes none;
	ADD_KERNEL(a, graph, none);
	nodes after_a{ a };
	ADD_KERNEL(b, graph, after_a);
	nodes after_b{ b };
	ADD_MEMSET(c, graph, after_b);
	CHECK(cudaGraphKernelNodeSetParams(a, kernel_of((void *)at<__LINE__>)));
	cudaGraphExec_t exec = made(graph);
	replay(exec, 3);
	CHECK(cudaGraphExecKernelNodeSetParams(exec, b, kernel_of((void *)at<__LINE__>)));
	CHECK(cudaGraphExecMemsetNodeSetParams(exec, c, memset_of(__LINE__)));
	replay(exec, 3);
}

static void clones()
{
	cudaGraph_t clone, second;
	BEGIN(stream);
	KERNEL(stream);
	COPY(stream);
	KERNEL(stream);
	cudaGraph_t graph = end(stream);
	CHECK(cudaGraphClone(&clone, graph));
	CHECK(cudaGraphDestroy(graph));
	CHECK(cudaGraphClone(&second, clone));
	replay(made(clone), 3);
	replay(made(second), 3);
}

static void changed_clone()
{
	cudaGraph_t clone;
	cudaGraphNode_t a;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t graph = end(stream);
	CHECK(cudaGraphClone(&clone, graph));
	nodes none;
	ADD_KERNEL(a, clone, none);
	replay(made(clone), 3);
	replay(made(graph), 2);
}

static void two_instantiations()
{
	BEGIN(stream);
	KERNEL(stream);
	MEMSET(stream);
	KERNEL(stream);
	cudaGraph_t graph = end(stream);
	cudaGraphExec_t a = made(graph), b = made(graph);
	CHECK(cudaGraphDestroy(graph));
	for (int i = 0; i < replays; i++) {
		replay(a, 3, 1);
		replay(b, 3, 1);
	}
}

static void disabled_nodes()
{
	cudaGraphNode_t list[4];
	size_t count = 4;
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	KERNEL(stream);
	cudaGraph_t graph = end(stream);
	CHECK(cudaGraphGetNodes(graph, list, &count));
	cudaGraphExec_t exec = made(graph);
	CHECK(cudaGraphNodeSetEnabled(exec, list[1], 0));
	replay(exec, 2);
	CHECK(cudaGraphNodeSetEnabled(exec, list[1], 1));
	replay(exec, 3);
}

// The child may not use CUDA.
static void run_child()
{
	pid_t child = fork();
	if (!child)
		_exit(0);
	int status;
	waitpid(child, &status, 0);
	if (status)
		exit(1);
}

// A child process runs during the capture, and another one between capture and replay.
static void forked()
{
	BEGIN(stream);
	KERNEL(stream);
	run_child();
	KERNEL(stream);
	cudaGraphExec_t exec = made(end(stream));
	run_child();
	replay(exec, 2);
}

static cudaGraph_t one_of_three(int which)
{
	BEGIN(stream);
	if (which == 0) {
		KERNEL(stream);
		KERNEL(stream);
	} else if (which == 1) {
		KERNEL(stream);
		MEMSET(stream);
	} else {
		KERNEL(stream);
		KERNEL(stream);
	}
	return end(stream);
}

// Graphs are destroyed and others get their addresses.
static void made_again()
{
	std::map<void *, int> graphs, execs;
	for (int i = 0; i < replays; i++) {
		cudaGraph_t graph = one_of_three(i % 3);
		cudaGraphExec_t exec = made(graph);
		graphs[graph]++;
		execs[exec]++;
		CHECK(cudaGraphDestroy(graph));
		replay(exec, 2, 2);
		CHECK(cudaGraphExecDestroy(exec));
	}
	fprintf(stderr, "%zu addresses of graphs, %zu of executable graphs\n", graphs.size(),
		execs.size());
}

// Each step is captured anew, and updates one executable graph: its lines alternate.
static void recaptured()
{
	cudaGraphExecUpdateResultInfo result;
	cudaGraphExec_t exec = nullptr;
	for (int i = 0; i < replays; i++) {
		cudaGraph_t graph = one_of_three(i % 2 * 2);
		if (exec)
			CHECK(cudaGraphExecUpdate(exec, graph, &result));
		else
			exec = made(graph);
		CHECK(cudaGraphDestroy(graph));
		replay(exec, 2, 1);
	}
}

static void capture_modes()
{
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
	KERNEL(stream);
	cudaGraphExec_t a = made(end(stream));
	CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
	KERNEL(stream);
	cudaGraphExec_t b = made(end(stream));
	replay(a, 1);
	replay(b, 1);
}

// A capture that fails leaves nothing; the next one of the stream is whole.
static void failed_capture()
{
	cudaGraph_t graph;
	BEGIN(stream);
	KERNEL(stream);
	cudaStreamSynchronize(stream);
	if (cudaStreamEndCapture(stream, &graph) == cudaSuccess)
		exit(1);
	cudaGetLastError();
	BEGIN(stream);
	KERNEL(stream);
	KERNEL(stream);
	replay(made(end(stream)), 2);
}

// A thread captures while another one launches kernels of its own.
static void second_thread()
{
	cudaGraphExec_t exec = nullptr;
	std::thread capturing([&] {
		BEGIN(other);
		for (int i = 0; i < 20; i++) {
			KERNEL(other);
			ALIKE(other);
		}
		exec = made(end(other));
	});
	for (int i = 0; i < 20; i++) {
		KERNEL(stream);
		ALIKE(stream);
	}
	capturing.join();
	CHECK(cudaStreamSynchronize(stream));
	replay(exec, 40);
}

static void capture_many(int nodes_each, int variant)
{
	for (int i = 0; i < nodes_each / 8; i++) {
		KERNEL(stream);
		ALIKE(stream);
		MEMSET(stream);
		KERNEL(stream);
		if (variant % 2)
			KERNEL(stream);
		else
			ALIKE(stream);
		COPY(stream);
		KERNEL(stream);
		ALIKE(stream);
	}
}

static void many_graphs()
{
	std::vector<cudaGraphExec_t> all;
	for (int i = 0; i < 50; i++) {
		BEGIN(stream);
		capture_many(200, i);
		cudaGraph_t graph = end(stream);
		all.push_back(made(graph));
		CHECK(cudaGraphDestroy(graph));
	}
	for (int i = 0; i < replays; i++)
		replay(all[i * 7 % 50], 200, 1);
}

static cudaGraph_t conditional_body(cudaGraph_t graph, cudaGraphConditionalNodeType type)
{
	cudaGraphNode_t node;
	cudaGraphNodeParams p = {};
	p.type = cudaGraphNodeTypeConditional;
	CHECK(cudaGraphConditionalHandleCreate(&p.conditional.handle, graph, 1,
					       cudaGraphCondAssignDefault));
	p.conditional.type = type;
	p.conditional.size = 1;
	CHECK(cudaGraphAddNode(&node, graph, nullptr, nullptr, 0, &p));
	return p.conditional.phGraph_out[0];
}

static void conditional_nodes()
{
	cudaGraph_t graph, same;
	cudaGraphNode_t a;
	nodes none;
	CHECK(cudaGraphCreate(&graph, 0));
	ADD_KERNEL(a, graph, none);
	cudaGraph_t body = conditional_body(graph, cudaGraphCondTypeIf);
	CHECK(cudaStreamBeginCaptureToGraph(stream, body, nullptr, nullptr, 0,
					    cudaStreamCaptureModeThreadLocal));
	KERNEL(stream);
	KERNEL(stream);
	CHECK(cudaStreamEndCapture(stream, &same));
	ADD_KERNEL(a, graph, none);
	replay(made(graph), 4);
}

static const std::map<std::string, void (*)()> scenes{
	{ "one_stream", one_stream },
	{ "alike_kernels", alike_kernels },
	{ "several_streams", several_streams },
	{ "child_graph", child_graph },
	{ "nested_children", nested_children },
	{ "explicit_nodes", explicit_nodes },
	{ "capture_to_graph", capture_to_graph },
	{ "destroyed_nodes", destroyed_nodes },
	{ "exec_update", exec_update },
	{ "set_params", set_params },
	{ "clones", clones },
	{ "changed_clone", changed_clone },
	{ "two_instantiations", two_instantiations },
	{ "disabled_nodes", disabled_nodes },
	{ "forked", forked },
	{ "made_again", made_again },
	{ "recaptured", recaptured },
	{ "capture_modes", capture_modes },
	{ "failed_capture", failed_capture },
	{ "second_thread", second_thread },
	{ "many_graphs", many_graphs },
	{ "conditional_nodes", conditional_nodes },
};

int main(int argc, char **argv)
{
	auto scene = scenes.find(argc > 1 ? argv[1] : "");
	if (scene == scenes.end()) {
		for (auto &s : scenes)
			printf("%s\n", s.first.c_str());
		return 2;
	}
	if (argc > 2)
		replays = atoi(argv[2]);
	CHECK(cudaMalloc(&memory, BYTES));
	CHECK(cudaMallocHost(&pinned, BYTES));
	CHECK(cudaStreamCreate(&stream));
	CHECK(cudaStreamCreate(&other));
	CHECK(cudaStreamCreate(&third));
	scene->second();
	CHECK(cudaDeviceSynchronize());
	printf("graph work %ld\n", work);
	return 0;
}
