/*
 * Memory that NCCL allocates (the allocator of a process group's torch.cuda.MemPool), memory that
 * is registered with NCCL, and user-defined operators. Runs on the application's threads.
 */
#include "test/sim/libs_nccl.h"

enum { UNHANDLED_CUDA_ERROR = 1, FIRST_OWN_OPERATOR = 5 };

SIM_EXPORT int ncclMemAlloc(void **out, size_t bytes);
SIM_EXPORT int ncclMemAlloc(void **out, size_t bytes)
{
	return libs_allocate(out, bytes) ? UNHANDLED_CUDA_ERROR : 0;
}

SIM_EXPORT int ncclMemFree(void *memory);
SIM_EXPORT int ncclMemFree(void *memory)
{
	return libs_free(memory) ? UNHANDLED_CUDA_ERROR : 0;
}

/* Registered memory is its own handle. */
SIM_EXPORT int ncclCommRegister(const void *comm, void *memory, size_t bytes, void **handle);
SIM_EXPORT int ncclCommRegister(const void *comm, void *memory, size_t bytes, void **handle)
{
	(void)comm, (void)bytes;
	*handle = memory;
	return 0;
}

SIM_EXPORT int ncclCommWindowRegister(void *comm, void *memory, size_t bytes, void **window,
				      int flags);
SIM_EXPORT int ncclCommWindowRegister(void *comm, void *memory, size_t bytes, void **window,
				      int flags)
{
	(void)flags;
	return ncclCommRegister(comm, memory, bytes, window);
}

SIM_EXPORT int ncclWinGetUserPtr(void *comm, void *window, void **memory);
SIM_EXPORT int ncclWinGetUserPtr(void *comm, void *window, void **memory)
{
	(void)comm;
	*memory = window;
	return 0;
}

/* All operators get the same number, because none of them computes anything. */
SIM_EXPORT int ncclRedOpCreatePreMulSum(int *number, const void *scalar, int type, int residence,
					const void *comm);
SIM_EXPORT int ncclRedOpCreatePreMulSum(int *number, const void *scalar, int type, int residence,
					const void *comm)
{
	(void)scalar, (void)type, (void)residence, (void)comm;
	*number = FIRST_OWN_OPERATOR;
	return 0;
}
