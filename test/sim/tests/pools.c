/*
 * A memory pool that is shared with another process, through a socket as CUDA's samples do it.
 */
#include "test/sim/tests/check.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

struct message {
	struct cudaMemPoolPtrExportData data;
	size_t bytes;
};

static void fd_send(int socket, int fd, struct message *m)
{
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { m, sizeof(*m) };
	struct msghdr head = { .msg_iov = &part,
			       .msg_iovlen = 1,
			       .msg_control = control,
			       .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&head);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	if (sendmsg(socket, &head, 0) != sizeof(*m))
		exit(2);
}

static int fd_receive(int socket, struct message *m)
{
	int fd = -1;
	char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec part = { m, sizeof(*m) };
	struct msghdr head = { .msg_iov = &part,
			       .msg_iovlen = 1,
			       .msg_control = control,
			       .msg_controllen = sizeof(control) };
	if (recvmsg(socket, &head, 0) == sizeof(*m))
		memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&head)), sizeof(fd));
	return fd;
}

static int importer(int socket)
{
	struct message m;
	cudaMemPool_t pool;
	void *memory, *own;
	char byte;
	int fd = fd_receive(socket, &m);
	NEED(cudaMemPoolImportFromShareableHandle(&pool, (void *)(intptr_t)fd,
						  cudaMemHandleTypePosixFileDescriptor, 0));
	NEED(cudaMemPoolImportPointer(&memory, pool, &m.data));
	NEED(cudaMemset(memory, 1, m.bytes));
	NEED(cudaMemcpy(&byte, (char *)memory + m.bytes - 1, 1, cudaMemcpyDeviceToHost));
	check(cudaMallocFromPoolAsync(&own, 100, pool, NULL) == cudaErrorInvalidValue,
	      "pools: an imported pool does not allocate", "it did");
	NEED(cudaFreeAsync(memory, NULL));
	NEED(cudaDeviceSynchronize());
	m.data.reserved[0] ^= 1;
	check(cudaMemPoolImportPointer(&memory, pool, &m.data) == cudaErrorInvalidValue,
	      "pools: bad data of a pointer", "was taken");
	return check_failed;
}

int main(void)
{
	int sockets[2], fd, status = -1;
	struct message m = { .bytes = 5000 };
	struct cudaMemPoolProps props = { .allocType = cudaMemAllocationTypePinned,
					  .handleTypes = cudaMemHandleTypePosixFileDescriptor,
					  .location = { cudaMemLocationTypeDevice, 0 } };
	cudaMemPool_t pool, closed;
	void *memory, *other;
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sockets))
		return 2;
	/* the child exists before the parent has a context */
	pid_t child = fork();
	if (!child)
		return importer(sockets[1]);
	NEED(cudaMemPoolCreate(&pool, &props));
	NEED(cudaMallocFromPoolAsync(&memory, m.bytes, pool, NULL));
	NEED(cudaMemPoolExportToShareableHandle(&fd, pool, cudaMemHandleTypePosixFileDescriptor,
						0));
	NEED(cudaMemPoolExportPointer(&m.data, memory));
	props.handleTypes = cudaMemHandleTypeNone;
	NEED(cudaMemPoolCreate(&closed, &props));
	NEED(cudaMallocFromPoolAsync(&other, 100, closed, NULL));
	int unused;
	check(cudaMemPoolExportToShareableHandle(&unused, closed,
						 cudaMemHandleTypePosixFileDescriptor,
						 0) == cudaErrorInvalidValue &&
		      cudaMemPoolExportPointer(&m.data, other) == cudaErrorInvalidValue,
	      "pools: one without a handle type is not shared", "it was");
	fd_send(sockets[0], fd, &m);
	waitpid(child, &status, 0);
	check(!status, "pools: another process imports memory", "status %#x", status);
	return check_failed;
}
