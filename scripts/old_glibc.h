/*
 * Included before every file of the simulated GPU (test/sim/sim.mk) and of the wheel's libunwind.
 * Keeps these libraries loadable on glibc 2.28: binds calls to the versions that functions had
 * before glibc 2.34 moved them to libc.
 */
#ifndef OLD_GLIBC_H
#define OLD_GLIBC_H

#if defined(__x86_64__) && !defined(__ASSEMBLER__)
#define OLD(name, version) __asm__(".symver " #name "," #name "@GLIBC_" #version)
OLD(dladdr, 2.2.5);
OLD(dlopen, 2.2.5);
OLD(dlsym, 2.2.5);
OLD(pthread_condattr_setclock, 2.3.3);
OLD(pthread_create, 2.2.5);
OLD(pthread_key_create, 2.2.5);
OLD(pthread_once, 2.2.5);
OLD(pthread_rwlock_rdlock, 2.2.5);
OLD(pthread_rwlock_unlock, 2.2.5);
OLD(pthread_rwlock_wrlock, 2.2.5);
OLD(pthread_setname_np, 2.12);
OLD(pthread_setspecific, 2.2.5);
OLD(shm_open, 2.2.5);
OLD(shm_unlink, 2.2.5);
#undef OLD
#endif

#endif
