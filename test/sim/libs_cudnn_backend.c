/*
 * cuDNN's backend API, which runs convolutions and attention. A caller puts operations into a
 * graph, the graph into an engine, the engine into a configuration, the configuration into a plan,
 * and executes the plan. Each descriptor keeps what was put into it, so that the plan's kernel gets
 * the operation's name. Queries get the smallest valid answer. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

/* Values of cudnnBackendAttributeType_t and cudnnBackendAttributeName_t. */
enum {
	TYPE_DATA_TYPE = 1,
	TYPE_INT64 = 3,
	TYPE_DESCRIPTOR = 15,
	TYPE_INT32 = 23,
	TENSOR_DATA_TYPE = 901
};

/*
 * The types (cudnnBackendDescriptorType_t) of operations that compute. The first row that a plan
 * contains names the plan's kernel. Attention is one operation, or the products of which it
 * consists: two forward, five backward.
 */
enum { GRAPH = 15, MATMUL = 19, FORWARD_PRODUCTS = 2 };
#define FORWARD_ATTENTION  "cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_%s_kernel"
#define BACKWARD_ATTENTION "cudnn_generated_fort_native_sdpa_sm90_flash_bprop_wgmma_%s_kernel"
static const struct operation {
	int type;
	const char *kernel;
} operations[] = {
	{ 10, "sm90_xmma_fprop_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x32_stage3_kernel__5x_"
	      "cudnn" },
	{ 12, "sm90_xmma_dgrad_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x32_stage3_kernel__5x_"
	      "cudnn" },
	{ 11, "sm90_xmma_wgrad_implicit_gemm_%s_nhwckrsc_nhwc_tilesize128x128x32_stage3_kernel__5x_"
	      "cudnn" },
	{ 41, FORWARD_ATTENTION },
	{ 43, BACKWARD_ATTENTION },
	{ MATMUL, "cudnn_generated_fort_native_matmul_sm90_%s_kernel" },
	{ 13, "cudnn_generated_fort_native_pointwise_sm90_%s_kernel" },
};
enum { OPERATIONS = sizeof(operations) / sizeof(*operations) };

struct descriptor {
	int kind;
	unsigned operations; /* one bit for each row of the table `operations` */
	int products;
	bool has_type;
	int type; /* cudnnDataType_t of the first tensor */
};

SIM_EXPORT int cudnnBackendCreateDescriptor(int type, struct descriptor **out);
SIM_EXPORT int cudnnBackendCreateDescriptor(int type, struct descriptor **out)
{
	*out = calloc(1, sizeof(**out));
	(*out)->kind = type;
	(*out)->products = type == MATMUL;
	for (unsigned i = 0; i < OPERATIONS; i++)
		if (operations[i].type == type)
			(*out)->operations = 1u << i;
	return 0;
}

static void take_over(struct descriptor *to, const struct descriptor *from)
{
	to->operations |= from->operations;
	if (to->kind == GRAPH)
		to->products += from->products;
	else if (to->products < from->products)
		to->products = from->products;
	if (!to->has_type && from->has_type) {
		to->has_type = true;
		to->type = from->type;
	}
}

SIM_EXPORT int cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t count,
					const void *from);
SIM_EXPORT int cudnnBackendSetAttribute(struct descriptor *d, int name, int type, int64_t count,
					const void *from)
{
	if (type == TYPE_DATA_TYPE && name == TENSOR_DATA_TYPE && count > 0) {
		d->has_type = true;
		memcpy(&d->type, from, sizeof(d->type));
	}
	for (int64_t i = 0; type == TYPE_DESCRIPTOR && i < count; i++)
		if (((struct descriptor *const *)from)[i])
			take_over(d, ((struct descriptor *const *)from)[i]);
	return 0;
}

/*
 * Answers a query. Every count is 1, and every number is 0. If the caller passes a descriptor that
 * it has created, the descriptor is filled in.
 */
SIM_EXPORT int cudnnBackendGetAttribute(const struct descriptor *d, int name, int type,
					int64_t wanted, int64_t *got, void *to);
SIM_EXPORT int cudnnBackendGetAttribute(const struct descriptor *d, int name, int type,
					int64_t wanted, int64_t *got, void *to)
{
	(void)name;
	size_t bytes = type == TYPE_INT64   ? sizeof(int64_t)
		       : type == TYPE_INT32 ? sizeof(int32_t)
					    : 0;
	int64_t count = bytes || type == TYPE_DESCRIPTOR;
	if (to && wanted > 0)
		memset(to, 0, bytes);
	if (type == TYPE_DESCRIPTOR && to && wanted > 0 && *(struct descriptor **)to)
		take_over(*(struct descriptor **)to, d);
	if (got)
		*got = count;
	return 0;
}

/* Returns the descriptor's cudnnDataType_t in the form that kernel names contain: inputs,
 * accumulation, output. */
static const char *type_name(const struct descriptor *d)
{
	enum { UNNAMED = -1, BF16 = 14 };
	int type = d->has_type ? (int)d->type : 0;
	return libs_type_name(type == 9 ? BF16 : type < 0 || type > 2 ? UNNAMED : type);
}

static const char *kernel_of(const struct descriptor *plan)
{
	if (plan->products >= FORWARD_PRODUCTS)
		return plan->products == FORWARD_PRODUCTS ? FORWARD_ATTENTION : BACKWARD_ATTENTION;
	for (unsigned i = 0; i < OPERATIONS; i++)
		if (plan->operations >> i & 1)
			return operations[i].kernel;
	return "cudnn_generated_sm90_%s_kernel";
}

SIM_EXPORT int cudnnBackendExecute(struct libs_handle *h, const struct descriptor *plan,
				   void *pack);
SIM_EXPORT int cudnnBackendExecute(struct libs_handle *h, const struct descriptor *plan, void *pack)
{
	static const struct descriptor none;
	char name[192];
	(void)pack;
	if (!plan)
		plan = &none;
	snprintf(name, sizeof(name), kernel_of(plan), type_name(plan));
	return libs_launch(h->stream, name, 64, 1, 1, 128) ? CUDNN_FAILED : 0;
}
