/* See outfile.h. For programs with one thread: all files share the time of the last sync. */
#include "export/outfile.h"

#include "core/util/path.h"
#include "core/util/procfs.h"
#include "core/util/vec.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum {
	FOLDER_MODE = 0775, /* never writable by others, even if the umask allows that */
	FILE_MODE = 0664,
	CREATION_MOST_S = 60,
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
		if (mkdir(part, FOLDER_MODE) && errno != EEXIST)
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

bool others_can_write(const char *folder)
{
	struct stat status;
	if (stat(folder, &status))
		return false;
	return status.st_mode & S_IWOTH || (status.st_uid != geteuid() && status.st_uid != 0);
}

/* Opens the folder of a file, and makes it if it does not exist. Stores the file's name in it. */
static int open_parent(struct outfile *o, const char **name, struct err *e)
{
	char parent[PATH_MAX] = ".";
	const char *slash = strrchr(o->path, '/');
	*name = slash ? slash + 1 : o->path;
	if (slash)
		snprintf(parent, sizeof(parent), "%.*s",
			 slash > o->path ? (int)(slash - o->path) : 1, o->path);
	o->folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (o->folder >= 0)
		return 0;
	int error = make_folders(parent, e);
	if (error)
		return error;
	o->folder = open(parent, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return o->folder >= 0 ? 0
			      : err_set(e, -errno, "cannot open the folder %.160s: %s", parent,
					strerror(errno));
}

/* Locks the file until it is closed. Returns whether it still has its name: outfile_sweep() may
 * have removed it before it was locked. */
static bool is_kept(int fd)
{
	struct stat status;
	return !(flock(fd, LOCK_EX | LOCK_NB) && errno == EWOULDBLOCK) && !fstat(fd, &status) &&
	       status.st_nlink;
}

/* Creates the file under its temporary name. If a file has that name, a dead process with the same
 * pid left it, or somebody planted it: it is removed, never written to. */
static int create(struct outfile *o)
{
	enum { TRIES = 10 };
	int error = -EEXIST;
	for (int i = 0; i < TRIES && error == -EEXIST; i++) {
		o->fd = openat(o->folder, o->hidden,
			       O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, FILE_MODE);
		if (o->fd >= 0 && is_kept(o->fd))
			return 0;
		error = o->fd >= 0 ? -EEXIST : -errno;
		if (o->fd >= 0)
			close(o->fd);
		o->fd = -1;
		if (error == -EEXIST && unlinkat(o->folder, o->hidden, 0) && errno != ENOENT)
			return -errno;
	}
	return error;
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

static void release(struct outfile *o)
{
	if (o->z)
		deflateEnd(o->z);
	free(o->z);
	free(o->packed);
	if (o->fd >= 0)
		close(o->fd);
	if (o->folder >= 0)
		close(o->folder);
	o->fd = o->folder = -1;
	o->z = NULL;
	o->packed = NULL;
}

int outfile_open(struct outfile *o, const char *path, int level, struct err *e)
{
	const char *name;
	memset(o, 0, sizeof(*o));
	o->fd = o->folder = -1;
	if (snprintf(o->path, sizeof(o->path), "%s", path) >= (int)sizeof(o->path))
		return err_set(e, -ENAMETOOLONG, "%.100s...: the path is too long", path);
	int error = open_parent(o, &name, e);
	if (error)
		return error;
	snprintf(o->hidden, sizeof(o->hidden), "%.4000s.%d.part", name, (int)getpid());
	error = create(o);
	if (error) {
		release(o);
		return err_set(e, error, "cannot write %.180s: %s", path, strerror(-error));
	}
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

void outfile_rename(struct outfile *o, const char *path)
{
	if (snprintf(o->path, sizeof(o->path), "%s", path) >= (int)sizeof(o->path))
		o->error = -ENAMETOOLONG;
}

void outfile_abandon(struct outfile *o)
{
	if (o->folder >= 0)
		unlinkat(o->folder, o->hidden, 0);
	release(o);
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
	if (!o->error && renameat(o->folder, o->hidden, o->folder, path_base(o->path)))
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

int outfile_finish(struct outfile *o, const char *path, int error, struct err *e)
{
	if (error || !path) {
		outfile_abandon(o);
		return error;
	}
	outfile_rename(o, path);
	return outfile_close(o, e);
}

/* Returns whether the process that writes the file is dead. `pid`: that process; asked only where
 * the file system has no locks. */
static bool is_abandoned(const char *path, uint32_t pid)
{
	int fd = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool is_locked = !flock(fd, LOCK_EX | LOCK_NB),
	     is_dead = is_locked || (errno != EWOULDBLOCK && !procfs_is_alive(pid, 0));
	close(fd);
	return is_dead;
}

/* Returns whether the file is a journal whose process died while it created it. That takes
 * milliseconds, so an older file is left over, also if its pid is of another namespace. */
static bool is_dead_journal(const FTSENT *file)
{
	return time(NULL) - file->fts_statp->st_mtime > CREATION_MOST_S &&
	       !procfs_is_alive((uint32_t)strtoul(file->fts_name, NULL, 10), 0);
}

/* Returns the pid in "NAME.PID.part"; 0: the name has another form. */
static uint32_t part_pid(const char *name)
{
	const char *end = strrchr(name, '.');
	if (!end || strcmp(end, ".part"))
		return 0;
	for (const char *at = end; at > name && (isdigit((unsigned char)at[-1]) || at[-1] == '.');
	     at--)
		if (at[-1] == '.')
			return (uint32_t)strtoul(at, NULL, 10);
	return 0;
}

static bool is_left_over(const FTSENT *file)
{
	static const char created[] = ".journal.new";
	size_t n = file->fts_namelen, m = sizeof(created) - 1;
	uint32_t pid = part_pid(file->fts_name);
	return pid ? is_abandoned(file->fts_accpath, pid)
		   : n > m && !strcmp(file->fts_name + n - m, created) && is_dead_journal(file);
}

void outfile_sweep(const char *folder)
{
	char *roots[] = { (char *)(uintptr_t)folder, NULL };
	FTS *all = fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, NULL);
	for (FTSENT *entry; all && (entry = fts_read(all));)
		if (entry->fts_info == FTS_F && is_left_over(entry))
			unlink(entry->fts_accpath);
	if (all)
		fts_close(all);
}
