/* See python_sample.h. */
#include "preload/python_sample.h"

#include "preload/python_code.h"
#include "preload/python_layout.h"
#include "preload/python_table.h"

#include <string.h>
#include <sys/mman.h>

enum {
	/* Frames of one thread lie side by side in Python's own stack (3.11 and later), so one
	 * piece holds several of them. */
	GAP_MOST = 256,
	PIECE_MOST = 4096,
	HEADER_MOST = 256,    /* bytes of a frame or of a code object */
	TEXT_MOST = 8192,     /* as in python_code.c */
	LINES_MOST = 1 << 20, /* as in python_code.c */
	CODES_MOST = 65536,
	CHECK_EVERY = 8,
	/* The collector's state lies in the first part of the interpreter's state: at 7.4 KiB in
	 * 3.13, earlier before. Up to 3.8 it lies in the runtime's state. */
	COLLECTOR_MOST = 16384,
	GENERATIONS_BYTES = 72, /* three generations of 24 bytes */
	/* from the word `generation0` to `collecting`: the permanent generation and the statistics
	 * of three generations; the same from 3.8 to 3.13 */
	TO_COLLECTING = 104,
	/* how far into the runtime's or the interpreter's state the GIL can be: it is at 360 bytes
	 * of the runtime up to 3.11, and at 7.8 KiB of the interpreter in 3.13 */
	GIL_MOST_RUNTIME = 4096,
	GIL_MOST_INTERPRETER = 16384,
	/* how far before its futexes the GIL names the thread that has it: at most two conditions
	 * of 48 bytes and two mutexes of 40 bytes */
	HOLDER_WORDS = 24,
	EXCEPTIONS_ROOM = EXCEPTIONS_MOST + 1, /* tables that are too long remain so */
	THREAD_INTERPRETER =
		16, /* offset of `interp` in a PyThreadState: the same in 3.8 to 3.15 */
};

/* Bytes that were read, and from where. */
struct span {
	uint64_t from;
	uint32_t bytes, at; /* `at`: position in `bytes` of struct reading */
};

struct reading {
	const struct python_layout *layout;
	uint32_t n_spans, n_bytes;
	struct span spans[SAMPLE_FRAMES_MOST];
	_Alignas(8) uint8_t bytes[SAMPLE_BYTES_MOST];
};

/* What is known about the code object at an address. The words identify it. */
enum { CODE_ID, CODE_IDENTITY, CODE_BYTES };

static struct {
	struct reading reading;
	struct sampled_chain again;
	struct python_table codes;
	uint32_t n_samples;
	/* copies of a code object and its parts */
	_Alignas(8) uint8_t code[HEADER_MOST], code_again[HEADER_MOST];
	_Alignas(8) uint8_t file[HEADER_MOST + 4 * TEXT_MOST], name[HEADER_MOST + 4 * TEXT_MOST];
	/* HEADER_MOST + LINES_MOST bytes, then HEADER_MOST + BYTECODE_MOST, then HEADER_MOST +
	 * EXCEPTIONS_ROOM; NULL: not mapped yet */
	uint8_t *lines;
	struct python_bytecode bytecode;
	/* the state whose interpreter was read last, that interpreter, and the place of its
	 * collector */
	uint64_t state, interpreter, collecting;
} g;

static uint64_t word_at(const void *from)
{
	uint64_t word;
	memcpy(&word, from, sizeof(word));
	return word;
}

bool python_sample_is_ready(void)
{
	const struct python_api *api;
	return python_layout_verified(&api) != NULL;
}

/* ---- Chains ---- */

static uint32_t most(uint32_t a, uint32_t b)
{
	return a > b ? a : b;
}

static uint32_t end_of(uint16_t offset, uint32_t bytes)
{
	return offset == ABSENT ? 0 : offset + bytes;
}

/* Returns how many bytes of a frame are needed. */
static uint32_t frame_bytes(const struct python_layout *l)
{
	uint32_t n = most(end_of(l->frame_previous, 8), end_of(l->frame_code, 8));
	n = most(n, end_of(l->frame_position, 8));
	n = most(n, end_of(l->frame_owner, 1));
	return most(n, end_of(l->frame_tlbc, 4));
}

/* Adds room for `bytes` read from `from` to the reading. Returns NULL if there is none. */
static void *add_span(struct reading *r, uint64_t from, uint32_t bytes)
{
	uint32_t padded = (bytes + 7) & ~7u;
	if (r->n_spans == SAMPLE_FRAMES_MOST || r->n_bytes + padded > sizeof(r->bytes))
		return NULL;
	r->spans[r->n_spans++] = (struct span){ from, bytes, r->n_bytes };
	void *to = &r->bytes[r->n_bytes];
	r->n_bytes += padded;
	return to;
}

/* Adds pieces for the frames of the last sample. Joins neighbours. */
static size_t expect_frames(struct reading *r, const struct sample_memory *m,
			    struct host_piece *pieces, size_t room)
{
	uint32_t bytes = frame_bytes(r->layout);
	size_t n = 0;
	for (uint32_t i = 0; i < m->n && n < room;) {
		uint64_t low = m->frames[i], high = low + bytes;
		for (i++; i < m->n; i++) {
			uint64_t from = m->frames[i], to = from + bytes;
			uint64_t l = from < low ? from : low, h = to > high ? to : high;
			if (from > high + GAP_MOST || to + GAP_MOST < low || h - l > PIECE_MOST)
				break;
			low = l;
			high = h;
		}
		void *to = add_span(r, low, (uint32_t)(high - low));
		if (!to)
			break;
		pieces[n++] = (struct host_piece){ to, low, high - low };
	}
	return n;
}

/* Returns the frame's bytes; reads them if they were not expected. NULL: not readable. */
static const uint8_t *frame_at(struct reading *r, uint64_t frame, uint32_t *hint)
{
	uint32_t bytes = frame_bytes(r->layout);
	for (uint32_t i = 0; i < r->n_spans; i++) {
		uint32_t k = (*hint + i) % r->n_spans;
		const struct span *s = &r->spans[k];
		if (frame < s->from || frame - s->from + bytes > s->bytes)
			continue;
		*hint = k;
		return &r->bytes[s->at + (frame - s->from)];
	}
	void *to = add_span(r, frame, bytes);
	return to && host_memory_copy(to, frame, bytes) ? to : NULL;
}

static struct sampled_frame frame_of(const struct python_layout *l, uint64_t frame,
				     const uint8_t *bytes)
{
	struct sampled_frame f = { .frame = frame };
	if (l->frame_owner != ABSENT && bytes[l->frame_owner] >= OWNER_SHIM)
		return f;
	f.code = word_at(bytes + l->frame_code) & ~7ull;
	f.position = word_at(bytes + l->frame_position);
	if (l->position != POSITION_ADDRESS)
		f.position = (uint32_t)f.position;
	if (l->frame_tlbc != ABSENT)
		memcpy(&f.tlbc, bytes + l->frame_tlbc, sizeof(f.tlbc));
	return f;
}

/* Follows the chain outwards from `frame`. */
static void follow(struct reading *r, uint64_t frame, struct sample_memory *m,
		   struct sampled_chain *out)
{
	const struct python_layout *l = r->layout;
	uint32_t hint = 0;
	m->n = 0;
	for (; frame && !(frame & 7) && m->n < SAMPLE_FRAMES_MOST;) {
		const uint8_t *bytes = frame_at(r, frame, &hint);
		if (!bytes)
			return;
		struct sampled_frame f = frame_of(l, frame, bytes);
		m->frames[m->n++] = frame;
		if (f.code)
			out->frames[out->n++] = f;
		else if (!out->evaluator && l->frame_owner != ABSENT) /* a shim: in the C frame */
			out->evaluator = frame;
		frame = word_at(bytes + l->frame_previous);
	}
	out->is_whole = !frame;
}

bool python_sample_read(struct sample_memory *m, uint64_t state, const struct host_piece *more,
			size_t n_more, struct sampled_chain *out)
{
	const struct python_api *api;
	const struct python_layout *l = python_layout_verified(&api);
	struct reading *r = &g.reading;
	struct host_piece pieces[HOST_PIECES_MOST];
	uint64_t top = 0, frame = 0;
	size_t n = n_more, n_first;
	out->n = 0;
	out->is_whole = out->is_by_name = false;
	out->evaluator = 0;
	if (n_more)
		memcpy(pieces, more, n_more * sizeof(*more));
	if (!l || !state || api->is_finalizing())
		return host_memory_read(pieces, n) == n;
	r->layout = l;
	r->n_spans = 0;
	r->n_bytes = 0;
	if (m->state != state)
		*m = (struct sample_memory){ .state = state };
	pieces[n++] = (struct host_piece){ &top, state + l->thread_top, sizeof(top) };
	if (l->cframe_frame != ABSENT && m->cframe)
		pieces[n++] =
			(struct host_piece){ &frame, m->cframe + l->cframe_frame, sizeof(frame) };
	else if (l->cframe_frame == ABSENT && l->thread_cframe != ABSENT) /* 3.10 */
		pieces[n++] = (struct host_piece){ &out->evaluator, state + l->thread_cframe, 8 };
	n_first = n;
	n += expect_frames(r, m, pieces + n, HOST_PIECES_MOST - n);
	size_t done = host_memory_read(pieces, n);
	if (done < n_more)
		return false;
	if (done < n) { /* a frame of the last sample is gone: read each anew */
		r->n_spans = 0;
		r->n_bytes = 0;
	}
	if (done <= n_more)
		return true;
	if (l->cframe_frame == ABSENT) {
		frame = top;
	} else if (top != m->cframe || done < n_first) {
		m->cframe = top;
		if (!top || !host_memory_copy(&frame, top + l->cframe_frame, sizeof(frame)))
			return true;
	}
	if (l->frame_owner == ABSENT && l->cframe_frame != ABSENT) /* 3.11 */
		out->evaluator = m->cframe;
	out->is_by_name = l->frame_owner == ABSENT && l->thread_cframe == ABSENT;
	follow(r, frame, m, out);
	return true;
}

static const struct sampled_frame *from_outermost(const struct sampled_chain *c, uint32_t i)
{
	return &c->frames[c->n - 1 - i];
}

void python_sample_share(struct sampled_chain *chain, const struct sampled_chain *again)
{
	uint32_t n = 0;
	if (!chain->is_whole || !again->is_whole) {
		chain->n = 0;
		return;
	}
	while (n < chain->n && n < again->n) {
		const struct sampled_frame *a = from_outermost(chain, n),
					   *b = from_outermost(again, n);
		if (a->frame != b->frame || a->code != b->code)
			break;
		n++;
		/* the frame has moved on: the calls that it made before are over */
		if (a->position != b->position)
			goto done;
	}
	/* The outer frames have not moved. So the innermost one of them was in the call of the next
	 * frame when the first read saw that frame. */
	if (n < chain->n)
		n++;
done:
	memmove(chain->frames, &chain->frames[chain->n - n], n * sizeof(*chain->frames));
	chain->n = n;
}

void python_sample_confirm(struct sample_memory *m, uint64_t state, const struct host_piece *more,
			   size_t n_more, struct sampled_chain *chain)
{
	if (!python_sample_read(m, state, more, n_more, &g.again))
		g.again.n = 0;
	if (chain->n)
		python_sample_share(chain, &g.again);
}

/* ---- Code objects ---- */

static uint32_t code_bytes(const struct python_layout *l)
{
	uint32_t n = most(end_of(l->code_file, 8), end_of(l->code_name, 8));
	n = most(n, end_of(l->code_lines, 8));
	n = most(n, end_of(l->code_first_line, 4));
	n = most(n, end_of(l->code_exceptions, 8));
	if (l->position != POSITION_ADDRESS)
		n = most(n, end_of(l->code_start, 8));
	n = most(n, end_of(l->object_size, 8));
	return most(n, most(end_of(l->code_identity[0], 8), end_of(l->code_identity[1], 8)));
}

/* Copies an object whose data follow its header. Returns the number of bytes of data, capped to
 * `room`; UINT64_MAX: it is not readable, or is of another type. */
static uint64_t copy_object(uint8_t *to, uint64_t from, uint64_t type, uint16_t type_at,
			    uint16_t size_at, uint32_t header, uint64_t room, uint64_t unit)
{
	if (!from || (from & 7) || !host_memory_copy(to, from, header) ||
	    word_at(to + type_at) != type)
		return UINT64_MAX;
	uint64_t size = word_at(to + size_at);
	if (size > UINT32_MAX)
		return UINT64_MAX;
	size = size * unit < room ? size * unit : room;
	return !size || host_memory_copy(to + header, from + header, size) ? size : UINT64_MAX;
}

/* Copies a str, and cuts one that is too long. */
static bool copy_text(const struct python_api *api, const struct python_layout *l, uint8_t *to,
		      uint64_t from)
{
	uint32_t state, header = l->text_state + 4u;
	if (!host_memory_copy(to, from, header) || (from & 7))
		return false;
	memcpy(&state, to + l->text_state, sizeof(state));
	state >>= l->text_kind_bit;
	unsigned unit = state & 7;
	header = state >> 4 & 1 ? l->text_ascii : l->text_wide;
	if (!(state >> 3 & 1) || (unit != 1 && unit != 2 && unit != 4))
		return false;
	uint64_t bytes = copy_object(to, from, api->text_type, l->object_type, l->text_length,
				     header, 4 * TEXT_MOST, unit);
	if (bytes == UINT64_MAX)
		return false;
	uint64_t length = bytes / unit;
	memcpy(to + l->text_length, &length, sizeof(length));
	return true;
}

static bool copy_lines(const struct python_api *api, const struct python_layout *l, uint64_t from)
{
	if (!g.lines) {
		void *p = mmap(NULL, 3 * HEADER_MOST + LINES_MOST + BYTECODE_MOST + EXCEPTIONS_ROOM,
			       PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			return false;
		g.lines = p;
	}
	uint64_t bytes = copy_object(g.lines, from, api->bytes_type, l->object_type, l->object_size,
				     l->bytes_data, LINES_MOST, 1);
	/* a table that was cut would give wrong lines */
	return bytes != UINT64_MAX && bytes == word_at(g.lines + l->object_size);
}

/* Copies the exception table. Returns false if it cannot be read. */
static bool copy_exceptions(const struct python_api *api, const struct python_layout *l)
{
	uint8_t *to = g.lines + 2 * HEADER_MOST + LINES_MOST + BYTECODE_MOST;
	uint64_t from = l->code_exceptions != ABSENT ? word_at(g.code + l->code_exceptions) : 0;
	if (!from)
		return true;
	uint64_t bytes = copy_object(to, from, api->bytes_type, l->object_type, l->object_size,
				     l->bytes_data, EXCEPTIONS_ROOM, 1);
	g.bytecode.exceptions = (uintptr_t)to + l->bytes_data;
	g.bytecode.exceptions_bytes = bytes;
	return bytes != UINT64_MAX;
}

/* Copies the bytecode of the code object at `code`, whose copy is g.code. Requires copy_lines().
 * Bytecode that is too long counts as absent. */
static bool copy_bytecode(const struct python_api *api, const struct python_layout *l,
			  uint64_t code)
{
	uint8_t *to = g.lines + HEADER_MOST + LINES_MOST;
	uint64_t bytes = 2 * word_at(g.code + l->object_size);
	g.bytecode = (struct python_bytecode){ .at = (uintptr_t)to };
	if (l->position != POSITION_ADDRESS) {
		uint64_t copied = copy_object(to, word_at(g.code + l->code_start), api->bytes_type,
					      l->object_type, l->object_size, l->bytes_data,
					      BYTECODE_MOST, 1);
		if (copied == UINT64_MAX)
			return false;
		g.bytecode.at += l->bytes_data;
		g.bytecode.bytes = word_at(to + l->object_size);
		return true;
	}
	g.bytecode.bytes = bytes;
	return (bytes > BYTECODE_MOST || host_memory_copy(to, code + l->code_start, bytes)) &&
	       copy_exceptions(api, l);
}

static void point_to(uint16_t field, const uint8_t *copy)
{
	uint64_t address = (uintptr_t)copy;
	memcpy(g.code + field, &address, sizeof(address));
}

/* Copies a code object with its texts, its line table and its bytecode, and lets the copy refer to
 * the copies. Returns false if it is another object, or if it has changed meanwhile. */
static bool copy_code(const struct python_api *api, const struct python_layout *l, uint64_t code)
{
	uint32_t bytes = code_bytes(l), same_from = l->object_type;
	if (bytes > HEADER_MOST || !host_memory_copy(g.code, code, bytes) ||
	    word_at(g.code + l->object_type) != api->code_type ||
	    !copy_text(api, l, g.file, word_at(g.code + l->code_file)) ||
	    !copy_text(api, l, g.name, word_at(g.code + l->code_name)) ||
	    !copy_lines(api, l, word_at(g.code + l->code_lines)) || !copy_bytecode(api, l, code))
		return false;
	/* the reference count, which precedes the type, may change */
	if (!host_memory_copy(g.code_again, code, bytes) ||
	    memcmp(g.code + same_from, g.code_again + same_from, bytes - same_from))
		return false;
	point_to(l->code_file, g.file);
	point_to(l->code_name, g.name);
	point_to(l->code_lines, g.lines);
	return true;
}

static uint64_t identity_in(const struct python_layout *l, const uint8_t *code)
{
	uint64_t word = word_at(code + l->code_identity[0]);
	return python_is_identity_unique(l) ? word : word + word_at(code + l->code_identity[1]);
}

/* Copies a new code object. Returns its entry, NULL if it could not be copied. */
static struct python_entry *learn_code(const struct python_api *api, const struct python_layout *l,
				       uint64_t code)
{
	if (!copy_code(api, l, code) || !python_code_try_lock())
		return NULL;
	uint64_t identity = identity_in(l, g.code_again);
	uint32_t id = python_code_id_of_copy(api, l, (uintptr_t)g.code, g.bytecode);
	python_code_unlock();
	if (!id)
		return NULL;
	if (g.codes.n_used >= CODES_MOST)
		python_table_drop(&g.codes);
	struct python_entry *e = python_table_at(&g.codes, code);
	if (!e)
		return NULL;
	e->value[CODE_ID] = id;
	e->value[CODE_IDENTITY] = identity;
	/* of its bytecode: since 3.11 the object's size, in units of two bytes */
	e->value[CODE_BYTES] = 2 * word_at(g.code_again + l->object_size);
	return e;
}

/* Returns whether the code object at this address is another one than the one that was learned. */
static bool is_replaced(const struct python_layout *l, uint64_t code, const struct python_entry *e)
{
	uint64_t words[2] = { 0 };
	const struct host_piece pieces[] = { { &words[0], code + l->code_identity[0], 8 },
					     { &words[1], code + l->code_identity[1], 8 } };
	size_t n = python_is_identity_unique(l) ? 1 : 2;
	return host_memory_read(pieces, n) != n || words[0] + words[1] != e->value[CODE_IDENTITY];
}

static uint32_t lasti_of(const struct python_layout *l, const struct sampled_frame *f,
			 const struct python_entry *e)
{
	uint64_t start = f->code + l->code_start, copies = 0;
	if (l->position != POSITION_ADDRESS) {
		uint32_t index = (uint32_t)f->position;
		if ((int32_t)index < 0)
			return FRAME_LASTI_UNKNOWN;
		return l->position == POSITION_UNITS ? 2 * index : index;
	}
	if ((int32_t)f->tlbc > 0 &&
	    (!host_memory_copy(&copies, f->code + l->code_tlbc, sizeof(copies)) || !copies ||
	     !host_memory_copy(&start, copies + 8 + 8ull * f->tlbc, sizeof(start))))
		return FRAME_LASTI_UNKNOWN;
	return f->position - start < e->value[CODE_BYTES] ? (uint32_t)(f->position - start)
							  : FRAME_LASTI_UNKNOWN;
}

uint32_t python_sample_resolve(const struct sampled_chain *chain, struct python_frame *out)
{
	const struct python_api *api;
	const struct python_layout *l = python_layout_verified(&api);
	/* In every eighth sample, one frame's code object is compared with the one learned. */
	uint32_t number = g.n_samples++, check = UINT32_MAX;
	if (chain->n && number % CHECK_EVERY == 0)
		check = number / CHECK_EVERY % chain->n;
	for (uint32_t i = 0; l && i < chain->n; i++) {
		const struct sampled_frame *f = &chain->frames[i];
		struct python_entry *e = python_table_find(&g.codes, f->code);
		if (!e || (i == check && is_replaced(l, f->code, e)))
			e = learn_code(api, l, f->code);
		out[i] = (struct python_frame){
			.code = e ? (uint32_t)e->value[CODE_ID] : 0,
			.lasti = e ? lasti_of(l, f, e) : FRAME_LASTI_UNKNOWN,
		};
	}
	return l ? chain->n : 0;
}

/* ---- The collector and the GIL ---- */

/*
 * Finds the state of the garbage collector by what it contains: the word `generation0`, which holds
 * the address of the list of generations directly before it. Offsets within an interpreter's state
 * differ between releases, but no other word can hold this address.
 */
static uint64_t find_collecting(const struct python_api *api, const struct python_layout *l,
				uint64_t interpreter)
{
	uint64_t words[512];
	uint64_t from = l->minor < 9 ? (uintptr_t)api->runtime : interpreter;
	/* In 3.14 and later the collector has other fields. */
	if (!from || l->minor > 13 || l->is_free_threaded)
		return 0;
	for (uint64_t at = 0; at < COLLECTOR_MOST; at += sizeof(words)) {
		size_t n = sizeof(words) / 8;
		while (n && !host_memory_copy(words, from + at, 8 * n))
			n /= 2;
		for (size_t i = 0; i < n; i++)
			if (words[i] == from + at + 8 * i - GENERATIONS_BYTES)
				return from + at + 8 * i + TO_COLLECTING;
		if (n < sizeof(words) / 8)
			break;
	}
	return 0;
}

/* A thread's state never moves to another interpreter. */
static uint64_t interpreter_of(const struct python_api *api, const struct python_layout *l,
			       uint64_t state)
{
	uint64_t interpreter = 0;
	if (state == g.state)
		return g.interpreter;
	if (!state ||
	    !host_memory_copy(&interpreter, state + THREAD_INTERPRETER, sizeof(interpreter)))
		return 0;
	if (interpreter != g.interpreter)
		g.collecting = find_collecting(api, l, interpreter);
	g.state = state;
	g.interpreter = interpreter;
	return interpreter;
}

uint64_t python_sample_collecting(uint64_t state)
{
	const struct python_api *api;
	const struct python_layout *l = python_layout_verified(&api);
	return l && interpreter_of(api, l, state) ? g.collecting : 0;
}

bool python_sample_is_gil(uint64_t state, uint64_t address)
{
	const struct python_api *api;
	const struct python_layout *l = python_layout_verified(&api);
	if (!l)
		return false;
	if (l->minor < 12)
		return api->runtime && address - (uintptr_t)api->runtime < GIL_MOST_RUNTIME;
	uint64_t interpreter = interpreter_of(api, l, state);
	return interpreter && address - interpreter < GIL_MOST_INTERPRETER;
}

/*
 * The GIL's futexes are in two conditions and two mutexes, and a few words before these is the
 * PyThreadState that had the GIL last: in 3.8 to 3.13, `last_holder`. Its offset from a futex
 * depends on which of them is waited for, and on glibc. So it is found by its content: of the words
 * before the futex, only that one points to a state of the same interpreter.
 */
uint64_t python_sample_gil_holder(uint64_t state, uint64_t address)
{
	const struct python_api *api;
	const struct python_layout *l = python_layout_verified(&api);
	uint64_t words[HOLDER_WORDS], interpreter = l ? interpreter_of(api, l, state) : 0, its;
	uint64_t from = (address & ~7ull) - sizeof(words);
	if (!interpreter || !host_memory_copy(words, from, sizeof(words)))
		return 0;
	for (size_t i = HOLDER_WORDS; i-- > 0;)
		if (words[i] && !(words[i] & 7) && words[i] != interpreter &&
		    host_memory_copy(&its, words[i] + THREAD_INTERPRETER, sizeof(its)) &&
		    its == interpreter)
			return words[i] == state ? 0 : words[i];
	return 0;
}

void python_sample_forget(void)
{
	python_table_drop(&g.codes);
	g.state = g.interpreter = 0;
}
