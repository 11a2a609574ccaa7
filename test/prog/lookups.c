/*
 * Prints what dlsym, RTLD_NEXT, RTLD_DEFAULT and dlerror return in a process without CUDA: the same
 * with and without a profiler.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

static void show(const char *what, void *found)
{
	const char *error = dlerror();
	printf("%s: %s, %s\n", what, found ? "found" : "not found", error ? error : "no error");
}

int main(void)
{
	errno = 4711;
	show("default cudaMalloc", dlsym(RTLD_DEFAULT, "cudaMalloc"));
	show("default cuLaunchKernel", dlsym(RTLD_DEFAULT, "cuLaunchKernel"));
	show("default cuGetProcAddress", dlsym(RTLD_DEFAULT, "cuGetProcAddress"));
	show("next cudaMalloc", dlsym(RTLD_NEXT, "cudaMalloc"));
	show("self cudaMalloc", dlsym(dlopen(NULL, RTLD_NOW), "cudaMalloc"));
	show("default malloc", dlsym(RTLD_DEFAULT, "malloc"));
	show("default nothing", dlsym(RTLD_DEFAULT, "cu_no_such_function"));
	show("versioned cudaMalloc", dlvsym(RTLD_DEFAULT, "cudaMalloc", "libcudart.so.13"));
	/*
	 * The next malloc after this program is libc's own. It must not be searched from the
	 * profiler's place in the order.
	 */
	Dl_info info = { 0 };
	void *next = dlsym(RTLD_NEXT, "malloc");
	printf("next malloc is in %s\n",
	       next && dladdr(next, &info) && strstr(info.dli_fname, "libc.so") ? "libc" : "?");
	show("next nothing", dlsym(RTLD_NEXT, "no_such_function"));
	show("no library", dlopen("no-such-library.so", RTLD_NOW));
	show("next _exit", dlsym(RTLD_NEXT, "_exit"));
	errno = 4711;
	dlsym(RTLD_DEFAULT, "malloc");
	dlsym(RTLD_DEFAULT, "cudaMalloc");
	dlerror();
	printf("errno %d\n", errno);
	return 0;
}
