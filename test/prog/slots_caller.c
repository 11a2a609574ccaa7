/* Has slots behind much else of its own. With BIG it has none, and is as large, and read-only. */
#ifdef BIG
__attribute__((visibility("default"))) const char big[280 << 10] = { 1 };
#else
#include <cuda_runtime_api.h>

char before[256 << 10];
__attribute__((visibility("default"))) int call(void);
int call(void)
{
	cudaEvent_t event;
	return cudaEventCreate(&event) || cudaEventRecord(event, NULL) || before[0];
}
#endif
