/* See pb.h: allocates and frees the buffer. */
#include "export/pb.h"

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
