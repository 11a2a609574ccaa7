/*
 * A library whose constructor waits for a thread that ends the process, with status 5, while the
 * loader is at work.
 */
#include <pthread.h>
#include <unistd.h>

static void *leave(void *unused)
{
	(void)unused;
	usleep(20000);
	_exit(5);
}

__attribute__((constructor)) static void begin(void)
{
	pthread_t thread;
	if (!pthread_create(&thread, NULL, leave, NULL))
		pthread_join(thread, NULL);
}
