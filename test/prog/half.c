/*
 * Half of a program whose other half uses another CUDA runtime. Built once for each, with its
 * number in its name.
 */
#include <stddef.h>
#include <stdint.h>

#define JOIN_(a, b) a##b
#define JOIN(a, b)  JOIN_(a, b)
#define HALF_WORK   JOIN(half_work_, HALF)

/* Declared here: the headers are those of one version only, and these are the same in both. */
int cudaMalloc(void **p, size_t bytes);
int cudaMemset(void *p, int value, size_t bytes);
int cudaMemcpy(void *to, const void *from, size_t bytes, int kind);
int cudaFree(void *p);
int cudaRuntimeGetVersion(int *version);

__attribute__((visibility("default"))) int HALF_WORK(int *version);
int HALF_WORK(int *version)
{
	char back[HALF * 8] = "";
	void *p = NULL;
	int error = cudaRuntimeGetVersion(version);
	error |= cudaMalloc(&p, sizeof(back));
	error |= cudaMemset(p, HALF, sizeof(back));
	error |= cudaMemcpy(back, p, sizeof(back), 2);
	error |= cudaFree(p);
	for (size_t i = 0; i < sizeof(back); i++)
		error |= back[i] != HALF;
	return error;
}
