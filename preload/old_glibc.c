/*
 * Keeps the library loadable on glibc 2.28. The linker binds a call to the newest version of a
 * function, and a program on an older glibc then does not start at all. The linker replaces calls
 * of the functions below by these (--wrap, Makefile: NEWER).
 *
 * Functions that glibc has moved from libdl and libpthread to libc (glibc 2.34) are found at run
 * time. A process in which they are not mapped cannot have loaded CUDA.
 */
#include "preload/libc_find.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int __wrap_fstat(int fd, struct stat *to);
int __wrap_stat(const char *path, struct stat *to);
pid_t __wrap_gettid(void);
int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before);
int __wrap_pthread_once(pthread_once_t *once, void (*begin)(void));

/* struct stat is the kernel's on both machines */
int __wrap_fstat(int fd, struct stat *to)
{
	return (int)syscall(SYS_fstat, fd, to);
}

int __wrap_stat(const char *path, struct stat *to)
{
	return (int)syscall(SYS_newfstatat, AT_FDCWD, path, to, 0);
}

pid_t __wrap_gettid(void)
{
	return (pid_t)syscall(SYS_gettid);
}

int __wrap_pthread_sigmask(int how, const sigset_t *set, sigset_t *before)
{
	int saved = errno;
	int error = syscall(SYS_rt_sigprocmask, how, set, before, _NSIG / 8) ? errno : 0;
	errno = saved;
	return error;
}

/* 0: not begun, 1: running, 2: done; pthread_once_t is an int that begins as 0 */
int __wrap_pthread_once(pthread_once_t *once, void (*begin)(void))
{
	int idle = 0;
	if (__atomic_load_n(once, __ATOMIC_ACQUIRE) == 2)
		return 0;
	if (__atomic_compare_exchange_n(once, &idle, 1, false, __ATOMIC_ACQUIRE,
					__ATOMIC_ACQUIRE)) {
		begin();
		__atomic_store_n(once, 2, __ATOMIC_RELEASE);
	}
	while (__atomic_load_n(once, __ATOMIC_ACQUIRE) != 2)
		syscall(SYS_sched_yield);
	return 0;
}

/*
 * A function that is found at run time. If it is missing, the call returns `missing`. errno is left
 * as it was.
 */
#define FOUND(ret, name, missing, parameters, arguments)                                     \
	ret __wrap_##name parameters;                                                        \
	ret __wrap_##name parameters                                                         \
	{                                                                                    \
		static _Atomic(void *) real;                                                 \
		ret(*next) parameters =                                                      \
			(__typeof__(next))atomic_load_explicit(&real, memory_order_relaxed); \
		if (!next) {                                                                 \
			next = (__typeof__(next))libc_find(#name);                           \
			atomic_store_explicit(&real, (void *)next, memory_order_relaxed);    \
		}                                                                            \
		return next ? next arguments : (missing);                                    \
	}

FOUND(void *, dlopen, NULL, (const char *file, int mode), (file, mode))
FOUND(char *, dlerror, NULL, (void), ())
FOUND(int, dladdr, 0, (const void *address, Dl_info *info), (address, info))
FOUND(int, dladdr1, 0, (const void *address, Dl_info *info, void **extra, int flags),
      (address, info, extra, flags))
FOUND(int, pthread_create, EAGAIN,
      (pthread_t * thread, const pthread_attr_t *attributes, void *(*begin)(void *),
       void *argument),
      (thread, attributes, begin, argument))
FOUND(int, pthread_getattr_np, EAGAIN, (pthread_t thread, pthread_attr_t *attributes),
      (thread, attributes))
FOUND(int, pthread_attr_getstack, EAGAIN,
      (const pthread_attr_t *attributes, void **address, size_t *bytes),
      (attributes, address, bytes))
FOUND(int, pthread_key_create, EAGAIN, (pthread_key_t * key, void (*end)(void *)), (key, end))
FOUND(int, pthread_setspecific, EAGAIN, (pthread_key_t key, const void *value), (key, value))
FOUND(int, pthread_mutex_timedlock, EAGAIN, (pthread_mutex_t * mutex, const struct timespec *until),
      (mutex, until))
