/*
 * See zip.h. An entry's header is written before its size is known, and again after it. It has room
 * for sizes of 4 GiB or more (ZIP64), so that it never changes its length. Old readers do not know
 * ZIP64, so it is used only where it is needed.
 */
#include "export/zip.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

enum {
	BUFFER_BYTES = 1 << 16,
	LEVEL = 1,
	VERSION = 20,
	VERSION_64 = 45,
	DEFLATED = 8,
	SIGNATURE_LOCAL = 0x04034b50,
	SIGNATURE_CENTRAL = 0x02014b50,
	SIGNATURE_END = 0x06054b50,
	SIGNATURE_END_64 = 0x06064b50,
	SIGNATURE_LOCATOR_64 = 0x07064b50,
	EXTRA_64 = 1,	     /* id of the field with the ZIP64 sizes */
	EXTRA_NONE = 0xd935, /* id of a field that only takes room */
	MS_DOS_DATE = 33,    /* 1980-01-01: archives of equal content are equal */
	HEADER_BYTES = 400,
};

#define IN_EXTRA UINT32_MAX /* the value is in the ZIP64 field */

/* A header that is being put together, little-endian. */
struct header {
	uint8_t bytes[HEADER_BYTES];
	size_t n;
};

static void put(struct header *h, uint64_t value, unsigned n_bytes)
{
	for (unsigned i = 0; i < n_bytes; i++)
		h->bytes[h->n++] = (uint8_t)(value >> (8 * i));
}

static void put_32(struct header *h, uint64_t value, bool is_64)
{
	put(h, is_64 ? IN_EXTRA : value, 4);
}

/* The fields that local and central headers share. */
static void put_common(struct header *h, const struct zip_entry *x, bool is_64,
		       unsigned extra_bytes)
{
	put(h, is_64 ? VERSION_64 : VERSION, 2);
	put(h, 0, 2); /* flags */
	put(h, DEFLATED, 2);
	put(h, 0, 2); /* time */
	put(h, MS_DOS_DATE, 2);
	put(h, x->crc, 4);
	put_32(h, x->packed, is_64);
	put_32(h, x->bytes, is_64);
	put(h, strlen(x->name), 2);
	put(h, extra_bytes, 2);
}

static void put_name(struct header *h, const struct zip_entry *x)
{
	memcpy(h->bytes + h->n, x->name, strlen(x->name));
	h->n += strlen(x->name);
}

static bool is_large(const struct zip_entry *x)
{
	return x->bytes >= IN_EXTRA || x->packed >= IN_EXTRA;
}

static struct header local_header(const struct zip_entry *x)
{
	struct header h = { .n = 0 };
	put(&h, SIGNATURE_LOCAL, 4);
	put_common(&h, x, is_large(x), 4 + 16);
	put_name(&h, x);
	put(&h, is_large(x) ? EXTRA_64 : EXTRA_NONE, 2);
	put(&h, 16, 2);
	put(&h, is_large(x) ? x->bytes : 0, 8);
	put(&h, is_large(x) ? x->packed : 0, 8);
	return h;
}

static void write_central(struct zip *z, const struct zip_entry *x)
{
	struct header h = { .n = 0 };
	bool is_64 = is_large(x) || x->at >= IN_EXTRA;
	put(&h, SIGNATURE_CENTRAL, 4);
	put(&h, VERSION_64, 2); /* of the writer */
	put_common(&h, x, is_64, is_64 ? 4 + 24 : 0);
	put(&h, 0, 2); /* length of a comment */
	put(&h, 0, 2); /* number of the disk */
	put(&h, 0, 2); /* attributes */
	put(&h, 0, 4);
	put_32(&h, x->at, is_64);
	put_name(&h, x);
	if (is_64) {
		put(&h, EXTRA_64, 2);
		put(&h, 24, 2);
		put(&h, x->bytes, 8);
		put(&h, x->packed, 8);
		put(&h, x->at, 8);
	}
	outfile_write(&z->out, h.bytes, h.n);
}

static void put_end_64(struct header *h, uint64_t n, uint64_t at, uint64_t bytes)
{
	put(h, SIGNATURE_END_64, 4);
	put(h, 44, 8); /* bytes that follow in this record */
	put(h, VERSION_64, 2);
	put(h, VERSION_64, 2);
	put(h, 0, 8); /* disks */
	put(h, n, 8);
	put(h, n, 8);
	put(h, bytes, 8);
	put(h, at, 8);
	put(h, SIGNATURE_LOCATOR_64, 4);
	put(h, 0, 4);
	put(h, at + bytes, 8);
	put(h, 1, 4);
}

static void write_end(struct zip *z, uint64_t at, uint64_t bytes)
{
	struct header h = { .n = 0 };
	uint64_t n = z->entries.n;
	bool is_64 = n >= UINT16_MAX || at >= IN_EXTRA || bytes >= IN_EXTRA;
	if (is_64)
		put_end_64(&h, n, at, bytes);
	put(&h, SIGNATURE_END, 4);
	put(&h, 0, 4); /* disks */
	put(&h, is_64 ? UINT16_MAX : n, 2);
	put(&h, is_64 ? UINT16_MAX : n, 2);
	put_32(&h, bytes, is_64);
	put_32(&h, at, is_64);
	put(&h, 0, 2); /* length of a comment */
	outfile_write(&z->out, h.bytes, h.n);
}

int zip_open(struct zip *z, const char *path, struct err *e)
{
	memset(z, 0, sizeof(*z));
	int error = outfile_open(&z->out, path, 0, e);
	if (!error)
		z->buffer = mem_resize(NULL, BUFFER_BYTES);
	return error;
}

static struct zip_entry *last(struct zip *z)
{
	return &z->entries.at[z->entries.n - 1];
}

void zip_begin(struct zip *z, const char *name)
{
	enum { NAME_MOST = 200 };
	char text[NAME_MOST];
	snprintf(text, sizeof(text), "%s", name);
	vec_push(&z->entries, (struct zip_entry){ .name = mem_text(text),
						  .at = z->out.bytes_out,
						  .crc = (uint32_t)crc32(0, NULL, 0) });
	struct header h = local_header(last(z));
	outfile_write(&z->out, h.bytes, h.n);
	z->z = (z_stream){ 0 };
	if (deflateInit2(&z->z, LEVEL, Z_DEFLATED, -MAX_WBITS, 9, Z_DEFAULT_STRATEGY) != Z_OK)
		mem_check(NULL, 0);
	z->is_open = true;
}

static void pack(struct zip *z, const void *bytes, size_t n, int flush)
{
	z->z.next_in = (Bytef *)(uintptr_t)bytes;
	z->z.avail_in = (uInt)n;
	do {
		z->z.next_out = z->buffer;
		z->z.avail_out = BUFFER_BYTES;
		deflate(&z->z, flush);
		outfile_write(&z->out, z->buffer, BUFFER_BYTES - z->z.avail_out);
	} while (!z->z.avail_out);
}

void zip_write(struct zip *z, const void *bytes, size_t n)
{
	const size_t most = 1 << 30; /* zlib counts in 32 bits */
	for (const uint8_t *at = bytes; n;) {
		size_t part = n < most ? n : most;
		pack(z, at, part, Z_NO_FLUSH);
		last(z)->crc = (uint32_t)crc32(last(z)->crc, at, (uInt)part);
		last(z)->bytes += part;
		at += part;
		n -= part;
	}
}

void zip_end(struct zip *z)
{
	struct zip_entry *x = last(z);
	pack(z, NULL, 0, Z_FINISH);
	deflateEnd(&z->z);
	z->is_open = false;
	size_t bytes = local_header(x).n;
	x->packed = z->out.bytes_out - x->at - bytes;
	struct header h = local_header(x);
	if (!z->out.error && pwrite(z->out.fd, h.bytes, h.n, (off_t)x->at) != (ssize_t)h.n)
		z->out.error = -EIO;
}

void zip_drop(struct zip *z)
{
	struct zip_entry *x = last(z);
	deflateEnd(&z->z);
	z->is_open = false;
	if (!z->out.error &&
	    (ftruncate(z->out.fd, (off_t)x->at) || lseek(z->out.fd, (off_t)x->at, SEEK_SET) < 0))
		z->out.error = -errno;
	z->out.bytes_out = x->at;
	free(x->name);
	z->entries.n--;
}

static void release(struct zip *z)
{
	if (z->is_open)
		deflateEnd(&z->z);
	for (size_t i = 0; i < z->entries.n; i++)
		free(z->entries.at[i].name);
	vec_free(&z->entries);
	free(z->buffer);
}

int zip_close(struct zip *z, struct err *e)
{
	uint64_t at = z->out.bytes_out;
	for (size_t i = 0; i < z->entries.n; i++)
		write_central(z, &z->entries.at[i]);
	write_end(z, at, z->out.bytes_out - at);
	release(z);
	return outfile_close(&z->out, e);
}

void zip_abandon(struct zip *z)
{
	release(z);
	outfile_abandon(&z->out);
}
