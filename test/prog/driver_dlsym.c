/* The driver's functions by dlsym on a handle, as Triton, CuPy and many plugins get at them. */
#include "test/prog/driver_work.h"

#include <dlfcn.h>

#define NAME_(name) #name
#define NAME(name)  NAME_(name) /* of the newest form, as cuda.h's macro says */

int main(void)
{
	struct driver d;
	void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
	if (!library) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
#define F(name)                                                          \
	d.p_##name = (__typeof__(d.p_##name))dlsym(library, NAME(name)); \
	if (!d.p_##name) {                                               \
		fprintf(stderr, "%s\n", dlerror());                      \
		return 1;                                                \
	}
	DRIVER_FUNCTIONS(F)
#undef F
	driver_work(&d);
	return 0;
}
