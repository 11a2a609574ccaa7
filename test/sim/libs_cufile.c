/*
 * cuFile as PyTorch calls it (torch.cuda.gds). Bytes move between a file and device memory without
 * an operation of the device, as if the drive accessed device memory directly. Moving them takes
 * the host's real time. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/types.h>
#include <unistd.h>

enum { INVALID_VALUE = 5022, INTERNAL_ERROR = 5030 }; /* CUfileOpError */

#define PIECE_BYTES (1 << 20)

struct result {
	int error, driver_error;
};

struct descriptor {
	int type, unused;
	int fd;
};

/*
 * Opens the file again. A cuFile handle is such a new file descriptor, plus one, so that it is not
 * NULL. The descriptor lacks O_DIRECT, which would require aligned host memory.
 */
static intptr_t open_again(int fd)
{
	char path[64];
	int flags = fcntl(fd, F_GETFL);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return flags < 0 ? -1 : open(path, (flags & O_ACCMODE) | O_CLOEXEC);
}

SIM_EXPORT struct result cuFileHandleRegister(void **handle, const struct descriptor *d);
SIM_EXPORT struct result cuFileHandleRegister(void **handle, const struct descriptor *d)
{
	intptr_t fd = open_again(d->fd);
	if (fd < 0)
		return (struct result){ INVALID_VALUE, 0 };
	*handle = (void *)(fd + 1);
	return (struct result){ 0, 0 };
}

SIM_EXPORT void cuFileHandleDeregister(void *handle);
SIM_EXPORT void cuFileHandleDeregister(void *handle)
{
	close((int)(intptr_t)handle - 1);
}

SIM_EXPORT struct result cuFileBufRegister(const void *memory, size_t bytes, int flags);
SIM_EXPORT struct result cuFileBufRegister(const void *memory, size_t bytes, int flags)
{
	(void)memory, (void)bytes, (void)flags;
	return (struct result){ 0, 0 };
}

SIM_EXPORT struct result cuFileBufDeregister(const void *memory);
SIM_EXPORT struct result cuFileBufDeregister(const void *memory)
{
	(void)memory;
	return (struct result){ 0, 0 };
}

static ssize_t move_piece(bool is_read, int fd, char *memory, size_t bytes, off_t at, char *piece)
{
	const struct sim_tools *tools = libs_tools();
	if (bytes > PIECE_BYTES)
		bytes = PIECE_BYTES;
	if (!is_read)
		tools->device_read(piece, memory, bytes);
	ssize_t done = is_read ? pread(fd, piece, bytes, at) : pwrite(fd, piece, bytes, at);
	if (is_read && done > 0)
		tools->device_write(memory, piece, (size_t)done);
	return done;
}

/* Moves bytes. Returns how many were moved, fewer than `bytes` at the file's end. Returns -1 if
 * errno says why it failed, or else minus the CUfileOpError. */
static ssize_t move(bool is_read, void *handle, char *memory, size_t bytes, off_t at)
{
	size_t moved = 0;
	ssize_t done = 1;
	char *piece = libs_tools() ? malloc(PIECE_BYTES) : NULL;
	if (!piece)
		return -INTERNAL_ERROR;
	while (moved < bytes && done > 0) {
		done = move_piece(is_read, (int)(intptr_t)handle - 1, memory + moved, bytes - moved,
				  at + (off_t)moved, piece);
		if (done > 0)
			moved += (size_t)done;
	}
	free(piece);
	return done < 0 && !moved ? -1 : (ssize_t)moved;
}

SIM_EXPORT ssize_t cuFileRead(void *handle, void *memory, size_t bytes, off_t file_offset,
			      off_t memory_offset);
SIM_EXPORT ssize_t cuFileRead(void *handle, void *memory, size_t bytes, off_t file_offset,
			      off_t memory_offset)
{
	return move(true, handle, (char *)memory + memory_offset, bytes, file_offset);
}

SIM_EXPORT ssize_t cuFileWrite(void *handle, const void *memory, size_t bytes, off_t file_offset,
			       off_t memory_offset);
SIM_EXPORT ssize_t cuFileWrite(void *handle, const void *memory, size_t bytes, off_t file_offset,
			       off_t memory_offset)
{
	return move(false, handle, (char *)memory + memory_offset, bytes, file_offset);
}
