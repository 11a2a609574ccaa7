/* See foreground.h. */
#include "export/foreground.h"

#include <errno.h>
#include <unistd.h>

bool is_in_foreground(void)
{
	pid_t foreground = tcgetpgrp(STDERR_FILENO);
	return foreground >= 0 ? foreground == getpgrp() : errno == ENOTTY;
}
