/*
 * Loads a library that uses CUDA and unloads it again, many times: life_unload HOW. HOW: local,
 * global, deepbind (how dlopen binds it), threads (several threads load it at once), namespace
 * (dlmopen, with a CUDA runtime of its own). Built with -DPLUGIN it is that library.
 */
#include <dlfcn.h>
#include <libgen.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "test/prog/work.h"

#ifdef PLUGIN
__attribute__((visibility("default"))) int plugin_works(void);
int plugin_works(void)
{
	return work_some(3);
}

__attribute__((destructor)) static void leave(void)
{
	void *p = NULL;
	if (!cudaMalloc(&p, 64))
		cudaFree(p);
}
#else

static char path[PATH_MAX];
static int flags = RTLD_NOW | RTLD_LOCAL;
static long namespace = LM_ID_BASE;
static atomic_int n_good;

static void *load_and_unload(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		void *handle = dlmopen(namespace, path, flags);
		if (!handle) {
			printf("%s\n", dlerror());
			return NULL;
		}
		int (*works)(void) = (int (*)(void))dlsym(handle, "plugin_works");
		n_good += works && works();
		dlclose(handle);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const char *how = argc > 1 ? argv[1] : "local";
	pthread_t threads[4];
	if (!realpath("/proc/self/exe", path))
		return 9;
	strcpy(basename(path), "life_unload.so");
	if (!strcmp(how, "global"))
		flags = RTLD_NOW | RTLD_GLOBAL;
	else if (!strcmp(how, "deepbind"))
		flags = RTLD_LAZY | RTLD_DEEPBIND;
	else if (!strcmp(how, "namespace"))
	namespace = LM_ID_NEWLM;
	if (strcmp(how, "threads")) {
		load_and_unload(strcmp(how, "namespace") ? (void *)40L : (void *)2L);
	} else {
		for (int i = 0; i < 4; i++)
			pthread_create(&threads[i], NULL, load_and_unload, (void *)20L);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
	}
	printf("%s: %d good\n", how, (int)n_good);
	return 0;
}
#endif
