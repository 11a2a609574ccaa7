/* Decides whether a frame is user code or a library's, by the tables in origin.c. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

#include <stdbool.h>

/* `file`: of a Python code object. */
bool origin_is_python_library(const char *file);

/* Returns whether a Python library is a layer between the user's call and the GPU, like PyTorch. An
 * application installed with pip is a library too, but its lines are more useful than PyTorch's. */
bool origin_is_framework(const char *file);

/* `path`: of an object. */
bool origin_is_native_library(const char *path);

/* `file`: source file of native code, such as a library's templates compiled into the user's
 * object. */
bool origin_is_library_source(const char *file);

bool origin_is_profrun(const char *path);

#endif
