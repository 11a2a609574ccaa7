/*
 * The ids of graphs and nodes in CUPTI's records and in the driver's and CUPTI's queries.
 * Arguments: the driver's version (13000 or 13010), the local ids of a graph's first five nodes,
 * and "own" or "exec": whether records of a child graph's nodes have an id of their own or the
 * executable graph's in the upper half.
 */
#include "test/sim/tests/check.h"

#include <cuda.h>
#include <cupti.h>

enum { NODES = 5, LAUNCHES = 64 };

static struct record {
	char name[32];
	uint32_t graph;
	uint64_t node;
} records[LAUNCHES];
static int record_count;

static struct {
	CUresult (*graph_id)(CUgraph, unsigned *);
	CUresult (*exec_id)(CUgraphExec, unsigned *);
	CUresult (*local_id)(CUgraphNode, unsigned *);
	CUresult (*tools_id)(CUgraphNode, unsigned long long *);
	CUresult (*containing)(CUgraphNode, CUgraph *);
} driver;

static void CUPTIAPI buffer_request(uint8_t **buffer, size_t *size, size_t *most)
{
	*size = 1 << 16;
	*buffer = aligned_alloc(8, *size);
	*most = 0;
}

static void CUPTIAPI buffer_complete(CUcontext c, uint32_t s, uint8_t *buffer, size_t size,
				     size_t valid)
{
	CUpti_Activity *at = NULL;
	(void)c, (void)s, (void)size;
	while (cuptiActivityGetNextRecord(buffer, valid, &at) == CUPTI_SUCCESS) {
		struct record *r = &records[record_count++ % LAUNCHES];
		memset(r, 0, sizeof(*r));
		if (at->kind == CUPTI_ACTIVITY_KIND_MEMSET) {
			CUpti_ActivityMemset4 *m = (void *)at;
			*r = (struct record){ "memset", m->graphId, m->graphNodeId };
		} else if (at->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
			CUpti_ActivityMemcpy6 *m = (void *)at;
			*r = (struct record){ "memcpy", m->graphId, m->graphNodeId };
		} else {
			CUpti_ActivityKernel10 *k = (void *)at;
			r->graph = k->graphId;
			r->node = k->graphNodeId;
			snprintf(r->name, sizeof(r->name), "%s", k->name);
		}
	}
	free(buffer);
}

/* Launches and returns the first record of that name since then. */
static struct record launched(cudaGraphExec_t exec, const char *name)
{
	record_count = 0;
	NEED(cudaGraphLaunch(exec, NULL));
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	for (int i = 0; i < record_count; i++)
		if (!strcmp(records[i].name, name))
			return records[i];
	check(false, name, "no record");
	return (struct record){ .graph = 0 };
}

static cudaGraphNode_t add(cudaGraph_t graph, const char *name)
{
	cudaGraphNode_t node;
	struct cudaKernelNodeParams p = { .func = (void *)kernel_named(name),
					  .gridDim = { 1, 1, 1 },
					  .blockDim = { 32, 1, 1 } };
	NEED(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
	return node;
}

static void *entry(const char *symbol, int version, CUdriverProcAddressQueryResult *status)
{
	void *function = NULL;
	cuGetProcAddress_v2(symbol, &function, version, 0, status);
	return function;
}

static void check_entries(int version)
{
	CUdriverProcAddressQueryResult status;
	int reported;
	NEED(cuDriverGetVersion(&reported));
	check(reported == version, "the driver's version", "%d", reported);
	driver.tools_id = entry("cuGraphNodeGetToolsId", 13000, &status);
	if (version < 13010) {
		check(status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND, "13.0 has no ids", "%d",
		      status);
		return;
	}
	check(status == CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT && !driver.tools_id,
	      "a program for 13.0 gets no ids", "%d", status);
	driver.tools_id = entry("cuGraphNodeGetToolsId", 13010, &status);
	driver.local_id = entry("cuGraphNodeGetLocalId", 13010, &status);
	driver.graph_id = entry("cuGraphGetId", 13010, &status);
	driver.exec_id = entry("cuGraphExecGetId", 13010, &status);
	driver.containing = entry("cuGraphNodeGetContainingGraph", 13010, &status);
	check(driver.tools_id && driver.local_id && driver.graph_id && driver.exec_id &&
		      driver.containing,
	      "13.1 has ids", "no");
}

/* Checks that all queries agree on a node. */
static void check_queries(cudaGraph_t graph, cudaGraphNode_t node, unsigned local)
{
	uint64_t id = 0;
	uint32_t graph_id = 0;
	NEED(cuptiGetGraphNodeId(node, &id));
	NEED(cuptiGetGraphId(graph, &graph_id));
	check(id == ((uint64_t)graph_id << 32 | local), "CUPTI's id of a node", "%llx",
	      (unsigned long long)id);
	if (!driver.tools_id)
		return;
	unsigned long long tools = 0;
	unsigned number = 0, driver_graph = 0;
	CUgraph containing = NULL;
	NEED(driver.tools_id(node, &tools));
	NEED(driver.local_id(node, &number));
	NEED(driver.graph_id(graph, &driver_graph));
	NEED(driver.containing(node, &containing));
	check(tools == id && number == local && driver_graph == graph_id && containing == graph,
	      "the driver's ids of a node", "%llx %u %u", tools, number, driver_graph);
}

/* A clone keeps the local ids; the ids of an executable graph are those of its graph. */
static void check_graph(const unsigned *local)
{
	cudaGraph_t graph, clone;
	cudaGraphExec_t exec[2], of_clone;
	cudaGraphNode_t node[NODES];
	char name[32];
	uint32_t id = 0;
	NEED(cudaGraphCreate(&graph, 0));
	for (int i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		node[i] = add(graph, name);
		check_queries(graph, node[i], local[i]);
	}
	NEED(cudaGraphClone(&clone, graph));
	for (int i = 0; i < 2; i++)
		NEED(cudaGraphInstantiate(&exec[i], graph, 0));
	NEED(cudaGraphInstantiate(&of_clone, clone, 0));
	NEED(cudaGraphDestroy(graph));
	for (int i = 0; i < NODES; i++) {
		snprintf(name, sizeof(name), "kernel_%d", i);
		cudaGraphExec_t all[] = { exec[0], exec[1], of_clone };
		for (int k = 0; k < 3; k++) {
			struct record r = launched(all[k], name);
			NEED(cuptiGetGraphExecId(all[k], &id));
			check(r.graph == id && r.node == ((uint64_t)id << 32 | local[i]),
			      "the ids of a record", "%x %llx", r.graph,
			      (unsigned long long)r.node);
			unsigned driver_id = id;
			if (driver.exec_id)
				NEED(driver.exec_id(all[k], &driver_id));
			check(driver_id == id, "the driver's id of an executable graph", "%u",
			      driver_id);
		}
	}
	for (int k = 0; k < 2; k++)
		NEED(cudaGraphExecDestroy(exec[k]));
	NEED(cudaGraphExecDestroy(of_clone));
	NEED(cudaGraphDestroy(clone));
}

static void check_child(const unsigned *local, bool is_own)
{
	cudaGraph_t graph, child;
	cudaGraphExec_t exec;
	cudaGraphNode_t node;
	uint32_t id = 0;
	NEED(cudaGraphCreate(&graph, 0));
	NEED(cudaGraphCreate(&child, 0));
	add(graph, "before");
	add(child, "inside");
	NEED(cudaGraphAddChildGraphNode(&node, graph, NULL, 0, child));
	add(graph, "after");
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cuptiGetGraphExecId(exec, &id));
	struct record r = launched(exec, "inside");
	check(r.graph == id, "a child graph's records have the executable graph's id", "%u",
	      r.graph);
	bool good = is_own ? r.node >> 32 > id && (unsigned)r.node == local[0]
			   : r.node >> 32 == id && (unsigned)r.node > local[2];
	check(good, "the node id of a child graph's kernel", "%llx", (unsigned long long)r.node);
	r = launched(exec, "after");
	check(r.node == ((uint64_t)id << 32 | local[2]), "a child graph takes one id", "%llx",
	      (unsigned long long)r.node);
	NEED(cudaGraphExecDestroy(exec));
	NEED(cudaGraphDestroy(child));
	NEED(cudaGraphDestroy(graph));
}

/* Captured copies and memsets have ids, and addresses return with new ids. */
static void check_captured(const unsigned *local)
{
	cudaGraph_t graph[2];
	cudaGraphExec_t exec[2];
	cudaStream_t stream;
	uint32_t id[2] = { 0 };
	void *memory, *host;
	NEED(cudaStreamCreate(&stream));
	NEED(cudaMalloc(&memory, 64));
	NEED(cudaMallocHost(&host, 64));
	for (int i = 0; i < 2; i++) {
		NEED(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
		NEED(cudaMemsetAsync(memory, 0, 64, stream));
		NEED(cudaMemcpyAsync(host, memory, 64, cudaMemcpyDeviceToHost, stream));
		launch(kernel_named("captured"), stream);
		NEED(cudaStreamEndCapture(stream, &graph[i]));
		NEED(cudaGraphInstantiate(&exec[i], graph[i], 0));
		NEED(cuptiGetGraphExecId(exec[i], &id[i]));
		const char *names[] = { "memset", "memcpy", "captured" };
		for (int k = 0; k < 3; k++) {
			struct record r = launched(exec[i], names[k]);
			check(r.node == ((uint64_t)id[i] << 32 | local[k]), names[k], "%llx",
			      (unsigned long long)r.node);
		}
		NEED(cudaGraphExecDestroy(exec[i]));
		NEED(cudaGraphDestroy(graph[i]));
	}
	check(graph[0] == graph[1] && exec[0] == exec[1], "addresses are used again", "no");
	check(id[0] != id[1], "ids are not", "%u", id[1]);
}

int main(int argc, char **argv)
{
	unsigned local[NODES];
	if (argc != 3 + NODES)
		return 2;
	for (int i = 0; i < NODES; i++)
		local[i] = (unsigned)atoi(argv[2 + i]);
	NEED(cuptiActivityRegisterCallbacks(buffer_request, buffer_complete));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY));
	NEED(cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMSET));
	NEED(cudaFree(NULL));
	check_entries(atoi(argv[1]));
	check_graph(local);
	check_child(local, !strcmp(argv[2 + NODES], "own"));
	check_captured(local);
	return check_failed;
}
