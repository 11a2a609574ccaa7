/* See occupancy.h. */
#include "core/model/occupancy.h"

#include <math.h>
#include <stddef.h>

/* The table "Technical Specifications per Compute Capability" of NVIDIA's CUDA C++ Programming
 * Guide, and the allocation units of the occupancy calculator (cuda_occupancy.h). */
static const struct occupancy_limits rows[] = {
	{ 6, 0, 2048, 32, 64 << 10, 256, 0, 2 },      { 6, 1, 2048, 32, 96 << 10, 256, 0, 4 },
	{ 7, 0, 2048, 32, 96 << 10, 256, 0, 4 },      { 7, 2, 2048, 32, 96 << 10, 256, 0, 4 },
	{ 7, 5, 1024, 16, 64 << 10, 256, 0, 4 },      { 8, 0, 2048, 32, 164 << 10, 128, 1024, 4 },
	{ 8, 6, 1536, 16, 100 << 10, 128, 1024, 4 },  { 8, 7, 1536, 16, 164 << 10, 128, 1024, 4 },
	{ 8, 9, 1536, 24, 100 << 10, 128, 1024, 4 },  { 9, 0, 2048, 32, 228 << 10, 128, 1024, 4 },
	{ 10, 0, 2048, 32, 228 << 10, 128, 1024, 4 }, { 10, 3, 2048, 32, 228 << 10, 128, 1024, 4 },
	{ 12, 0, 1536, 24, 100 << 10, 128, 1024, 4 }, { 12, 1, 1536, 24, 100 << 10, 128, 1024, 4 },
};

const struct occupancy_limits *occupancy_limits(uint32_t major, uint32_t minor)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].major == major && rows[i].minor == minor)
			return &rows[i];
	return NULL;
}

static uint32_t least(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

static uint64_t round_up(uint64_t value, uint32_t unit)
{
	return (value + unit - 1) / unit * unit;
}

uint32_t occupancy_blocks(const struct occupancy_limits *l, uint32_t threads, uint32_t registers,
			  uint32_t shared_bytes)
{
	enum { REGISTERS_UNIT = 256 }; /* of a warp */
	uint32_t warps = (threads + OCCUPANCY_WARP - 1) / OCCUPANCY_WARP, blocks = l->blocks;
	if (!warps || warps > l->threads / OCCUPANCY_WARP)
		return 0;
	blocks = least(blocks, l->threads / OCCUPANCY_WARP / warps);
	if (registers) {
		uint64_t of_warp = round_up((uint64_t)registers * OCCUPANCY_WARP, REGISTERS_UNIT);
		uint32_t most = (uint32_t)(OCCUPANCY_REGISTERS / of_warp);
		blocks = least(blocks, most / l->warps_unit * l->warps_unit / warps);
	}
	if (shared_bytes + l->reserved_bytes) {
		uint64_t of_block =
			round_up((uint64_t)shared_bytes + l->reserved_bytes, l->shared_unit_bytes);
		blocks = least(blocks, (uint32_t)(l->shared_bytes / of_block));
	}
	return blocks;
}

double occupancy_pct(const struct occupancy_limits *l, uint32_t blocks, double blocks_per_sm,
		     uint32_t threads)
{
	double active = blocks_per_sm < blocks ? blocks_per_sm : blocks;
	return 100 * active * threads / l->threads;
}

struct occupancy occupancy_of(const struct tables *t, const struct model_work *w)
{
	struct occupancy o = { NAN, NAN };
	const struct run_device *d = tables_device(t, w->device);
	uint64_t blocks = (uint64_t)w->grid[0] * w->grid[1] * w->grid[2];
	if (w->kind != WORK_KERNEL || !d || !d->multiprocessors || !blocks)
		return o;
	o.blocks_per_sm = (double)blocks / d->multiprocessors;
	const struct run_kernel *k = w->kernel ? &t->kernels.at[w->kernel - 1] : NULL;
	const struct occupancy_limits *l = occupancy_limits(d->compute_major, d->compute_minor);
	uint64_t threads = k ? (uint64_t)k->block[0] * k->block[1] * k->block[2] : 0;
	if (!l || !threads || threads > l->threads || !k->registers)
		return o;
	uint32_t most = occupancy_blocks(l, (uint32_t)threads, k->registers,
					 k->static_shared_bytes + k->dynamic_shared_bytes);
	o.pct = occupancy_pct(l, most, o.blocks_per_sm, (uint32_t)threads);
	return o;
}
