/*
 * Walks a thread's frames. Each row of the layout table has its own walk function with the offsets
 * as constants: 2 ns per frame, close to the cost of following the pointers. With offsets in memory
 * a frame takes 3 ns. The walk does not store frames; if the hash is unknown, the caller walks
 * again.
 */
#include "preload/python_walk.h"

#include "core/runtime/token.h"
#include "preload/hook.h"

enum { SHIM_MARK = 0x5ca1ab1e };

/* Adds a frame to the hash. Its products do not depend on each other; only the final multiplication
 * depends on the previous frame. If the position is an address, the code object is left out,
 * because the address already identifies it. */
static inline uint64_t fold_frame(const struct python_layout *l, uint64_t hash, uint64_t code,
				  uint64_t position, uint64_t identity)
{
	uint64_t what = position ^ identity * TOKEN_K2;
	return (hash + (l->position == POSITION_ADDRESS ? what : what + code * TOKEN_K1)) *
	       TOKEN_K0;
}

static inline __attribute__((always_inline)) void walk(const struct python_layout *l,
						       uint64_t frame, uint32_t most,
						       uint64_t epoch, struct python_chain *chain)
{
	uint32_t n = 0;
	uint64_t hash = epoch;
	for (; frame; frame = python_word(frame + l->frame_previous)) {
		if (python_is_shim(l, frame)) {
			hash = (hash + SHIM_MARK) * TOKEN_K0;
			continue;
		}
		if (n == most)
			break;
		uint64_t code = python_frame_code(l, frame);
		uint64_t identity = python_code_identity(l, code);
		if (l->frame_is_entry != ABSENT)
			identity += (uint64_t)python_byte(frame + l->frame_is_entry) << 63;
		hash = fold_frame(l, hash, code, python_frame_position(l, frame), identity);
		n++;
	}
	chain->n = n;
	chain->is_truncated = frame != 0;
	chain->hash = n ? (hash ^ hash >> 32) | 1 : 0;
}

static void walk_moved(const struct python_layout *l, uint64_t frame, uint32_t most, uint64_t epoch,
		       struct python_chain *chain)
{
	walk(l, frame, most, epoch, chain);
}

#define LAYOUT(minor_, ft, top, cframe, cf_frame, cf_prev, f_prev, f_code, f_pos, meaning,       \
	       f_owner, f_entry, f_tlbc, c_file, c_name, c_first, c_lines, kind, c_except,       \
	       c_start, c_tlbc, c_id0, c_id1, ...)                                               \
	HOT static void walk_##minor_##_##ft(const struct python_layout *unused, uint64_t frame, \
					     uint32_t most, uint64_t epoch,                      \
					     struct python_chain *chain)                         \
	{                                                                                        \
		static const struct python_layout l = { .frame_previous = (f_prev),              \
							.frame_code = (f_code),                  \
							.frame_position = (f_pos),               \
							.position = (meaning),                   \
							.frame_owner = (f_owner),                \
							.frame_is_entry = (f_entry),             \
							.code_identity = { (c_id0), (c_id1) } }; \
		(void)unused;                                                                    \
		walk(&l, frame, most, epoch, chain);                                             \
	}
#include "preload/python_layout.def"
#undef LAYOUT

static const struct {
	uint8_t minor;
	bool is_free_threaded;
	python_walk *walk;
} walks[] = {
#define LAYOUT(minor_, ft, ...) { (minor_), (ft), walk_##minor_##_##ft },
#include "preload/python_layout.def"
#undef LAYOUT
};

python_walk *python_walk_for(const struct python_layout *l)
{
	for (size_t i = 0; !l->is_moved && i < sizeof(walks) / sizeof(*walks); i++)
		if (walks[i].minor == l->minor && walks[i].is_free_threaded == l->is_free_threaded)
			return walks[i].walk;
	return walk_moved;
}
