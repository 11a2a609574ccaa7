/* See pb.h: allocates and frees the buffer, and copies texts. */
#include "export/pb.h"

#include "core/runtime/utf8.h"
#include "core/util/vec.h"

void pb_reserve(struct pb *b, size_t bytes)
{
	size_t used = pb_used(b), room = (size_t)(b->end - b->start);
	if (room - used >= bytes)
		return;
	room = room * 2 > used + bytes ? room * 2 : used + bytes;
	b->start = mem_resize(b->start, room);
	b->at = b->start + used;
	b->end = b->start + room;
}

void pb_free(struct pb *b)
{
	free(b->start);
	*b = (struct pb){ 0 };
}

/* Returns how many bytes at the start of `text`, of `n`, are ASCII; counts in steps of 8. */
static size_t ascii_bytes(const char *text, size_t n)
{
	size_t i = 0;
	for (uint64_t eight; i + sizeof(eight) <= n; i += sizeof(eight)) {
		memcpy(&eight, text + i, sizeof(eight));
		if (eight & 0x8080808080808080)
			break;
	}
	return i;
}

uint8_t *pb_copy_text(uint8_t *to, const char *text, size_t n)
{
	memcpy(to, text, n);
	for (size_t i = ascii_bytes(text, n), bytes; i < n; i += bytes ? bytes : 1) {
		bytes = utf8_valid_bytes(text + i);
		if (i + bytes > n)
			bytes = 0;
		if (!bytes)
			to[i] = '?';
	}
	return to + n;
}
