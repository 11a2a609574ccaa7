/*
 * See host_memory.h. process_vm_readv on the own process is always permitted by the kernel, but a
 * container's seccomp filter may forbid it. /proc/self/mem then gives the same bytes.
 */
#include "preload/host_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static struct {
	bool by_file;
	int file; /* /proc/self/mem; -1: not open */
} g = { .file = -1 };

/* pread(2) without libc's cancellation point. */
static ssize_t read_at(int fd, void *to, size_t bytes, uint64_t at)
{
	return syscall(SYS_pread64, fd, to, bytes, (off_t)at);
}

static bool copy_by_file(void *to, uint64_t from, size_t bytes)
{
	if (g.file < 0)
		g.file = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	return g.file >= 0 && read_at(g.file, to, bytes, from) == (ssize_t)bytes;
}

static ssize_t copy_by_call(const struct host_piece *pieces, size_t n)
{
	struct iovec local[HOST_PIECES_MOST], remote[HOST_PIECES_MOST];
	for (size_t i = 0; i < n; i++) {
		local[i] = (struct iovec){ pieces[i].to, pieces[i].bytes };
		remote[i] = (struct iovec){ (void *)(uintptr_t)pieces[i].from, pieces[i].bytes };
	}
	return process_vm_readv(getpid(), local, n, remote, n, 0);
}

bool host_memory_start(void)
{
	static const uint64_t known = 0x70726f6672756e21;
	uint64_t found = 0;
	const struct host_piece piece = { &found, (uintptr_t)&known, sizeof(found) };
	g.by_file = copy_by_call(&piece, 1) != sizeof(found) || found != known;
	if (!g.by_file)
		return true;
	found = 0;
	return copy_by_file(&found, (uintptr_t)&known, sizeof(found)) && found == known;
}

size_t host_memory_read(const struct host_piece *pieces, size_t n)
{
	size_t done = 0;
	if (n > HOST_PIECES_MOST)
		n = HOST_PIECES_MOST;
	if (g.by_file) {
		while (done < n &&
		       copy_by_file(pieces[done].to, pieces[done].from, pieces[done].bytes))
			done++;
		return done;
	}
	ssize_t left = copy_by_call(pieces, n);
	while (left > 0 && done < n && (size_t)left >= pieces[done].bytes)
		left -= (ssize_t)pieces[done++].bytes;
	return done;
}

bool host_memory_copy(void *to, uint64_t from, size_t bytes)
{
	return host_memory_read(&(struct host_piece){ to, from, bytes }, 1) == 1;
}

void host_memory_forget(void)
{
	g.file = -1;
}
