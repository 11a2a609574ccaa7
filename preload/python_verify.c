/*
 * Verifies the first chain of frames before any frame is trusted. The kernel reads every pointer on
 * the way, because it reports an error for a wrong address where a direct read would raise SIGSEGV.
 * Uses process_vm_readv; where that is forbidden (seccomp filters of containers), it uses write(2)
 * into a pipe.
 */
#include "preload/python_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* State of one verification. */
struct probe {
	const struct python_api *api;
	const struct python_layout *layout;
	int pipe[2]; /* -1 until the pipe is needed */
	/* frames whose code object has two agreeing or two differing names */
	unsigned n_agreeing, n_renamed;
};

enum {
	/* Checks the innermost frames; outer ones have the same layout. Takes at most 5 ms, once
	 * per process. */
	FRAMES_CHECKED = 256,
	FIRST_LINE_MOST = 10000000,
	CODE_BYTES_MOST = 1 << 28,
	TEXT_MOST = 1 << 20,
};

static bool read_by_pipe(struct probe *p, void *to, uint64_t from, size_t bytes)
{
	if (p->pipe[0] < 0 && pipe2(p->pipe, O_CLOEXEC | O_NONBLOCK))
		return false;
	return write(p->pipe[1], (const void *)(uintptr_t)from, bytes) == (ssize_t)bytes &&
	       read(p->pipe[0], to, bytes) == (ssize_t)bytes;
}

static bool read_safely(struct probe *p, void *to, uint64_t from, size_t bytes)
{
	struct iovec local = { to, bytes }, remote = { (void *)(uintptr_t)from, bytes };
	ssize_t n = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
	if (n == (ssize_t)bytes)
		return true;
	return n < 0 && errno != EFAULT && read_by_pipe(p, to, from, bytes);
}

static bool read_word(struct probe *p, uint64_t *to, uint64_t from)
{
	return read_safely(p, to, from, sizeof(*to));
}

/* Reads the pointer at `field` into `to`. Returns whether it points to an object of the given
 * type. */
static bool read_object(struct probe *p, uint64_t *to, uint64_t field, uint64_t type)
{
	uint64_t found;
	return read_word(p, to, field) && *to && !(*to & 7) &&
	       read_word(p, &found, *to + p->layout->object_type) && found == type;
}

static bool is_printed(const uint8_t *text, size_t bytes)
{
	for (size_t i = 0; i < bytes; i++)
		if (!text[i] || text[i] > 127)
			return false;
	return true;
}

/* Returns whether the str `text` can be the name of a file or function: its characters are where
 * its state says, and a zero ends them. */
static bool is_name(struct probe *p, uint64_t text)
{
	const struct python_layout *l = p->layout;
	uint64_t length;
	uint32_t state, end = 0;
	uint8_t head[64];
	if (!read_word(p, &length, text + l->text_length) || length > TEXT_MOST ||
	    !read_safely(p, &state, text + l->text_state, sizeof(state)))
		return false;
	state >>= l->text_kind_bit;
	unsigned unit_bytes = state & 7;
	bool is_compact = state >> 3 & 1, is_ascii = state >> 4 & 1;
	uint64_t data = text + (is_ascii ? l->text_ascii : l->text_wide);
	size_t checked = is_ascii ? length < sizeof(head) ? length : sizeof(head) : 0;
	return is_compact && (unit_bytes == 1 || unit_bytes == 2 || unit_bytes == 4) &&
	       (!is_ascii || unit_bytes == 1) &&
	       read_safely(p, &end, data + length * unit_bytes, unit_bytes) && !end &&
	       (!checked || read_safely(p, head, data, checked)) && is_printed(head, checked);
}

/* Returns how many bytes of code a piece of a line table covers. Up to 3.10, entries are pairs of
 * bytes (length, lines). Since 3.11, only the first byte of an entry has its highest bit set. */
static uint64_t bytes_covered(const struct python_layout *l, const uint8_t *table, size_t bytes)
{
	uint64_t covered = 0;
	for (size_t i = 0; i < bytes; i++)
		if (l->lines != LINES_311)
			covered += i % 2 ? 0 : table[i];
		else if (table[i] & 0x80)
			covered += 2 * ((table[i] & 7u) + 1);
	return covered;
}

/* Returns whether the line table covers no more than the code. If so, both its size and its address
 * are right. */
static bool fits_code(struct probe *p, uint64_t lines, uint64_t code_bytes)
{
	const struct python_layout *l = p->layout;
	uint8_t piece[1024];
	uint64_t bytes, covered = 0;
	if (!read_word(p, &bytes, lines + l->object_size) || bytes > CODE_BYTES_MOST)
		return false;
	for (uint64_t at = 0, n; at < bytes && covered <= code_bytes; at += n) {
		n = bytes - at < sizeof(piece) ? bytes - at : sizeof(piece);
		if (!read_safely(p, piece, lines + l->bytes_data + at, n))
			return false;
		covered += bytes_covered(l, piece, n);
	}
	return covered <= code_bytes;
}

static bool has_names_and_lines(struct probe *p, uint64_t code, uint64_t code_bytes)
{
	const struct python_layout *l = p->layout;
	uint64_t file, name, lines;
	uint32_t first_line;
	return read_object(p, &file, code + l->code_file, p->api->text_type) && is_name(p, file) &&
	       read_object(p, &name, code + l->code_name, p->api->text_type) && is_name(p, name) &&
	       read_object(p, &lines, code + l->code_lines, p->api->bytes_type) &&
	       fits_code(p, lines, code_bytes) &&
	       read_safely(p, &first_line, code + l->code_first_line, sizeof(first_line)) &&
	       first_line <= FIRST_LINE_MOST;
}

/*
 * Compares the code object's two names. Returns false if one of them is not a str. Since 3.11 the
 * field co_name is right before co_qualname, and the text of co_qualname ends with that of co_name.
 * Compares only ASCII names, because a wrong layout fails on ASCII names too. Programs may rename
 * functions (a function that fastcore patches has the names "L.map" and "wrapper"). Mismatches are
 * therefore counted, not rejected.
 */
static bool compare_names(struct probe *p, uint64_t code)
{
	const struct python_layout *l = p->layout;
	uint64_t object[2], length[2];
	char tail[2][64];
	for (int i = 0; i < 2; i++) {
		uint32_t state;
		if (!read_object(p, &object[i], code + l->code_name - 8u * (unsigned)i,
				 p->api->text_type) ||
		    !read_word(p, &length[i], object[i] + l->text_length) ||
		    !read_safely(p, &state, object[i] + l->text_state, sizeof(state)))
			return false;
		if (!(state >> (l->text_kind_bit + 4) & 1))
			return true;
	}
	size_t compared = length[1] < sizeof(tail[0]) ? length[1] : sizeof(tail[0]);
	bool is_longer = length[0] >= length[1];
	for (int i = 0; is_longer && i < 2; i++)
		if (compared &&
		    !read_safely(p, tail[i], object[i] + l->text_ascii + length[i] - compared,
				 compared))
			return false;
	bool agrees = is_longer && !memcmp(tail[0], tail[1], compared);
	p->n_agreeing += agrees;
	p->n_renamed += !agrees;
	return true;
}

/* Returns the size of the bytecode in bytes, 0 if it cannot be read. Since 3.11 the bytecode is
 * part of the code object, whose size counts units of two bytes. Up to 3.10 the bytecode is a bytes
 * object at co_code. */
static uint64_t code_size(struct probe *p, uint64_t code)
{
	const struct python_layout *l = p->layout;
	uint64_t bytecode, size;
	if (l->position == POSITION_ADDRESS)
		return read_word(p, &size, code + l->object_size) && size < CODE_BYTES_MOST
			       ? 2 * size
			       : 0;
	return read_object(p, &bytecode, code + l->code_start, p->api->bytes_type) &&
			       read_word(p, &size, bytecode + l->object_size) &&
			       size < CODE_BYTES_MOST
		       ? size
		       : 0;
}

/* Returns whether a frame's position is within its code. The position of a frame that has not
 * started is one unit before the first instruction. A free-threaded thread may run its own copy of
 * the code, so its position may be anywhere. */
static bool is_position_inside(const struct python_layout *l, uint64_t code, uint64_t code_bytes,
			       uint64_t position)
{
	int64_t at = (int64_t)(position - code - l->code_start);
	if (l->position == POSITION_ADDRESS)
		return l->is_free_threaded || (!(at & 1) && at >= -2 && at < (int64_t)code_bytes);
	at = l->position == POSITION_UNITS ? 2 * (int64_t)(int32_t)position : (int32_t)position;
	return at >= -2 && at < (int64_t)code_bytes;
}

static bool is_python_frame(struct probe *p, uint64_t frame)
{
	const struct python_layout *l = p->layout;
	uint64_t code, type, position, code_bytes;
	if (!read_word(p, &code, frame + l->frame_code) ||
	    !read_word(p, &position, frame + l->frame_position))
		return false;
	code &= ~7ull;
	return code && read_word(p, &type, code + l->object_type) && type == p->api->code_type &&
	       (code_bytes = code_size(p, code)) &&
	       is_position_inside(l, code, code_bytes, position) &&
	       has_names_and_lines(p, code, code_bytes) &&
	       (l->position != POSITION_ADDRESS || compare_names(p, code));
}

static enum python_verdict judge_chain(struct probe *p, uint64_t frame)
{
	const struct python_layout *l = p->layout;
	enum python_verdict verdict = PYTHON_NO_FRAMES;
	for (int i = 0; frame && i < FRAMES_CHECKED; i++) {
		uint8_t owner = 0;
		if ((frame & 7) || (l->frame_owner != ABSENT &&
				    !read_safely(p, &owner, frame + l->frame_owner, 1)))
			return PYTHON_DOUBTFUL;
		if (owner < OWNER_SHIM) {
			if (!is_python_frame(p, frame))
				return PYTHON_DOUBTFUL;
			verdict = PYTHON_VERIFIED;
		}
		if (!read_word(p, &frame, frame + l->frame_previous))
			return PYTHON_DOUBTFUL;
	}
	return p->n_renamed > p->n_agreeing ? PYTHON_DOUBTFUL : verdict;
}

static enum python_verdict judge(struct probe *p, uint64_t thread)
{
	const struct python_layout *l = p->layout;
	uint64_t frame;
	if (!read_word(p, &frame, thread + l->thread_top))
		return PYTHON_DOUBTFUL;
	if (l->cframe_frame != ABSENT && (!frame || !read_word(p, &frame, frame + l->cframe_frame)))
		return PYTHON_DOUBTFUL;
	return judge_chain(p, frame);
}

enum python_verdict python_verify(const struct python_api *api, const struct python_layout *l,
				  uint64_t thread)
{
	struct probe p = { .api = api, .layout = l, .pipe = { -1, -1 } };
	enum python_verdict verdict = judge(&p, thread);
	for (int i = 0; i < 2; i++)
		if (p.pipe[i] >= 0)
			close(p.pipe[i]);
	return verdict;
}
