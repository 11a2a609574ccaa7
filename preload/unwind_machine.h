/*
 * The machine-dependent part of stack walking. `bp` stands for the register that may point to a
 * frame: rbp on x86-64, x29 on AArch64.
 */
#ifndef PRELOAD_UNWIND_MACHINE_H
#define PRELOAD_UNWIND_MACHINE_H

#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

#if defined(__x86_64__)

/* Address of the return address. The call instruction pushed it, so it is always the last word
 * before the frame's end. */
#define MACHINE_RETURN_AT(cfa, what) ((cfa)-8)

enum {
	MACHINE_HAS_LINK_REGISTER = 0,
	MACHINE_CFA_LEAST = 8,
	/* frames with a frame pointer end with two words at bp: the caller's bp and the return
	 * address */
	MACHINE_FRAME_RECORD = 16,
	/* Offsets of the registers that the kernel saved, relative to the stack pointer when a
	 * signal handler returns. */
	MACHINE_SIGNAL_IP = offsetof(ucontext_t, uc_mcontext.gregs[REG_RIP]),
	MACHINE_SIGNAL_SP = offsetof(ucontext_t, uc_mcontext.gregs[REG_RSP]),
	MACHINE_SIGNAL_BP = offsetof(ucontext_t, uc_mcontext.gregs[REG_RBP]),
	MACHINE_SIGNAL_LINK = 0,
	MACHINE_SIGNAL_BYTES = sizeof(ucontext_t),
};

/* The code to which a signal handler returns: mov $__NR_rt_sigreturn, %rax; syscall. */
#define MACHINE_SIGNAL_RETURN "\x48\xc7\xc0\x0f\x00\x00\x00\x0f\x05"

static inline uint64_t machine_address(uint64_t word)
{
	return word;
}

#elif defined(__aarch64__)

#define MACHINE_RETURN_AT(cfa, what) ((cfa) + rule_return(what))

enum {
	MACHINE_HAS_LINK_REGISTER = 1,
	/* 0: the frame record may be anywhere in its frame, so it does not mark the frame's end */
	MACHINE_FRAME_RECORD = 0,
	MACHINE_CFA_LEAST = 0, /* a leaf function need not move the stack pointer */
	/* Offsets in the kernel's struct rt_sigframe: 128 bytes of siginfo, then the context. */
	MACHINE_SIGNAL_IP = 128 + offsetof(ucontext_t, uc_mcontext.pc),
	MACHINE_SIGNAL_SP = 128 + offsetof(ucontext_t, uc_mcontext.sp),
	MACHINE_SIGNAL_BP = 128 + offsetof(ucontext_t, uc_mcontext.regs[29]),
	MACHINE_SIGNAL_LINK = 128 + offsetof(ucontext_t, uc_mcontext.regs[30]),
	MACHINE_SIGNAL_BYTES = 128 + sizeof(ucontext_t),
};

/* The code to which a signal handler returns: mov x8, #__NR_rt_sigreturn; svc #0. */
#define MACHINE_SIGNAL_RETURN	     "\x68\x11\x80\xd2\x01\x00\x00\xd4"

/* Strips the pointer authentication code from a return address. The instruction, xpaclri, does
 * nothing on CPUs without pointer authentication. */
static inline uint64_t machine_address(uint64_t word)
{
	register uint64_t x30 __asm__("x30") = word;
	__asm__("hint 7" : "+r"(x30));
	return x30;
}

#else
#error "stack walking does not support this machine"
#endif

#endif
