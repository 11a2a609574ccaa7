/*
 * Asks cuGetProcAddress for every driver row of hooks.def, and prints which symbol of which library
 * it returned.
 */
#define __CUDA_API_VERSION_INTERNAL /* no macro may turn a row's symbol into a newer one */
#include <cuda.h>
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static const struct row {
	const char *symbol, *name;
	int version;
	cuuint64_t flags;
	int is_driver;
} rows[] = {
#define HOOK(ret, symbol, name, version, twin, entry_point, ...)                              \
	{ #symbol, name, version, (twin) ? CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM : 0, \
	  #entry_point[0] == 'D' },
#include "preload/hooks.def"
#undef HOOK
};

int main(void)
{
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	__typeof__(&cuGetProcAddress_v2) get =
		library ? (__typeof__(get))dlsym(library, "cuGetProcAddress_v2") : NULL;
	if (!get) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	for (const struct row *r = rows; r < rows + sizeof(rows) / sizeof(*rows); r++) {
		CUdriverProcAddressQueryResult status;
		Dl_info info = { 0 };
		void *function = NULL;
		if (!r->is_driver)
			continue;
		CUresult error = get(r->name, &function, r->version, r->flags, &status);
		if (error || !function || !dladdr(function, &info)) {
			printf("%s error %d\n", r->symbol, (int)error);
			continue;
		}
		const char *slash = strrchr(info.dli_fname, '/');
		printf("%s %s %s\n", r->symbol, info.dli_sname ? info.dli_sname : "?",
		       slash ? slash + 1 : info.dli_fname);
	}
	return 0;
}
