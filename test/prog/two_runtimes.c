/*
 * CUDA 12's runtime and CUDA 13's in one process, each used by a library of its own (a wheel of one
 * next to a wheel of the other).
 */
#include <dlfcn.h>
#include <stdio.h>

typedef int half_work(int *version);

static half_work *load(const char *path, const char *name)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	half_work *work = library ? (half_work *)dlsym(library, name) : NULL;
	if (!work)
		fprintf(stderr, "%s\n", dlerror());
	return work;
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "usage: two_runtimes HALF_12 HALF_13\n");
		return 2;
	}
	half_work *work12 = load(argv[1], "half_work_12"), *work13 = load(argv[2], "half_work_13");
	if (!work12 || !work13)
		return 1;
	for (int i = 0; i < 3; i++) {
		int version12 = 0, version13 = 0;
		int error12 = work12(&version12), error13 = work13(&version13);
		printf("%d: error %d, %d: error %d\n", version12 / 1000, error12, version13 / 1000,
		       error13);
	}
	return 0;
}
