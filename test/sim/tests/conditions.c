/*
 * Conditional graph nodes: what runs of their bodies. Run with PROFSIM_WHILE=4, PROFSIM_TRUTH names
 * the file of what ran.
 */
#include "test/sim/tests/check.h"

#include <cuda.h>

/* How many lines of the truth file have this kernel. */
static int runs(const char *name)
{
	char line[1024], kernel[512];
	int count = 0;
	FILE *f = fopen(getenv("PROFSIM_TRUTH"), "r");
	while (f && fgets(line, sizeof(line), f))
		count += sscanf(line, "kernel %511s", kernel) == 1 && !strcmp(kernel, name);
	if (f)
		fclose(f);
	return count;
}

static void add_kernel(cudaGraph_t graph, const char *name)
{
	cudaGraphNode_t node;
	struct cudaKernelNodeParams p = { .func = (void *)kernel_named(name),
					  .gridDim = { 1, 1, 1 },
					  .blockDim = { 32, 1, 1 } };
	NEED(cudaGraphAddKernelNode(&node, graph, NULL, 0, &p));
}

/* Adds a node after `before`, whose bodies each have a kernel: the names, with a digit appended. */
static cudaGraphNode_t add(cudaGraph_t graph, const cudaGraphNode_t *before,
			   enum cudaGraphConditionalNodeType type, unsigned size, unsigned value,
			   unsigned flags, const char *name)
{
	cudaGraphNode_t node;
	struct cudaGraphNodeParams p = { .type = cudaGraphNodeTypeConditional };
	p.conditional.type = type;
	p.conditional.size = size;
	NEED(cudaGraphConditionalHandleCreate(&p.conditional.handle, graph, value, flags));
	NEED(cudaGraphAddNode(&node, graph, before, NULL, before != NULL, &p));
	for (unsigned i = 0; i < size; i++) {
		char text[64];
		snprintf(text, sizeof(text), "%s_%u", name, i);
		add_kernel(p.conditional.phGraph_out[i], text);
	}
	return node;
}

static void check_runs(const char *name, int expected)
{
	check(runs(name) == expected, name, "ran %d times, not %d", runs(name), expected);
}

int main(void)
{
	enum { ASSIGN = cudaGraphCondAssignDefault };
	cudaGraph_t graph, copy;
	cudaGraphExec_t exec;
	enum cudaGraphNodeType type;
	NEED(cudaGraphCreate(&graph, 0));
	cudaGraphNode_t n = add(graph, NULL, cudaGraphCondTypeIf, 2, 0, 0, "if_unset");
	n = add(graph, &n, cudaGraphCondTypeIf, 2, 0, ASSIGN, "if_0");
	n = add(graph, &n, cudaGraphCondTypeIf, 1, 5, ASSIGN, "if_5");
	n = add(graph, &n, cudaGraphCondTypeWhile, 1, 1, ASSIGN, "while_1");
	n = add(graph, &n, cudaGraphCondTypeWhile, 1, 0, ASSIGN, "while_0");
	n = add(graph, &n, cudaGraphCondTypeSwitch, 3, 2, ASSIGN, "switch_2");
	n = add(graph, &n, cudaGraphCondTypeSwitch, 3, 9, ASSIGN, "switch_9");
	NEED(cudaGraphNodeGetType(n, &type));
	check(type == cudaGraphNodeTypeConditional, "a conditional node's type", "%d", type);
	check(cudaGraphClone(&copy, graph) == cudaErrorNotSupported,
	      "a graph with conditional nodes cannot be cloned", "it was");
	NEED(cudaGraphCreate(&copy, 0));
	check(cudaGraphAddChildGraphNode(&n, copy, NULL, 0, graph) == cudaErrorNotSupported,
	      "or be a child", "it was");
	NEED(cudaGraphInstantiate(&exec, graph, 0));
	NEED(cudaGraphLaunch(exec, NULL));
	NEED(cudaDeviceSynchronize());
	check_runs("if_unset_0", 1);
	check_runs("if_unset_1", 0);
	check_runs("if_0_0", 0);
	check_runs("if_0_1", 1);
	check_runs("if_5_0", 1);
	check_runs("while_1_0", 4);
	check_runs("while_0_0", 0);
	check_runs("switch_2_0", 0);
	check_runs("switch_2_2", 1);
	check_runs("switch_9_0", 0);
	struct cudaGraphNodeParams bad = { .type = cudaGraphNodeTypeConditional };
	bad.conditional.type = cudaGraphCondTypeWhile;
	bad.conditional.size = 2;
	NEED(cudaGraphConditionalHandleCreate(&bad.conditional.handle, copy, 0, 0));
	check(cudaGraphAddNode(&n, copy, NULL, NULL, 0, &bad) == cudaErrorInvalidValue,
	      "a while node has one body", "two were taken");
	return check_failed;
}
