/* See collective.h. */
#include "core/model/collective.h"

#include "core/runtime/kinds.h"

#include <string.h>

#define N(array) (sizeof(array) / sizeof(*(array)))

/*
 * Source of the factors: https://github.com/NVIDIA/nccl-tests/blob/master/doc/PERFORMANCE.md, of
 * PyTorch's names: torch/csrc/distributed/c10d/ProcessGroupNCCL.cpp.
 */
static const struct collective collectives[] = {
	{ "ncclAllReduce", "allreduce allreduce_coalesced allreduce_sparse barrier",
	  "nccl:all_reduce", false, false, 2, COUNT_IN, FACTS_COLLECTIVE },
	{ "ncclBroadcast", "broadcast _broadcast_oop", "nccl:broadcast", false, true, 0, COUNT_IN,
	  FACTS_COLLECTIVE },
	{ "ncclBcast", "broadcast", "nccl:broadcast", false, true, 0, COUNT_IN, FACTS_COLLECTIVE },
	{ "ncclReduce", "reduce _reduce_oop", "nccl:reduce", false, true, 0, COUNT_IN,
	  FACTS_COLLECTIVE },
	{ "ncclAllGather", "_allgather_base all_gather allgather all_gather_into_tensor_coalesced",
	  "nccl:all_gather", true, false, 1, COUNT_IN, FACTS_COLLECTIVE },
	{ "ncclReduceScatter",
	  "_reduce_scatter_base reduce_scatter reduce_scatter_tensor_coalesced",
	  "nccl:reduce_scatter", true, false, 1, COUNT_OUT, FACTS_COLLECTIVE },
	{ "ncclAlltoAll", "all_to_all all_to_allv", "nccl:all_to_all", true, false, 1,
	  COUNT_IN_PART, FACTS_COLLECTIVE },
	{ "ncclGather", "gather", "nccl:gather", true, true, 1, COUNT_IN, FACTS_COLLECTIVE },
	{ "ncclScatter", "scatter", "nccl:scatter", true, true, 1, COUNT_OUT, FACTS_COLLECTIVE },
	{ "ncclSend", "send", "nccl:send", false, false, 0, COUNT_IN, FACTS_MESSAGE },
	{ "ncclRecv", "recv", "nccl:recv", false, false, 0, COUNT_OUT, FACTS_MESSAGE },
};

/* Returns whether `names`, separated by blanks, has the name. */
static bool is_listed(const char *names, const char *name)
{
	size_t n = strlen(name);
	while (*names) {
		size_t bytes = strcspn(names, " ");
		if (bytes == n && !memcmp(names, name, n))
			return true;
		names += bytes + (names[bytes] == ' ');
	}
	return false;
}

const struct collective *collective_of(const char *function)
{
	for (size_t i = 0; i < N(collectives); i++)
		if (!strcmp(collectives[i].function, function))
			return &collectives[i];
	return NULL;
}

const struct collective *collective_of_torch(const char *name)
{
	for (size_t i = 0; i < N(collectives); i++)
		if (is_listed(collectives[i].torch, name))
			return &collectives[i];
	return NULL;
}

/* The index is a ncclDataType_t. */
static const struct collective_type types[] = {
	{ "i8", "Char", 1 },
	{ "u8", "Byte", 1 },
	{ "i32", "Int", 4 },
	{ "u32", "UInt32", 4 },
	{ "i64", "Long", 8 },
	{ "u64", "UInt64", 8 },
	{ "f16", "Half", 2 },
	{ "f32", "Float", 4 },
	{ "f64", "Double", 8 },
	{ "bf16", "BFloat16", 2 },
	{ "f8e4m3", "Float8_e4m3fn", 1 },
	{ "f8e5m2", "Float8_e5m2", 1 },
};

enum { NCCL_UINT8 = 1 };

const struct collective_type *collective_type(uint8_t type)
{
	return type < N(types) ? &types[type] : NULL;
}

uint8_t collective_type_of_torch(const char *name)
{
	if (!strcmp(name, "Bool")) /* PyTorch sends it as bytes */
		return NCCL_UINT8;
	for (size_t i = 0; i < N(types); i++)
		if (!strcmp(types[i].torch, name))
			return (uint8_t)i;
	return COLLECTIVE_NO_TYPE;
}
