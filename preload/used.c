#include "preload/used.h"

#include "core/runtime/at_start.h"
#include "core/runtime/run_files.h"
#include "preload/start_env.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <link.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

void used_note(void)
{
	static atomic_bool noted;
	char path[PATH_MAX];
	const char *folder = start_env_get("PROF_OUT");
	if (atomic_load_explicit(&noted, memory_order_relaxed) || atomic_exchange(&noted, true) ||
	    !folder || !start_env_get("PROF_LAUNCHED"))
		return;
	int saved = errno;
	int n = snprintf(path, sizeof(path), "%s/" RUN_DRIVER_MARK, folder);
	int fd = n < (int)sizeof(path)
			 ? open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666)
			 : -1;
	if (fd >= 0)
		close(fd);
	errno = saved;
}

AT_START static int is_driver(struct dl_phdr_info *info, size_t size, void *unused)
{
	const char *slash = strrchr(info->dlpi_name, '/');
	(void)size, (void)unused;
	return !strncmp(slash ? slash + 1 : info->dlpi_name, "libcuda.so", 10);
}

AT_START bool used_driver_is_mapped(void)
{
	return dl_iterate_phdr(is_driver, NULL);
}

AT_START void used_note_if_mapped(void)
{
	if (used_driver_is_mapped())
		used_note();
}

__attribute__((destructor)) static void end(void)
{
	used_note_if_mapped();
}
