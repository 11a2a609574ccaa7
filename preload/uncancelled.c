/*
 * System calls without libc's cancellation points. The library makes them within an application's
 * calls: a thread that is cancelled there would leave CUDA's locks and the library's own locks
 * locked. The linker replaces libc's functions by these (--wrap, Makefile: UNCANCELLED), so no call
 * in the library can be missed. scripts/check-so checks that no reference to libc's functions
 * remains.
 */
#include <fcntl.h>
#include <stdarg.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

int __wrap_open(const char *path, int flags, ...);
int __wrap_close(int fd);
ssize_t __wrap_read(int fd, void *to, size_t bytes);
ssize_t __wrap_write(int fd, const void *from, size_t bytes);
ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t at);
int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes);
int __wrap_nanosleep(const struct timespec *span, struct timespec *left);

int __wrap_open(const char *path, int flags, ...)
{
	va_list more;
	va_start(more, flags);
	mode_t mode = flags & O_CREAT ? va_arg(more, mode_t) : 0;
	va_end(more);
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}

int __wrap_close(int fd)
{
	return (int)syscall(SYS_close, fd);
}

ssize_t __wrap_read(int fd, void *to, size_t bytes)
{
	return syscall(SYS_read, fd, to, bytes);
}

ssize_t __wrap_write(int fd, const void *from, size_t bytes)
{
	return syscall(SYS_write, fd, from, bytes);
}

ssize_t __wrap_pwrite(int fd, const void *from, size_t bytes, off_t at)
{
	return syscall(SYS_pwrite64, fd, from, bytes, at);
}

int __wrap_fallocate(int fd, int mode, off_t at, off_t bytes)
{
	return (int)syscall(SYS_fallocate, fd, mode, at, bytes);
}

int __wrap_nanosleep(const struct timespec *span, struct timespec *left)
{
	return (int)syscall(SYS_nanosleep, span, left);
}
