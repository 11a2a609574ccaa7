/* See outfile.h. For programs with one thread: all files share the time of the last sync. */
#include "export/outfile.h"

#include "core/util/vec.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
	PACKED_BYTES = 256 << 10,
	SYNC_EVERY_MS = 250,
	GZIP_WINDOW = 15 + 16, /* 32 KiB window; + 16 asks zlib for a gzip header */
};

int make_folders(const char *path, struct err *e)
{
	char part[PATH_MAX];
	size_t n = strlen(path);
	if (n >= sizeof(part))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] && path[i] != '/')
			continue;
		memcpy(part, path, i);
		part[i] = 0;
		if (mkdir(part, 0777) && errno != EEXIST)
			return err_set(e, -errno, "cannot make the folder %.160s: %s", part,
				       strerror(errno));
	}
	struct stat status;
	if (stat(path, &status))
		return err_set(e, -errno, "%.180s: %s", path, strerror(errno));
	if (!S_ISDIR(status.st_mode))
		return err_set(e, -ENOTDIR, "%.180s exists and is not a folder", path);
	return 0;
}

static int make_parent(const char *path, struct err *e)
{
	char parent[PATH_MAX];
	const char *slash = strrchr(path, '/');
	if (!slash || slash == path)
		return 0;
	size_t n = (size_t)(slash - path);
	if (n >= sizeof(parent))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	memcpy(parent, path, n);
	parent[n] = 0;
	return make_folders(parent, e);
}

static int start_gzip(struct outfile *o, int level, struct err *e)
{
	o->z = mem_zero(sizeof(*o->z));
	o->packed = mem_resize(NULL, PACKED_BYTES);
	if (deflateInit2(o->z, level, Z_DEFLATED, GZIP_WINDOW, 9, Z_DEFAULT_STRATEGY) == Z_OK)
		return 0;
	free(o->z);
	o->z = NULL;
	return err_set(e, -ENOMEM, "%.180s: cannot initialize zlib", o->path);
}

int outfile_open(struct outfile *o, const char *path, int level, struct err *e)
{
	memset(o, 0, sizeof(*o));
	o->fd = -1;
	int error = make_parent(path, e);
	if (error)
		return error;
	snprintf(o->path, sizeof(o->path), "%s", path);
	if (snprintf(o->hidden, sizeof(o->hidden), "%s.%d.part", path, (int)getpid()) >=
	    (int)sizeof(o->hidden))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	o->fd = open(o->hidden, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (o->fd < 0)
		return err_set(e, -errno, "cannot write %.180s: %s", path, strerror(errno));
	if (level && (error = start_gzip(o, level, e)))
		outfile_abandon(o);
	return error;
}

static void put(struct outfile *o, const uint8_t *bytes, size_t n)
{
	o->bytes_out += n;
	while (n && !o->error) {
		ssize_t written = write(o->fd, bytes, n);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0) {
			o->error = written < 0 ? -errno : -EIO;
			return;
		}
		bytes += written;
		n -= (size_t)written;
	}
}

static void pack(struct outfile *o, const void *bytes, size_t n, int flush)
{
	o->z->next_in = (Bytef *)(uintptr_t)bytes;
	o->z->avail_in = (uInt)n;
	do {
		o->z->next_out = o->packed;
		o->z->avail_out = PACKED_BYTES;
		deflate(o->z, flush);
		put(o, o->packed, PACKED_BYTES - o->z->avail_out);
	} while (!o->z->avail_out && !o->error);
}

void outfile_write(struct outfile *o, const void *bytes, size_t n)
{
	o->bytes_in += n;
	if (o->error)
		return;
	if (o->z)
		pack(o, bytes, n, Z_NO_FLUSH);
	else
		put(o, bytes, n);
}

static void release(struct outfile *o)
{
	if (o->z)
		deflateEnd(o->z);
	free(o->z);
	free(o->packed);
	if (o->fd >= 0)
		close(o->fd);
	o->fd = -1;
	o->z = NULL;
	o->packed = NULL;
}

void outfile_abandon(struct outfile *o)
{
	release(o);
	unlink(o->hidden);
}

/*
 * Syncs the file before it is renamed, so that the file is complete or absent even after the
 * machine crashes. Does nothing within SYNC_EVERY_MS of the last sync, because syncs slow down the
 * application: the disk's interrupts also reach its cores. Several hundred synced traces per second
 * took 5 % of the application's time (test/torch/bench.py). A file that was not synced is complete
 * or absent unless the kernel crashes.
 */
static void sync_at_times(struct outfile *o)
{
	static uint64_t synced_ms;
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	uint64_t now_ms = (uint64_t)t.tv_sec * 1000 + (uint64_t)t.tv_nsec / 1000000;
	if (synced_ms && now_ms - synced_ms < SYNC_EVERY_MS)
		return;
	synced_ms = now_ms;
	if (fsync(o->fd) && errno != EINVAL && errno != EROFS)
		o->error = -errno;
}

static int put_in_place(struct outfile *o, bool waits, struct err *e)
{
	if (o->z && !o->error)
		pack(o, NULL, 0, Z_FINISH);
	if (waits && !o->error)
		sync_at_times(o);
	if (!o->error && rename(o->hidden, o->path))
		o->error = -errno;
	if (o->error) {
		outfile_abandon(o);
		return err_set(e, o->error, "cannot write %.180s: %s", o->path,
			       strerror(-o->error));
	}
	release(o);
	return 0;
}

int outfile_close(struct outfile *o, struct err *e)
{
	return put_in_place(o, true, e);
}

int outfile_refresh(struct outfile *o, struct err *e)
{
	return put_in_place(o, false, e);
}

void outfile_sweep(const char *folder, pid_t pid)
{
	char suffix[32];
	char *roots[] = { (char *)(uintptr_t)folder, NULL };
	size_t n = (size_t)snprintf(suffix, sizeof(suffix), ".%d.part", (int)pid);
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; all && (entry = fts_read(all));) {
		size_t length = entry->fts_namelen;
		if (entry->fts_info == FTS_F && length > n &&
		    !strcmp(entry->fts_name + length - n, suffix))
			unlink(entry->fts_accpath);
	}
	if (all)
		fts_close(all);
}
