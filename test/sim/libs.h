/*
 * Stand-ins for the libraries that PyTorch links: cuBLAS, cuBLASLt, cuDNN, NCCL, cuSOLVER,
 * cuSPARSE, cuSPARSELt, cuFFT, cuFile. Each call launches a kernel with a descriptive name on its
 * handle's stream, through the driver, as NVIDIA's own libraries do (dlopen, dlsym,
 * cuGetProcAddress_v2): no public runtime call is seen. Types are plain, so that no library's
 * header is needed.
 */
#ifndef TEST_SIM_LIBS_H
#define TEST_SIM_LIBS_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "test/sim/sim_tools.h"

struct libs_handle {
	void *stream;
	int pointer_mode, math_mode;
};

/* 0, or a CUresult. */
int libs_launch(void *stream, const char *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned threads);
/*
 * The same kernel, which ends when `meets` says; its duration in a graph is PROFSIM_KERNEL_US.
 * Takes over `arg` only if true.
 */
int libs_launch_meeting(void *stream, const char *kernel, unsigned blocks, sim_meeting *meets,
			void *arg, bool *met);
/* NULL: the driver is not the simulated one. */
const struct sim_tools *libs_tools(void);
/* Of a product's operands and result, as names of kernels have it. */
const char *libs_type_name(int type);
int libs_allocate(void **out, size_t bytes);
int libs_free(void *memory);
int libs_copy_on(void *stream, void *to, const void *from, size_t bytes);

/* Generated entry points come here. What libs_create makes is a struct libs_handle too. */
int libs_compute(void *handle, const char *function);
int libs_nothing(const char *function);
int libs_create(void **out);
int libs_destroy(void *object);
int libs_set_stream(void *handle, void *stream);

#define CUBLAS_FAILED 13
#define CUDNN_FAILED  5000

/* A library's handle: functions that make one, and that set and get a member of it. */
#define LIBS_CREATE(function)                                 \
	SIM_EXPORT int function(void **out);                  \
	SIM_EXPORT int function(void **out)                   \
	{                                                     \
		*out = calloc(1, sizeof(struct libs_handle)); \
		return 0;                                     \
	}
#define LIBS_MEMBER(set, get, type, member)                      \
	SIM_EXPORT int set(struct libs_handle *h, type member);  \
	SIM_EXPORT int set(struct libs_handle *h, type member)   \
	{                                                        \
		h->member = member;                              \
		return 0;                                        \
	}                                                        \
	SIM_EXPORT int get(struct libs_handle *h, type *member); \
	SIM_EXPORT int get(struct libs_handle *h, type *member)  \
	{                                                        \
		*member = h->member;                             \
		return 0;                                        \
	}

#endif
