/* c10_main USER STEPS LEAKS: loads c10_user.cpp's object and lets it use memory. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
	void *object = argc == 4 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	void (*use)(int, int) = object ? (void (*)(int, int))dlsym(object, "c10_use") : NULL;
	if (!use) {
		fprintf(stderr, "%s\n", object ? "usage" : dlerror());
		return 1;
	}
	use(atoi(argv[2]), atoi(argv[3]));
	return 0;
}
