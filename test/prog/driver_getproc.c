/*
 * The driver's functions by cuGetProcAddress, the way the CUDA runtime gets at them.
 *   v2 | v1       the newer or the older form of cuGetProcAddress
 *   self          cuGetProcAddress asked for itself first, twice over
 *   per-thread    with the flag that gives the per-thread default stream's twins
 */
#include "test/prog/driver_work.h"

#include <dlfcn.h>

enum { VERSION = 12000 }; /* what programs of CUDA 12 ask for */

typedef CUresult get_v1(const char *name, void **function, int version, cuuint64_t flags);
typedef CUresult get_v2(const char *name, void **function, int version, cuuint64_t flags,
			CUdriverProcAddressQueryResult *status);

static get_v1 *v1;
static get_v2 *v2;

static void *get(const char *name, int version, cuuint64_t flags)
{
	void *function = NULL;
	CUdriverProcAddressQueryResult status;
	CUresult error = v2 ? v2(name, &function, version, flags, &status)
			    : v1(name, &function, version, flags);
	if (error || !function) {
		fprintf(stderr, "no %s of version %d: error %d\n", name, version, (int)error);
		exit(1);
	}
	return function;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "v2";
	cuuint64_t flags =
		strcmp(how, "per-thread") ? 0 : CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	struct driver d;
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	if (!strcmp(how, "v1"))
		v1 = (get_v1 *)dlsym(library, "cuGetProcAddress");
	else
		v2 = (get_v2 *)dlsym(library, "cuGetProcAddress_v2");
	for (int i = 0; i < 2 && !strcmp(how, "self"); i++)
		v2 = (get_v2 *)get("cuGetProcAddress", VERSION, 0);
#define F(name) d.p_##name = (__typeof__(d.p_##name))get(#name, VERSION, flags);
	DRIVER_FUNCTIONS(F)
#undef F
	driver_work(&d);
	return 0;
}
