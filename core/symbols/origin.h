/* Whose a frame is: the user's own, or of a library that they use. The tables in origin.c are the whole rule. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

#include <stdbool.h>

/* Python code by the file that it says it is from. */
bool origin_is_python_library(const char *file);

/* Among libraries: those that are machinery between the user's call and the GPU. An application that was installed with pip is a
 * library too, but its lines say more than PyTorch's. */
bool origin_is_framework(const char *file);

/* An object by its path. */
bool origin_is_native_library(const char *path);

/* Native code by its source file: templates of a library that were compiled into the user's object. */
bool origin_is_library_source(const char *file);

bool origin_is_profrun(const char *path);

#endif
