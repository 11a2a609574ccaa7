/* What dlerror() says after CUDA calls of a program that has looked for nothing itself. */
#include <dlfcn.h>
#include <stdio.h>

#include "test/prog/work.h"

int main(void)
{
	const void *kernel = work_kernel("spin_5us");
	dlerror();
	for (int i = 0; i < 3; i++)
		work_launch(kernel, 8, NULL);
	MUST(cudaDeviceSynchronize());
	const char *error = dlerror();
	printf("%s\n", error ? error : "nothing");
	return 0;
}
