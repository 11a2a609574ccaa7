/* Native code that Python calls, for test/prog/host_ctypes.py: it sleeps. */
#include <unistd.h>

__attribute__((visibility("default"))) void nap_in_c(int us);

static void nap_deeper(int us)
{
	usleep((useconds_t)us);
	__asm__ volatile("" ::: "memory"); /* no tail call: the frame must be there */
}

void nap_in_c(int us)
{
	nap_deeper(us);
	__asm__ volatile("" ::: "memory");
}
