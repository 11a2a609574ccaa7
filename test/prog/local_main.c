/*
 * A program without CUDA that opens an extension with CUDA, RTLD_LOCAL, works with it, and closes
 * it. It does so twice.
 */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	for (int i = 0; i < 2; i++) {
		void *extension = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
		int (*work)(int) = extension ? (int (*)(int))dlsym(extension, "extension_work")
					     : NULL;
		if (!work) {
			fprintf(stderr, "%s\n",
				extension ? dlerror() : "usage: local_main EXTENSION");
			return 1;
		}
		printf("%d\n", work(3));
		dlclose(extension);
	}
	return 0;
}
