/*
 * The first chain, before anything is believed: every pointer on the way is read through the kernel, which answers a wrong
 * one with an error instead of SIGSEGV. Where process_vm_readv is forbidden (containers' seccomp filters) write(2) into a
 * pipe does the same.
 */
#include "preload/python_verify.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

/* One run of the checks. */
struct probe {
	const struct python_api *api;
	const struct python_layout *layout;
	int pipe[2]; /* -1 until it is needed */
};

enum {
	FRAMES_CHECKED =
		256, /* innermost ones; those further out are of the same making. At most 5 ms, once */
	FIRST_LINE_MOST = 10000000,
	CODE_BYTES_MOST = 1 << 28,
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

/* The object that the field at `field` refers to, of the type wanted. */
static bool read_object(struct probe *p, uint64_t *to, uint64_t field, uint64_t type)
{
	uint64_t found;
	return read_word(p, to, field) && *to && !(*to & 7) &&
	       read_word(p, &found, *to + p->layout->object_type) && found == type;
}

static bool is_plausible_text(struct probe *p, uint64_t text)
{
	uint64_t length;
	return read_word(p, &length, text + p->layout->text_length) && length < CODE_BYTES_MOST;
}

static bool has_texts_and_lines(struct probe *p, uint64_t code)
{
	const struct python_layout *l = p->layout;
	uint64_t file, name, lines, bytes;
	uint32_t first_line;
	return read_object(p, &file, code + l->code_file, p->api->text_type) &&
	       is_plausible_text(p, file) &&
	       read_object(p, &name, code + l->code_name, p->api->text_type) &&
	       is_plausible_text(p, name) &&
	       read_object(p, &lines, code + l->code_lines, p->api->bytes_type) &&
	       read_word(p, &bytes, lines + l->object_size) && bytes < CODE_BYTES_MOST &&
	       read_safely(p, &first_line, code + l->code_first_line, sizeof(first_line)) &&
	       first_line <= FIRST_LINE_MOST;
}

/* Since 3.11 co_name stands right before co_qualname, which ends in it. ASCII only: what is wrong is wrong for those too. */
static bool names_agree(struct probe *p, uint64_t code)
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
	if (length[0] < length[1])
		return false;
	for (int i = 0; i < 2; i++)
		if (compared &&
		    !read_safely(p, tail[i], object[i] + l->text_ascii + length[i] - compared,
				 compared))
			return false;
	return !memcmp(tail[0], tail[1], compared);
}

/* Since 3.11 the bytecode lies in the code object, whose size counts its units of two bytes; one unit before the first is where a
 * frame stands that has not begun. A free-threaded thread may run a copy of its own. */
static bool is_position_inside(struct probe *p, uint64_t code, uint64_t position)
{
	const struct python_layout *l = p->layout;
	uint64_t units;
	int64_t at = (int64_t)(position - code - l->code_start);
	if (!read_word(p, &units, code + l->object_size) || !units || units > CODE_BYTES_MOST)
		return false;
	return l->is_free_threaded || (!(at & 1) && at >= -2 && at < 2 * (int64_t)units);
}

/* Up to 3.10 the bytecode is a bytes object behind co_code, which follows co_firstlineno. */
static bool is_index_inside(struct probe *p, uint64_t code, int32_t index)
{
	const struct python_layout *l = p->layout;
	uint64_t bytecode, bytes;
	int64_t at = l->position == POSITION_UNITS ? 2 * (int64_t)index : index;
	return read_object(p, &bytecode, code + l->code_first_line + 8u, p->api->bytes_type) &&
	       read_word(p, &bytes, bytecode + l->object_size) && at >= -2 && at < (int64_t)bytes;
}

static bool is_python_frame(struct probe *p, uint64_t frame)
{
	const struct python_layout *l = p->layout;
	uint64_t code, type, position;
	if (!read_word(p, &code, frame + l->frame_code) ||
	    !read_word(p, &position, frame + l->frame_position))
		return false;
	code &= ~7ull;
	if (!code || !read_word(p, &type, code + l->object_type) || type != p->api->code_type ||
	    !has_texts_and_lines(p, code))
		return false;
	if (l->position != POSITION_ADDRESS)
		return is_index_inside(p, code, (int32_t)position);
	return names_agree(p, code) && is_position_inside(p, code, position);
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
	return verdict;
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
