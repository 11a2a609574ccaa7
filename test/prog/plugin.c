/*
 * The same code under another name (PLUGIN), so that two of these are almost surely mapped at one
 * address, one after the other.
 */
#include <cuda_runtime_api.h>

static volatile int sink;

__attribute__((noinline, noclone)) static void PLUGIN(void *memory)
{
	cudaMemset(memory, 2, 128);
	sink++;
}

__attribute__((visibility("default"))) void plugin_work(void *memory);
void plugin_work(void *memory)
{
	PLUGIN(memory);
	sink++;
}
