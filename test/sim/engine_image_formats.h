/*
 * The readers of the formats that an image of device code may have; see engine_image.h. Each adds
 * the symbols that it finds and sets the versions that the format contains. Returns false if the
 * symbols could not be read.
 */
#ifndef TEST_SIM_ENGINE_IMAGE_FORMATS_H
#define TEST_SIM_ENGINE_IMAGE_FORMATS_H

#include "test/sim/engine_image.h"

void image_add(struct image *image, const char *name, size_t bytes, bool is_kernel);

bool image_is_elf(const void *code);
/* `bytes`: the size of the cubin, SIZE_MAX if it is unknown. */
bool image_read_elf(const void *code, size_t bytes, struct image *out);

/* `text` may be any bytes that end in NUL. */
bool image_is_ptx(const char *text);
bool image_read_ptx(const char *text, struct image *out);

#endif
