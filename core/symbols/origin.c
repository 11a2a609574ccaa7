/*
 * The user's own is everything that no row here calls a library. A row too few shows a library's line as the user's; a row too
 * many hides the user's: rows name places where people do not write code.
 */
#include "core/symbols/origin.h"

#include "core/util/path.h"

#include <ctype.h>
#include <stddef.h>
#include <string.h>

enum how {
	BEGINS,	  /* the path begins with the text */
	CONTAINS, /* it stands anywhere in the path */
	NAMED, /* the file's name is the text, up to '.', '-' or the end: libcudart.so.13, libcudart-d5f2.so */
	NAMED_AS, /* the file's name begins with the text */
};

struct row {
	enum how how;
	const char *text;
};

static bool row_matches(const struct row *row, const char *path)
{
	size_t n = strlen(row->text);
	const char *name = path_base(path);
	switch (row->how) {
	case BEGINS:
		return !strncmp(path, row->text, n);
	case CONTAINS:
		return strstr(path, row->text) != NULL;
	case NAMED:
		return !strncmp(name, row->text, n) && !isalnum((unsigned char)name[n]) &&
		       name[n] != '_';
	case NAMED_AS:
		return !strncmp(name, row->text, n);
	}
	return false;
}

static bool any_matches(const struct row *rows, size_t n, const char *path)
{
	for (size_t i = 0; i < n; i++)
		if (row_matches(&rows[i], path))
			return true;
	return false;
}

#define is_in(rows, path) any_matches(rows, sizeof(rows) / sizeof(*(rows)), path)

/* ".../lib/python3.12/...": the standard library, and what is installed beside it. */
static bool is_in_python_lib(const char *path)
{
	static const char *const places[] = { "/lib/python", "/lib64/python", "/pypy" };
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		const char *at = path;
		while ((at = strstr(at, places[i])) != NULL) {
			at += strlen(places[i]);
			size_t n = strspn(at, "0123456789.t"); /* 3.13t: free-threaded */
			if (n && (at[n] == '/' || !strncmp(at + n, "zip/", 4)))
				return true;
		}
	}
	return false;
}

/* pip's stub that starts an installed command: ".../bin/torchrun". */
static bool is_command_stub(const char *file)
{
	const char *name = path_base(file);
	return name - file >= 5 && !strncmp(name - 5, "/bin/", 5) && !strchr(name, '.');
}

/* "<string>" (python -c), "<stdin>" and "<ipython-input-...>" are the user's. */
static const struct row python_libraries[] = {
	{ CONTAINS, "/site-packages/" },
	{ CONTAINS, "/dist-packages/" },
	{ BEGINS, "<frozen " },
	{ BEGINS, "<__array_function__" },
	{ BEGINS, "<decorator-gen" },
	{ BEGINS, "<attrs generated" },
	{ BEGINS, "<eval_with_key>" }, /* torch.fx */
	{ BEGINS, "<torch_package" },
	{ BEGINS, "<template>" },
	{ CONTAINS, "/torchinductor_" }, /* what torch.compile wrote */
	{ CONTAINS, "/torch_compile_debug/" },
	{ CONTAINS, "/.triton/" },
	{ CONTAINS, "/pytorch/torch/" }, /* PyTorch built from its own tree */
	{ CONTAINS, ".zip/" },
};

bool origin_is_python_library(const char *file)
{
	return is_in(python_libraries, file) || is_in_python_lib(file) || is_command_stub(file);
}

static const char *const frameworks[] = {
	"torch",
	"torchgen",
	"functorch",
	"triton",
	"torchvision",
	"torchaudio",
	"apex",
	"flash_attn",
	"xformers",
	"jax",
	"jaxlib",
	"flax",
	"optax",
	"tensorflow",
	"keras",
	"tensorboard",
	"cupy",
	"cupyx",
	"cupy_backends",
	"numba",
	"numba_cuda",
	"numpy",
	"scipy",
	"cuda",
	"pycuda",
	"warp",
	"nvtx",
	"lightning",
	"pytorch_lightning",
	"lightning_fabric",
	"accelerate",
	"deepspeed",
	"transformers",
	"mpi4py",
	"bitsandbytes",
	"einops",
	"tqdm",
};

bool origin_is_framework(const char *file)
{
	static const char *const places[] = { "/site-packages/", "/dist-packages/" };
	const char *package = NULL;
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++)
		for (const char *at = file; (at = strstr(at, places[i])) != NULL; package = at)
			at += strlen(places[i]);
	if (!package)
		return origin_is_python_library(file);
	size_t n = strcspn(package, "/.");
	for (size_t i = 0; i < sizeof(frameworks) / sizeof(*frameworks); i++)
		if (strlen(frameworks[i]) == n && !memcmp(frameworks[i], package, n))
			return true;
	return false;
}

static const struct row native_libraries[] = {
	{ BEGINS, "/lib/" },
	{ BEGINS, "/lib64/" },
	{ BEGINS, "/usr/lib/" },
	{ BEGINS, "/usr/lib64/" },
	{ BEGINS, "/usr/local/lib/" },
	{ BEGINS, "/usr/local/cuda" },
	{ BEGINS, "/usr/local/nvidia/" },
	{ BEGINS, "/opt/nvidia/" },
	{ BEGINS, "/opt/cuda/" },
	{ BEGINS, "/opt/intel/" },
	{ BEGINS, "/opt/hpcx/" },
	{ BEGINS, "/nix/store/" },
	{ BEGINS, "/snap/" },
	{ BEGINS, "[" }, /* [vdso] */
	{ NAMED, "linux-vdso" },
	{ CONTAINS, "/site-packages/" },
	{ CONTAINS, "/dist-packages/" },
	{ CONTAINS, "conda3/" },
	{ CONTAINS, "/conda/" },
	{ CONTAINS, "/miniforge" },
	{ CONTAINS, "/mambaforge" },
	{ CONTAINS, "/spack/" },
	{ CONTAINS, "/torchinductor_" },
	{ CONTAINS, "/.triton/" },
	{ CONTAINS, "/pytorch/torch/lib/" },
	/* wherever somebody put them */
	{ NAMED, "python" },
	{ NAMED, "python3" },
	{ NAMED, "libpython3" },
	{ NAMED, "ld-linux" },
	{ NAMED, "libc" },
	{ NAMED, "libstdc++" },
	{ NAMED, "libgcc_s" },
	{ NAMED, "libcuda" },
	{ NAMED, "libcudart" },
	{ NAMED, "libcupti" },
	{ NAMED, "libnccl" },
	{ NAMED_AS, "libcublas" },
	{ NAMED_AS, "libcudnn" },
	{ NAMED_AS, "libcufft" },
	{ NAMED_AS, "libcusparse" },
	{ NAMED_AS, "libcusolver" },
	{ NAMED_AS, "libcurand" },
	{ NAMED_AS, "libcutensor" },
	{ NAMED_AS, "libnvrtc" },
	{ NAMED_AS, "libnvJitLink" },
	{ NAMED_AS, "libnvToolsExt" },
	{ NAMED_AS, "libnvidia-" },
	{ NAMED_AS, "libtorch" },
	{ NAMED_AS, "libc10" },
	{ NAMED_AS, "libjax" },
	{ NAMED_AS, "libtensorflow" },
};

bool origin_is_profrun(const char *path)
{
	static const struct row own[] = { { NAMED, "libprofrun" } };
	return is_in(own, path);
}

bool origin_is_native_library(const char *path)
{
	return is_in(native_libraries, path) || is_in_python_lib(path) || origin_is_profrun(path);
}

static const struct row library_sources[] = {
	{ BEGINS, "/usr/include/" },
	{ BEGINS, "/usr/lib/" },
	{ BEGINS, "/usr/local/include/" },
	{ BEGINS, "/usr/local/cuda" },
	{ CONTAINS, "/site-packages/" },
	{ CONTAINS, "/dist-packages/" },
	{ CONTAINS, "/include/c++/" },
	{ CONTAINS, "/nvidia/cu13/" },
	{ CONTAINS, "/targets/x86_64-linux/include/" },
	{ CONTAINS, "/targets/sbsa-linux/include/" },
	{ CONTAINS, "/cuda/include/" },
	{ CONTAINS, "/rustc/" }, /* the standard library, as rustc's own build names it */
	{ CONTAINS, "/.cargo/registry/" },
	{ NAMED_AS, "tmpxft_" }, /* nvcc's stubs */
	{ NAMED, "crtstuff.c" },
};

bool origin_is_library_source(const char *file)
{
	return is_in(library_sources, file);
}
