/*
 * Forks of a process whose slots the library turns: `slots_forks gone CALLER OTHER`: CALLER, whose slots were turned, has been unloaded, and OTHER, which
 * may not be written, lies where it did. `slots_forks amid FORKS LIBRARY`: a thread takes steps all the time; each child loads LIBRARY, which takes
 * the loader's lock. Both print how many children ended in an orderly way. `slots_forks anew CALLER STEPS`: CALLER is unloaded and loaded again.
 */
#define _GNU_SOURCE
#include "test/prog/leads_to.h"
#include "test/prog/work.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

static bool ends_well(pid_t child)
{
	int status;
	return waitpid(child, &status, 0) == child && !status;
}

static struct link_map *load(const char *file)
{
	struct link_map *object = dlopen(file, RTLD_NOW);
	if (object)
		return object;
	fprintf(stderr, "%s\n", dlerror());
	exit(1);
}

static int gone(const char *caller, const char *other)
{
	cudaStream_t stream;
	Dl_info there, own;
	MUST(cudaStreamCreate(&stream));
	struct link_map *object = load(caller);
	void *const *slot = slot_of(object, "cudaEventRecord");
	int (*call)(void) = (int (*)(void))dlsym(object, "call");
	if (call())
		return 1;
	dlclose(object);
	object = load(other);
	if (!dladdr(slot, &there) || !dladdr(object->l_ld, &own) ||
	    there.dli_fbase != own.dli_fbase)
		return 2;
	pid_t child = fork();
	if (!child)
		_exit(0);
	printf("%d\n", ends_well(child));
	return 0;
}

static void step(void *device, cudaStream_t stream)
{
	char data[64] = "";
	MUST(cudaMemcpyAsync(device, data, sizeof(data), cudaMemcpyHostToDevice, stream));
	MUST(cudaStreamSynchronize(stream));
}

/* CALLER is loaded a second time to where it was, and calls nothing until recording has begun. */
static int anew(const char *caller, int steps)
{
	cudaStream_t stream;
	void *p;
	MUST(cudaStreamCreate(&stream));
	MUST(cudaMalloc(&p, 64));
	struct link_map *object = dlopen(caller, RTLD_LAZY);
	int (*call)(void) = (int (*)(void))dlsym(object, "call");
	uintptr_t at = object->l_addr;
	if (call())
		return 1;
	dlclose(object);
	object = dlopen(caller, RTLD_LAZY);
	if (object->l_addr != at)
		return 2;
	for (int i = 0; i < steps; i++)
		step(p, stream);
	call = (int (*)(void))dlsym(object, "call");
	return call() ? 1 : 0;
}

static atomic_bool over;

static void *take_steps(void *unused)
{
	cudaStream_t stream;
	void *p;
	(void)unused;
	MUST(cudaStreamCreate(&stream));
	MUST(cudaMalloc(&p, 64));
	while (!over)
		step(p, stream);
	return NULL;
}

static int amid(int forks, const char *library)
{
	pthread_t thread;
	int n = 0;
	if (pthread_create(&thread, NULL, take_steps, NULL))
		return 1;
	usleep(50000);
	for (int i = 0; i < forks; i++) {
		pid_t child = fork();
		if (!child) {
			alarm(5);
			_exit(!dlopen(library, RTLD_NOW));
		}
		n += ends_well(child);
	}
	over = true;
	pthread_join(thread, NULL);
	printf("%d\n", n);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 1;
	if (!strcmp(argv[1], "anew"))
		return anew(argv[2], atoi(argv[3]));
	return strcmp(argv[1], "gone") ? amid(atoi(argv[2]), argv[3]) : gone(argv[2], argv[3]);
}
