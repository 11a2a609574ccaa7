/*
 * Fat binaries, and the choice of code for the simulated GPU. See engine_image.h. The formats of
 * cubins and PTX are in engine_image_elf.c and engine_image_ptx.c. NVIDIA does not document the fat
 * binary; the fields here are as nvcc 12 and 13 write them.
 */
#include "test/sim/engine_image_formats.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

#define WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC  0xba55ed50u

/* What nvcc registers: a pointer to the fat binary. */
struct wrapper {
	uint32_t magic, version;
	const void *fatbin;
};

struct fatbin {
	uint32_t magic;
	uint16_t version, header_bytes;
	uint64_t bytes; /* of all entries */
};

enum { ENTRY_PTX = 1, ENTRY_CUBIN = 2 };
enum { FLAG_LZ4 = 0x2000, FLAG_ZSTD = 0x8000 };

struct entry {
	uint16_t kind, attributes;
	uint32_t header_bytes;
	uint64_t bytes;
	uint32_t packed_bytes, options;
	uint16_t minor, major;
	uint32_t arch;
	uint32_t name_offset, name_bytes;
	uint64_t flags, zero, unpacked_bytes;
};

int image_device(void)
{
	return (int)(engine_settings.cc * 10 + 0.5);
}

/* Returns whether the GPU runs machine code for `arch`: same major version, no newer minor. */
static bool runs_code(int arch)
{
	int device = image_device();
	return arch / 10 == device / 10 && arch <= device;
}

void image_add(struct image *image, const char *name, size_t bytes, bool is_kernel)
{
	/* Double the room whenever the count is a power of two. */
	if (!(image->count & (image->count - 1)))
		image->symbols = realloc(image->symbols, (image->count ? image->count * 2 : 1) *
								 sizeof(*image->symbols));
	image->symbols[image->count++] = (struct image_symbol){ strdup(name), bytes, is_kernel };
}

void image_merge(struct image *to, const struct image *from)
{
	for (int i = 0; i < from->count; i++) {
		const struct image_symbol *s = &from->symbols[i];
		if (!image_find(to, s->name, s->is_kernel))
			image_add(to, s->name, s->bytes, s->is_kernel);
	}
	to->has_all &= from->has_all;
	if (from->ptx_version > to->ptx_version)
		to->ptx_version = from->ptx_version;
}

void image_free(struct image *image)
{
	for (int i = 0; i < image->count; i++)
		free(image->symbols[i].name);
	free(image->symbols);
	free(image->packed);
	*image = (struct image){ .count = 0 };
}

const struct image_symbol *image_find(const struct image *image, const char *name, bool is_kernel)
{
	for (int i = 0; i < image->count; i++)
		if (image->symbols[i].is_kernel == is_kernel &&
		    !strcmp(image->symbols[i].name, name))
			return &image->symbols[i];
	return NULL;
}

/*
 * Decompresses an entry with the system's own library. Returns text that ends in NUL, or NULL if
 * the library is missing. The caller frees it.
 */
static char *entry_unpack(const struct entry *e)
{
	size_t (*zstd)(void *, size_t, const void *, size_t) = NULL;
	int (*lz4)(const char *, char *, int, int) = NULL;
	const char *packed = (const char *)e + e->header_bytes;
	bool is_zstd = e->flags & FLAG_ZSTD;
	void *library = dlopen(is_zstd ? "libzstd.so.1" : "liblz4.so.1", RTLD_NOW);
	if (library && is_zstd)
		*(void **)&zstd = dlsym(library, "ZSTD_decompress");
	else if (library)
		*(void **)&lz4 = dlsym(library, "LZ4_decompress_safe");
	if (!zstd && !lz4)
		return NULL;
	char *text = calloc(1, e->unpacked_bytes + 1);
	size_t n = zstd ? zstd(text, e->unpacked_bytes, packed, e->packed_bytes)
			: (size_t)lz4(packed, text, (int)e->packed_bytes, (int)e->unpacked_bytes);
	if (n != e->unpacked_bytes) {
		free(text);
		return NULL;
	}
	return text;
}

static bool entry_is_packed(const struct entry *e)
{
	return e->flags & (FLAG_LZ4 | FLAG_ZSTD);
}

/* Reads the symbols of an entry. Returns whether that was possible. */
static bool entry_read(const struct entry *e, struct image *out)
{
	char *unpacked = NULL;
	const char *data = (const char *)e + e->header_bytes;
	if (entry_is_packed(e))
		data = unpacked = entry_unpack(e);
	else if (e->kind == ENTRY_PTX)
		data = unpacked = strndup(data, e->bytes);
	bool good = data && (e->kind == ENTRY_PTX ? image_read_ptx(data, out)
						  : image_read_elf(data, e->bytes, out));
	free(unpacked);
	return good;
}

/*
 * Returns the entry that the driver takes: machine code before PTX, and the newest of each.
 */
static const struct entry *entry_choose(const struct fatbin *f)
{
	const char *at = (const char *)f + f->header_bytes, *end = at + f->bytes;
	const struct entry *best = NULL;
	while (at + sizeof(struct entry) <= end) {
		const struct entry *e = (const struct entry *)at;
		bool is_code = e->kind == ENTRY_CUBIN && runs_code((int)e->arch);
		bool is_ptx = e->kind == ENTRY_PTX && (int)e->arch <= image_device();
		if ((is_code || is_ptx) &&
		    (!best || (is_code && best->kind == ENTRY_PTX) ||
		     (is_code == (best->kind == ENTRY_CUBIN) && e->arch > best->arch)))
			best = e;
		if (!e->header_bytes)
			break;
		at += e->header_bytes + e->bytes;
	}
	return best;
}

/* Says once why no kernel of the program can run. */
static void say_no_code(const struct fatbin *f)
{
	static bool said;
	const struct entry *e = (const struct entry *)((const char *)f + f->header_bytes);
	if (__atomic_exchange_n(&said, true, __ATOMIC_RELAXED) || f->bytes < sizeof(*e))
		return;
	sim_log("the program has no code for the simulated GPU, whose compute capability is "
		"%d.%d; PROFSIM_CC=%d.%d simulates the GPU that it was built for",
		image_device() / 10, image_device() % 10, (int)e->arch / 10, (int)e->arch % 10);
}

void image_unpack(struct image *image)
{
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	int ptx_version = image->ptx_version, binary_version = image->binary_version;
	pthread_mutex_lock(&lock);
	if (image->packed) {
		image->has_all = entry_read(image->packed, image);
		image->ptx_version = ptx_version;
		image->binary_version = binary_version;
		free(image->packed);
		image->packed = NULL;
	}
	pthread_mutex_unlock(&lock);
}

static CUresult fatbin_read(const struct fatbin *f, struct image *out)
{
	const struct entry *best = entry_choose(f);
	if (!best) {
		say_no_code(f);
		return CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (!entry_is_packed(best)) {
		out->has_all = entry_read(best, out);
	} else {
		out->packed = malloc(best->header_bytes + best->bytes);
		memcpy(out->packed, best, best->header_bytes + best->bytes);
	}
	if (best->kind == ENTRY_PTX || !out->ptx_version)
		out->ptx_version = (int)best->arch;
	out->binary_version = best->kind == ENTRY_PTX ? image_device() : (int)best->arch;
	return CUDA_SUCCESS;
}

CUresult image_read(const void *code, struct image *out)
{
	uint32_t magic;
	*out = (struct image){ .count = 0 };
	/* PTX may be shorter than the structs of the other formats */
	if (image_is_ptx(code)) {
		out->is_text = true;
		out->has_all = image_read_ptx(code, out);
		out->binary_version = image_device();
		return out->ptx_version <= image_device() ? CUDA_SUCCESS
							  : CUDA_ERROR_NO_BINARY_FOR_GPU;
	}
	if (strnlen(code, sizeof(magic)) < sizeof(magic))
		return CUDA_SUCCESS;
	memcpy(&magic, code, sizeof(magic));
	if (magic == WRAPPER_MAGIC) {
		code = ((const struct wrapper *)code)->fatbin;
		memcpy(&magic, code, sizeof(magic));
	}
	if (magic == FATBIN_MAGIC)
		return fatbin_read(code, out);
	if (!image_is_elf(code))
		return CUDA_SUCCESS;
	out->has_all = image_read_elf(code, SIZE_MAX, out);
	return runs_code(out->binary_version) ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU;
}

char *image_load(const char *path, size_t *bytes)
{
	char *data = NULL;
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	if (fd < 0)
		return NULL;
	off_t size = lseek(fd, 0, SEEK_END);
	if (size >= 0) {
		*bytes = (size_t)size;
		data = calloc(1, *bytes + sizeof(uint64_t));
		if (pread(fd, data, *bytes, 0) != size) {
			free(data);
			data = NULL;
		}
	}
	close(fd);
	return data;
}
