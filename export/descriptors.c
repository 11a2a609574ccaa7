#include "export/descriptors.h"

#include <fcntl.h>
#include <limits.h>
#include <unistd.h>

static void close_between(int first, int last)
{
	enum { MOST = 4096 }; /* Linux before 5.9 has no close_range() */
	if (first > last || close_range((unsigned)first, (unsigned)last, 0) == 0)
		return;
	for (int fd = first; fd <= last && fd < MOST; fd++)
		close(fd);
}

void descriptors_close_others(int first, int a, int b)
{
	int low = a < b ? a : b, high = a < b ? b : a;
	close_between(first, low - 1);
	close_between(low + 1 > first ? low + 1 : first, high - 1);
	close_between(high + 1 > first ? high + 1 : first, INT_MAX);
}

int descriptors_above_standard(int fd)
{
	return fd > STDERR_FILENO ? fd : fcntl(fd, F_DUPFD, STDERR_FILENO + 1);
}
