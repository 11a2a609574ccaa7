/*
 * Stand-ins for the libraries that PyTorch links: cuBLAS, cuBLASLt, cuDNN, NCCL, cuSOLVER,
 * cuSPARSE, cuSPARSELt, cuFFT, cuFile. Each call launches a kernel with a descriptive name on its
 * handle's stream. The launch goes through the driver (dlopen, dlsym, cuGetProcAddress_v2), as in
 * NVIDIA's own libraries, so a profiler sees no public runtime call. The functions use plain types,
 * so that no library's header is needed.
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
	void *scratch; /* device memory for a number that is copied to the host; NULL: none yet */
};

/* Launches a kernel. Returns 0 or a CUresult. */
int libs_launch(void *stream, const char *kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z,
		unsigned threads);
/*
 * Launches a kernel that ends when `meets` says. In a graph it takes PROFSIM_KERNEL_US instead.
 * Sets `met` to whether `meets` will be called; only then is `arg` owned by the kernel.
 */
int libs_launch_meeting(void *stream, const char *kernel, unsigned blocks, sim_meeting *meets,
			void *arg, bool *met);
/* Returns NULL if the driver is not the simulated one. */
const struct sim_tools *libs_tools(void);
/* Returns the types of a product's operands and result, in the form that kernel names contain. */
const char *libs_type_name(int type);
int libs_allocate(void **out, size_t bytes);
int libs_free(void *memory);
int libs_copy_on(void *stream, void *to, const void *from, size_t bytes);
enum libs_direction { LIBS_TO_DEVICE, LIBS_TO_HOST };
/* Copies `height` rows of `width` bytes between host and device. */
int libs_copy_2d(void *stream, void *to, size_t to_pitch, const void *from, size_t from_pitch,
		 size_t width, size_t height, enum libs_direction direction, bool waits);
int libs_wait(void *stream);

/* The generated entry points call these functions. libs_create also makes a struct libs_handle. */
int libs_compute(void *handle, const char *function);
int libs_number(void *handle, const char *function, void *result, size_t bytes, int value);
/* Does nothing, because nothing depends on what the function sets. */
int libs_nothing(const char *function);
/* Names the function once on stderr, and returns `status`. */
int libs_missing(const char *function, int status);
int libs_create(void **out);
int libs_destroy(void *object);
int libs_set_stream(void *handle, void *stream);

#define CUBLAS_FAILED	    13
#define LIBS_CUBLAS_VERSION 130100 /* of CUDA 13.0 */
#define CUDNN_FAILED	    5000

/* The entry points of a library's handle: LIBS_CREATE creates one, LIBS_MEMBER sets and gets one of
 * its members. */
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
