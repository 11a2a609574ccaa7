/*
 * Calls from functions whose names a test knows: a chain of three, and one in each of two plugins,
 * of which the second takes the place of the first. `stacks PLUGIN PLUGIN` prints where each plugin
 * was loaded.
 */
#include <cuda_runtime_api.h>
#include <dlfcn.h>
#include <link.h>
#include <stdio.h>

#define APART __attribute__((noinline, noclone))

static volatile int sink;

APART static void innermost(void *memory)
{
	cudaMemset(memory, 1, 64);
	sink++;
}

APART static void middle(void *memory, int left)
{
	if (left)
		middle(memory, left - 1);
	else
		innermost(memory);
	sink++;
}

APART static void from_plugin(const char *path, void *memory)
{
	void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(void *) = plugin ? (void (*)(void *))dlsym(plugin, "plugin_work") : NULL;
	struct link_map *map;
	if (!work || dlinfo(plugin, RTLD_DI_LINKMAP, &map)) {
		fprintf(stderr, "%s\n", dlerror());
		return;
	}
	work(memory);
	printf("%lx\n", (unsigned long)map->l_addr);
	dlclose(plugin);
	sink++;
}

int main(int argc, char **argv)
{
	void *memory;
	if (cudaMalloc(&memory, 4096))
		return 1;
	middle(memory, 3);
	cudaDeviceSynchronize();
	for (int i = 1; i < argc; i++)
		from_plugin(argv[i], memory);
	cudaFree(memory);
	return 0;
}
