/* See bytes.h. */
#include "core/source/kineto/bytes.h"

#include "core/util/vec.h"
#include "core/util/work.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

/* Two blocks are in use: the caller's, and the one that is being filled. The others are spare. */
enum { BLOCK_BYTES = 1 << 20, BLOCKS = 4 };

struct block {
	char *at;
	size_t n;
};

struct bytes {
	gzFile file;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct block blocks[BLOCKS];
	/* blocks filled and blocks returned so far, modulo BLOCKS the next to fill and to return */
	size_t n_filled, n_taken;
	bool has_ended, must_stop;
	char trouble[160];
};

/* ---- The reading thread ---- */

static void note_trouble(struct bytes *b)
{
	int code;
	const char *text = gzerror(b->file, &code);
	if (code == Z_ERRNO)
		snprintf(b->trouble, sizeof(b->trouble), "the file cannot be read: %s",
			 strerror(errno));
	else if (code == Z_BUF_ERROR)
		snprintf(b->trouble, sizeof(b->trouble), "the compressed data ends early");
	else if (code != Z_OK && code != Z_STREAM_END)
		snprintf(b->trouble, sizeof(b->trouble), "the compressed data is damaged: %s",
			 text);
}

/* Fills a block. Returns false at the end of the file. */
static bool fill(struct bytes *b, struct block *to)
{
	int n = gzread(b->file, to->at, BLOCK_BYTES);
	work_reach((uint64_t)gzoffset(b->file));
	to->n = n > 0 ? (size_t)n : 0;
	if (n == BLOCK_BYTES)
		return true;
	note_trouble(b);
	return false;
}

static void *read_all(void *context)
{
	struct bytes *b = context;
	bool has_more = true;
	while (has_more) {
		pthread_mutex_lock(&b->lock);
		while (b->n_filled - b->n_taken >= BLOCKS - 1 && !b->must_stop)
			pthread_cond_wait(&b->changed, &b->lock);
		bool must_stop = b->must_stop;
		pthread_mutex_unlock(&b->lock);
		if (must_stop)
			return NULL;
		has_more = fill(b, &b->blocks[b->n_filled % BLOCKS]);
		pthread_mutex_lock(&b->lock);
		b->n_filled++;
		b->has_ended = !has_more;
		pthread_cond_broadcast(&b->changed);
		pthread_mutex_unlock(&b->lock);
	}
	return NULL;
}

/* ---- The caller's thread ---- */

static gzFile open_file(const char *path, struct err *e)
{
	struct stat status;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0 || fstat(file, &status)) {
		err_set(e, 0, "%.150s: cannot be opened: %s", path, strerror(errno));
	} else if (!S_ISREG(status.st_mode)) {
		errno = EINVAL;
		err_set(e, 0, "%.150s: not a file", path);
	} else {
		gzFile opened = gzdopen(file, "r");
		work_begin("reading", (uint64_t)status.st_size);
		mem_check(opened, 0);
		gzbuffer(opened, 1 << 17);
		return opened;
	}
	if (file >= 0)
		close(file);
	return NULL;
}

int bytes_open(struct bytes **to, const char *path, struct err *e)
{
	gzFile file = open_file(path, e);
	if (!file)
		return -errno;
	struct bytes *b = mem_zero(sizeof(*b));
	b->file = file;
	for (size_t i = 0; i < BLOCKS; i++)
		b->blocks[i].at = mem_resize(NULL, BLOCK_BYTES);
	pthread_mutex_init(&b->lock, NULL);
	pthread_cond_init(&b->changed, NULL);
	int error = pthread_create(&b->thread, NULL, read_all, b);
	if (error) {
		b->thread = 0;
		bytes_close(b);
		return err_set(e, -error, "%.150s: no thread to read it: %s", path,
			       strerror(error));
	}
	*to = b;
	return 0;
}

void bytes_close(struct bytes *b)
{
	if (!b)
		return;
	pthread_mutex_lock(&b->lock);
	b->must_stop = true;
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	if (b->thread)
		pthread_join(b->thread, NULL);
	gzclose(b->file);
	for (size_t i = 0; i < BLOCKS; i++)
		free(b->blocks[i].at);
	pthread_mutex_destroy(&b->lock);
	pthread_cond_destroy(&b->changed);
	free(b);
}

const char *bytes_next(struct bytes *b, size_t *n)
{
	const struct block *next = NULL;
	pthread_mutex_lock(&b->lock);
	while (b->n_filled == b->n_taken && !b->has_ended)
		pthread_cond_wait(&b->changed, &b->lock);
	if (b->n_filled != b->n_taken)
		next = &b->blocks[b->n_taken++ % BLOCKS];
	pthread_cond_broadcast(&b->changed);
	pthread_mutex_unlock(&b->lock);
	*n = next ? next->n : 0;
	return next && next->n ? next->at : NULL;
}

const char *bytes_trouble(const struct bytes *b)
{
	return b->trouble;
}
