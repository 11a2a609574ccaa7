// C++ code of a Python extension that calls Python again and again and lets no exception out. At
// its end, Python before 3.14 ends each thread that still asks for the interpreter by
// pthread_exit(), and a function that lets nothing out then ends the process.
#include <unistd.h>

extern "C" __attribute__((visibility("default"))) void calls_back(void (*python)()) noexcept
{
	for (;;) {
		usleep(500);
		python();
	}
}
