/* Use of tensor cores, by names: tensor_core.py, tensor_cores_parser.py. */
#include "core/peers/plugin_parts.h"

#include <string.h>

bool plugin_uses_tensor_cores(const char *kernel)
{
	static const char *const parts[] = { "h884",
					     "s884",
					     "h1688",
					     "s1688",
					     "hmma",
					     "i8816",
					     "16816",
					     "dgrad_1x1_stride_2x2",
					     "first_layer_wgrad_kernel",
					     "conv1x1",
					     "conv2d_c1_k1",
					     "direct_group",
					     "xmma_implicit_gemm",
					     "xmma_sparse_conv",
					     "xmma_warp_specialized_implicit_gemm",
					     "xmma_gemm",
					     "xmma_sparse_gemm",
					     "c1688" };
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		if (strstr(kernel, parts[i]))
			return true;
	return false;
}

bool plugin_may_use_tensor_cores(const char *operator)
{
	static const char *const names[] = {
		"aten::_convolution",
		"aten::conv1d",
		"aten::conv2d",
		"aten::conv3d",
		"aten::conv_tbc",
		"aten::conv_transpose1d",
		"aten::conv_transpose2d",
		"aten::conv_transpose3d",
		"aten::convolution",
		"aten::cudnn_convolution",
		"aten::cudnn_convolution_transpose",
		"aten::prelu",
		"aten::addmm",
		"aten::addmv",
		"aten::addr",
		"aten::matmul",
		"aten::mm",
		"aten::mv",
		"aten::linear",
		"aten::addbmm",
		"aten::baddbmm",
		"aten::bmm",
		"aten::chain_matmul",
		"aten::linalg_multi_dot",
		"aten::_thnn_fused_lstm_cell",
		"aten::_thnn_fused_gru_cell",
		"aten::lstm_cell",
		"aten::gru_cell",
		"aten::rnn_tanh_cell",
		"aten::rnn_relu_cell",
		"CudnnConvolutionBackward",
		"BmmBackward0",
		"aten::cudnn_convolution_transpose_backward",
		"CudnnConvolutionTransposeBackward",
		"MmBackward",
		"aten::cudnn_convolution_backward_weight",
		"aten::addmm_",
		"AddmvBackward",
		"MvBackward",
		"aten::cudnn_convolution_transpose_backward_weight",
		"aten::cudnn_convolution_transpose_backward_input",
		"AddmmBackward",
		"aten::cudnn_convolution_backward_input",
		"AddbmmBackward",
		"aten::cudnn_convolution_backward",
	};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (!strcmp(operator, names[i]))
			return true;
	return false;
}

/* Adds the kernels that a node launched itself. `device`: PEER_NONE: all. */
static bool add_kernels(const struct plugin_trace *t, const struct plugin_node *node,
			int64_t device, double *all, double *with_tensor_cores)
{
	bool is_any = false;
	for (size_t i = 0; i < node->calls.n; i++) {
		const struct plugin_call *call = &t->calls.at[node->calls.at[i]];
		for (size_t k = 0; k < call->works.n; k++) {
			const struct plugin_work *w = &t->works.at[call->works.at[k]];
			double us = plugin_end(w->row) - w->row->ts;
			/* the thread's root: work without a call */
			if (w->type != PLUGIN_KERNEL || (!node->row && !call->row))
				continue;
			is_any = true;
			if (device != PEER_NONE && w->row->device != device)
				continue;
			*all += us;
			*with_tensor_cores += w->has_tensor_cores ? us : 0;
		}
	}
	return is_any;
}

double plugin_tensor_ratio(const struct plugin_trace *t, int64_t device)
{
	double all = 0, with_tensor_cores = 0;
	bool is_any = false;
	for (size_t i = 0; i < t->operators.n; i++)
		is_any |= add_kernels(t, &t->nodes.at[t->operators.at[i]], device, &all,
				      &with_tensor_cores);
	if (!is_any)
		return NAN;
	return all > 0 ? with_tensor_cores / all : 0;
}

double plugin_eligible_ratio(const struct plugin_trace *t)
{
	double all = 0, eligible = 0, unused = 0;
	/* whether a node or one below it is eligible; children come after their parents */
	bool *has_any = mem_zero(t->nodes.n + 1);
	for (size_t i = 0; i < t->threads.n; i++) {
		const struct plugin_thread *thread = &t->threads.at[i];
		for (size_t k = thread->nodes.n + 1; k-- > 0;) {
			uint32_t number = k ? thread->nodes.at[k - 1] : thread->root;
			const struct plugin_node *node = &t->nodes.at[number];
			if (node->is_gone)
				continue;
			if (node->is_eligible && !has_any[number]) {
				has_any[number] = true;
				add_kernels(t, node, PEER_NONE, &eligible, &unused);
			}
			if (has_any[number] && node->parent != PLUGIN_NO_NODE)
				has_any[node->parent] = true;
		}
	}
	for (size_t i = 0; i < t->operators.n; i++)
		add_kernels(t, &t->nodes.at[t->operators.at[i]], PEER_NONE, &all, &unused);
	free(has_any);
	return all > 0 ? eligible / all : 0;
}
