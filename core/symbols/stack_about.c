/*
 * The table contains names that frameworks and libraries have used for years. A row says which part
 * of a frame must contain a text. It also says how far the frame may be from the innermost frame of
 * its stack. If a library waits on its own account, the innermost frames are the library's. A data
 * loader, in contrast, may be many frames further out.
 */
#include "core/symbols/stack_about.h"

#include <stdio.h>
#include <string.h>

/* The part of a frame that must contain the text. */
enum part {
	FUNCTION,
	/* the last part of the function's name must equal the text; so functions that are defined
	 * within the method do not match */
	METHOD,
	FILE_NAME,
	METHOD_OF_FILE,	  /* a part of the file's name, a colon, and a METHOD */
	METHOD_OF_MODULE, /* the same with the name of a native module */
	MODULE,
};

struct row {
	uint32_t about;
	/* `depth`: if not 0, only this number of frames, the innermost ones, can match */
	uint8_t part, depth;
	const char *text;
};

enum { NEAR = 4, CLOSE = 16 }; /* the values of `depth` besides 0 */

static const struct row rows[] = {
	{ ABOUT_INPUT, FILE_NAME, 0, "torch/utils/data/" },
	{ ABOUT_INPUT, FILE_NAME, 0, "/webdataset/" },
	{ ABOUT_INPUT, FILE_NAME, 0, "/nvidia/dali/" },
	{ ABOUT_INPUT, FILE_NAME, 0, "tensorflow/python/data/" },
	{ ABOUT_INPUT, MODULE, 0, "libdali" },
	{ ABOUT_INPUT, FUNCTION, 0, "DataLoader" },
	{ ABOUT_INPUT, METHOD, 0, "__getitem__" },
	{ ABOUT_FETCH, METHOD, 0, "__next__" },
	{ ABOUT_FETCH, METHOD, 0, "__anext__" },
	{ ABOUT_FETCH, FUNCTION, 0, "Loader" },
	{ ABOUT_FETCH, FUNCTION, 0, "Dataset" },
	{ ABOUT_FETCH, FUNCTION, 0, "get_batch" },
	{ ABOUT_FETCH, FUNCTION, 0, "next_batch" },
	{ ABOUT_FETCH, FUNCTION, 0, "load_batch" },
	{ ABOUT_FETCH, FUNCTION, 0, "make_batch" },
	/* who puts something in waits for no data: a log, or the results of a request */
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "/queue.py:get" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/queues.py:get" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/connection.py:recv" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/connection.py:recv_bytes" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/connection.py:recv_bytes_into" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/connection.py:poll" },
	{ ABOUT_FETCH, METHOD_OF_FILE, 0, "multiprocessing/connection.py:wait" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/datasets/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/torchvision/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/torchaudio/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/PIL/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/h5py/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/imageio/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/pyarrow/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "/pandas/io/" },
	{ ABOUT_FETCH, FILE_NAME, 0, "numpy/lib/npyio" },
	{ ABOUT_FETCH, FILE_NAME, 0, "numpy/lib/_npyio" },
	{ ABOUT_CHILD, FILE_NAME, CLOSE, "/subprocess.py" },
	{ ABOUT_COLLECTIVE, MODULE, 0, "libnccl" },
	{ ABOUT_COLLECTIVE, FUNCTION, 0, "ProcessGroupNCCL" },
	{ ABOUT_COLLECTIVE, FUNCTION, 0, "ProcessGroupGloo" },
	{ ABOUT_COLLECTIVE, FUNCTION, 0, "ProcessGroupMPI" },
	{ ABOUT_COLLECTIVE, FILE_NAME, 0, "torch/distributed/distributed_c10d" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcublas" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcudnn" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcufft" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcusolver" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcusparse" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libcurand" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libnccl" },
	{ ABOUT_LIBRARY, MODULE, NEAR, "libnvinfer" },
	{ ABOUT_ALLOCATOR, FUNCTION, CLOSE, "CachingAllocator" },
	{ ABOUT_ALLOCATOR, FUNCTION, CLOSE, "CachingHostAllocator" },
	{ ABOUT_ALLOCATOR, FUNCTION, CLOSE, "emptyCache" },
	{ ABOUT_ALLOCATOR, FUNCTION, CLOSE, "empty_cache" },
	{ ABOUT_MAKING_ROOM, FUNCTION, CLOSE, "release_available_cached_blocks" },
	{ ABOUT_MAKING_ROOM, FUNCTION, CLOSE, "release_cached_blocks" },
	{ ABOUT_MAKING_ROOM, FUNCTION, CLOSE, "garbage_collect_cached_blocks" },
	{ ABOUT_EMPTY_CACHE, FUNCTION, CLOSE, "emptyCache" },
	{ ABOUT_EMPTY_CACHE, FUNCTION, CLOSE, "empty_cache" },
	{ ABOUT_WAIT, FILE_NAME, CLOSE, "torch/cuda/" },
	{ ABOUT_WAIT, FILE_NAME, CLOSE, "cupy/cuda/" },
	{ ABOUT_NUMBERS, FUNCTION, 0, "internal_new_from_data" },
	{ ABOUT_NUMBERS, FUNCTION, 0, "torch::utils::tensor_ctor" },
	{ ABOUT_NUMBERS, FUNCTION, 0, "torch::utils::new_tensor" },
	{ ABOUT_BACKWARD, FILE_NAME, 0, "torch/autograd/graph.py" },
	{ ABOUT_BACKWARD, FILE_NAME, 0, "torch/autograd/__init__.py" },
	{ ABOUT_EXIT, METHOD_OF_MODULE, 0, "libc.so:exit" },
	{ ABOUT_EXIT, METHOD_OF_MODULE, 0, "libc.so:__run_exit_handlers" },
	{ ABOUT_EXIT, METHOD, 0, "Py_FinalizeEx" },
	{ ABOUT_WORKER, FUNCTION, 0, "Engine::thread_init" },
	{ ABOUT_WORKER, FUNCTION, 0, "Engine::thread_main" },
	{ ABOUT_WORKER, FUNCTION, 0, "Engine::evaluate_function" },
};

static bool is_last_name(const char *function, const char *name)
{
	size_t n = strlen(function), n_name = strlen(name);
	return n >= n_name && !strcmp(function + n - n_name, name) &&
	       (n == n_name || function[n - n_name - 1] == '.');
}

static bool is_method_of(const char *file_name, const struct frame *frame, const char *text)
{
	char file[64];
	size_t n = strcspn(text, ":");
	snprintf(file, sizeof(file), "%.*s", (int)n, text);
	return strstr(file_name, file) && is_last_name(frame->function, text + n + 1);
}

static bool matches(const struct row *row, const struct frame *frame)
{
	switch (row->part) {
	case FUNCTION:
		return strstr(frame->function, row->text);
	case METHOD:
		return is_last_name(frame->function, row->text);
	case FILE_NAME:
		return strstr(frame->file, row->text);
	case METHOD_OF_FILE:
		return is_method_of(frame->file, frame, row->text);
	case METHOD_OF_MODULE:
		return is_method_of(frame->module, frame, row->text);
	default:
		return strstr(frame->module, row->text);
	}
}

unsigned stack_about_depth(size_t number)
{
	return (number >= NEAR) + (number >= CLOSE);
}

void stack_about_match(const struct frame *frame, uint32_t about[ABOUT_DEPTHS])
{
	memset(about, 0, ABOUT_DEPTHS * sizeof(*about));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned n = rows[i].depth ? stack_about_depth(rows[i].depth) : ABOUT_DEPTHS;
		if (!matches(&rows[i], frame))
			continue;
		for (unsigned k = 0; k < n; k++)
			about[k] |= rows[i].about;
	}
}
