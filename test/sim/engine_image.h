/*
 * What the driver reads from an image of device code: for which GPUs it is, and the names of its
 * kernels and variables. Images are fat binaries, cubins (ELF) and PTX. Their code is never read.
 * Any thread, without engine_lock.
 */
#ifndef TEST_SIM_ENGINE_IMAGE_H
#define TEST_SIM_ENGINE_IMAGE_H

#include "test/sim/engine.h"

struct image_symbol {
	char *name;
	size_t bytes; /* of a variable */
	bool is_kernel;
};

struct image {
	/* Compute capabilities, major * 10 + minor: of the PTX from which the chosen code was
	 * compiled, and of the chosen code. 0: the format of the image is unknown. */
	int ptx_version, binary_version;
	/* `symbols` has all kernels and variables; otherwise perhaps none, or those of code for
	 * another GPU */
	bool has_all;
	bool is_text; /* PTX: has kernels of any name, which tests use */
	struct image_symbol *symbols;
	int count;
	void *packed; /* a copy of compressed code whose symbols were not read yet, or NULL */
};

/*
 * Reads an image as the driver does for a GPU of PROFSIM_CC: of a fat binary it chooses the newest
 * code that the GPU runs, and else the newest PTX. Returns CUDA_ERROR_NO_BINARY_FOR_GPU if there is
 * neither. Accepts an image in an unknown format, as one without symbols. The caller frees `out`
 * with image_free(), and may free `code` at once.
 */
CUresult image_read(const void *code, struct image *out);
void image_free(struct image *image);
/*
 * Decompresses the code if its symbols were not read yet, with the system's libzstd or liblz4.
 * Takes milliseconds for large code. Any thread, without engine_lock.
 */
void image_unpack(struct image *image);
/* Returns a file's bytes and then NUL, or NULL if it cannot be read. The caller frees it. */
char *image_load(const char *path, size_t *bytes);
/* Returns NULL if the image has no such symbol, as far as they were read. */
const struct image_symbol *image_find(const struct image *image, const char *name, bool is_kernel);
/* Adds the symbols of `from`, as a linker does. */
void image_merge(struct image *to, const struct image *from);
/*
 * Writes a cubin with the image's symbols and without code, which image_read() reads. Returns it
 * and sets `bytes`; the caller frees it.
 */
void *image_write(const struct image *image, size_t *bytes);
/* Returns the simulated GPU's compute capability, major * 10 + minor. */
int image_device(void);

#endif
