/* Decides whether a frame is user code or library code, by the tables in origin.c. */
#ifndef CORE_ORIGIN_H
#define CORE_ORIGIN_H

#include <stdbool.h>

/* Returns whether Python code is library code. `file` is the file of the code object. */
bool origin_is_python_library(const char *file);

/* Returns whether the standard library generated this Python function. Its file is "<string>", as
 * that of the user's code in `python -c`. */
bool origin_is_generated(const char *function);

/*
 * Returns whether Python code belongs to a framework: a library that is a layer between the user's
 * call and the GPU, such as PyTorch. An application that was installed with pip is a library, too,
 * but not a framework: its lines are more useful to the user than PyTorch's lines.
 */
bool origin_is_framework(const char *file);

/* Returns whether an executable or shared library is library code. `path` is its file. */
bool origin_is_native_library(const char *path);

/* Returns whether `path` is the file of the Python interpreter: its executable or its library. */
bool origin_is_interpreter(const char *path);

/* Returns whether a source file of native code is library code. Code of such files, for example a
 * library's templates, can be compiled into the user's executable. */
bool origin_is_library_source(const char *file);

/* Returns whether `path` is the profiler's own library. */
bool origin_is_profrun(const char *path);

#endif
