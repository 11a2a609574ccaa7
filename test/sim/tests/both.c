/*
 * Both runtimes and both CUPTIs in one process, on one engine; the runtimes by name, with no link
 * to either.
 */
#include <dlfcn.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static int failed;

static void check(bool good, const char *name)
{
	printf(good ? "ok %s\n" : "not ok %s: it does not hold\n", name);
	failed |= !good;
}

#define GET(handle, name, ...) \
	int (*name##_)(__VA_ARGS__) = (int (*)(__VA_ARGS__))dlsym(handle, #name)

int main(void)
{
	void *twelve = dlopen("libcudart.so.12", RTLD_NOW),
	     *thirteen = dlopen("libcudart.so.13", RTLD_NOW);
	void *cupti12 = dlopen("libcupti.so.12", RTLD_NOW),
	     *cupti13 = dlopen("libcupti.so.13", RTLD_NOW);
	if (!twelve || !thirteen || !cupti12 || !cupti13) {
		printf("not ok both: %s\n", dlerror());
		return 1;
	}
	struct {
		void *memory;
		char properties[2048];
		uint32_t cupti;
		int version;
	} a = { 0 }, b = { 0 };
	GET(twelve, cudaMalloc, void **, size_t);
	GET(thirteen, cudaMemcpy, void *, const void *, size_t, int);
	GET(twelve, cudaGetDeviceProperties_v2, void *, int);
	GET(thirteen, cudaGetDeviceProperties, void *, int);
	GET(twelve, cudaRuntimeGetVersion, int *);
	check(!dlsym(thirteen, "cudaGetDeviceProperties_v2") && !dlsym(twelve, "cudaLogsCurrent"),
	      "each exports its own");
	int in = 5, out = 0, version13 = 0;
	check(!cudaMalloc_(&a.memory, 64), "12 allocates");
	check(!cudaMemcpy_(a.memory, &in, 4, 1) && !cudaMemcpy_(&out, a.memory, 4, 2) && out == 5,
	      "13 copies to it");
	memset(a.properties, 0x55, sizeof(a.properties));
	memset(b.properties, 0x55, sizeof(b.properties));
	check(!cudaGetDeviceProperties_v2_(a.properties, 0) &&
		      !cudaGetDeviceProperties_(b.properties, 0),
	      "properties");
	check(a.properties[1031] == 0 && a.properties[1032] == 0x55, "12 fills 1032 bytes");
	check(b.properties[1007] == 0 && b.properties[1008] == 0x55, "13 fills 1008 bytes");
	check(!cudaRuntimeGetVersion_(&a.version) && a.version == 12090, "12 is version 12.9");
	int (*version)(int *) = (int (*)(int *))dlsym(thirteen, "cudaRuntimeGetVersion");
	check(!version(&version13) && version13 == 13000, "13 is version 13.0");
	int (*cupti_version)(uint32_t *) = (int (*)(uint32_t *))dlsym(cupti12, "cuptiGetVersion");
	check(!cupti_version(&a.cupti) && a.cupti == 28, "CUPTI 12 is version 28");
	cupti_version = (int (*)(uint32_t *))dlsym(cupti13, "cuptiGetVersion");
	check(!cupti_version(&b.cupti) && b.cupti >= 130000, "CUPTI 13 is newer");
	return failed;
}
