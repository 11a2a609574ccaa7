/*
 * The tables contain names that frameworks have used for years. A Python row matches a file by the
 * end of its path or by a folder in the path. It matches a function by the last part of its name,
 * because only Python 3.11 and later give qualified names. A native row matches a demangled
 * function by its start and end.
 */
#include "core/symbols/phase_rules.h"

#include "core/util/path.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

static const struct {
	const char *name;
	enum phase phase;
} parts[] = {
#define X(id, phase, name) { name, PHASE_##phase },
	PHASE_PARTS(X)
#undef X
};

enum phase phase_of_part(uint8_t part)
{
	return part < PHASE_PARTS_N ? parts[part].phase : PHASE_OTHER;
}

const char *phase_part_name(uint8_t part)
{
	return part < PHASE_PARTS_N ? parts[part].name : "";
}

const char *phase_name(enum phase phase)
{
	static const char *const names[] = {
#define X(id, name) name,
		PHASES(X)
#undef X
	};
	return names[phase];
}

/* ---- Frames ---- */

#define ANY NULL

/* If several rows match a frame, the first of these rows counts. */
static const struct python_row {
	/* the end of the path; if this begins with '/', any part of the path */
	const char *file;
	const char *function;
	uint8_t part;
} python_rows[] = {
	{ "torch/utils/data/dataloader.py", ANY, PART_LOADER },
	{ "/torch/utils/data/_utils/", ANY, PART_LOADER },
	{ "/torch/utils/data/datapipes/", ANY, PART_LOADER },
	{ "/torchdata/", ANY, PART_LOADER },
	{ "/webdataset/", ANY, PART_LOADER },
	{ "/nvidia/dali/", ANY, PART_LOADER },
	{ "/ffcv/loader/", ANY, PART_LOADER },
	{ "/tensorflow/python/data/", ANY, PART_LOADER },
	{ "accelerate/data_loader.py", ANY, PART_LOADER },
	{ "pytorch/loops/fetchers.py", ANY, PART_LOADER },
	{ "pytorch_lightning/loops/fetchers.py", ANY, PART_LOADER },
	{ "accelerate/utils/operations.py", "send_to_device", PART_TO_DEVICE },
	{ "transformers/trainer.py", "_prepare_inputs", PART_TO_DEVICE },
	{ "transformers/trainer.py", "_prepare_input", PART_TO_DEVICE },
	/* not the whole file, which also converts logged values to numbers */
	{ "fabric/utilities/apply_func.py", "move_data_to_device", PART_TO_DEVICE },
	{ "fabric/utilities/apply_func.py", "batch_to", PART_TO_DEVICE },
	{ "lightning_fabric/utilities/apply_func.py", "move_data_to_device", PART_TO_DEVICE },
	{ "lightning_fabric/utilities/apply_func.py", "batch_to", PART_TO_DEVICE },

	{ "torch/_tensor.py", "backward", PART_BACKWARD },
	{ "torch/autograd/__init__.py", "backward", PART_BACKWARD },
	{ "torch/autograd/__init__.py", "grad", PART_BACKWARD },
	{ "torch/autograd/graph.py", "_engine_run_backward", PART_BACKWARD },
	{ "_aot_autograd/runtime_wrappers.py", "backward", PART_BACKWARD },
	{ "_aot_autograd/runtime_wrappers.py", "_backward_impl", PART_BACKWARD },
	{ "deepspeed/runtime/engine.py", "backward", PART_BACKWARD },

	{ "torch/nn/utils/clip_grad.py", ANY, PART_CLIP },
	{ "fully_sharded_data_parallel.py", "clip_grad_norm_", PART_CLIP },
	{ "torch/optim/optimizer.py", "zero_grad", PART_ZERO_GRAD },
	{ "torch/nn/modules/module.py", "zero_grad", PART_ZERO_GRAD },
	{ "deepspeed/runtime/engine.py", "zero_grad", PART_ZERO_GRAD },
	{ "torch/amp/grad_scaler.py", "scale", PART_FUNCTIONAL },
	{ "torch/amp/grad_scaler.py", "apply_scale", PART_FUNCTIONAL },
	{ "torch/amp/grad_scaler.py", ANY, PART_SCALER },
	{ "torch/cuda/amp/grad_scaler.py", "scale", PART_FUNCTIONAL },
	{ "torch/cuda/amp/grad_scaler.py", "apply_scale", PART_FUNCTIONAL },
	{ "torch/cuda/amp/grad_scaler.py", ANY, PART_SCALER },
	{ "torch/distributed/fsdp/sharded_grad_scaler.py", ANY, PART_SCALER },
	/* the optimizer's step() calls this closure, but what the closure does, such as logging,
	 * does not belong to the optimizer */
	{ "pytorch/loops/optimization/automatic.py", "closure", PART_FUNCTIONAL },
	{ "pytorch_lightning/loops/optimization/automatic.py", "closure", PART_FUNCTIONAL },
	/* only step(), because a wrapper in this file is also around the optimizer's step() */
	{ "torch/optim/lr_scheduler.py", "step", PART_SCHEDULER },
	{ "torch/optim/swa_utils.py", "update_parameters", PART_AVERAGE },
	{ "diffusers/training_utils.py", "step", PART_AVERAGE },
	{ "ema_pytorch/ema_pytorch.py", "update", PART_AVERAGE },
	{ "ema_pytorch/post_hoc_ema.py", "update", PART_AVERAGE },
	{ "timm/utils/model_ema.py", "update", PART_AVERAGE },
	{ "torch_ema/ema.py", "update", PART_AVERAGE },
	{ "torch/optim/optimizer.py", "wrapper", PART_OPTIMIZER },
	{ "torch/optim/optimizer.py", "_use_grad", PART_OPTIMIZER },
	{ "torch/optim/optimizer.py", "step", PART_OPTIMIZER },
	{ "/torch/optim/", "step", PART_OPTIMIZER },
	{ "deepspeed/runtime/engine.py", "step", PART_OPTIMIZER },
	{ "deepspeed/runtime/engine.py", "_take_model_step", PART_OPTIMIZER },
	{ "/deepspeed/runtime/zero/stage", "step", PART_OPTIMIZER },
	{ "/deepspeed/runtime/fp16/", "step", PART_OPTIMIZER },
	{ "/deepspeed/runtime/bf16_optimizer.py", "step", PART_OPTIMIZER },
	{ "/apex/optimizers/", "step", PART_OPTIMIZER },
	{ "/megatron/core/optimizer/", "step", PART_OPTIMIZER },

	{ "torch/_dynamo/convert_frame.py", ANY, PART_COMPILE },
	{ "/torch/_inductor/compile_fx.py", ANY, PART_COMPILE },
	{ "jax/_src/compiler.py", ANY, PART_COMPILE },

	/* .to(), .cuda(), .half() of a model */
	{ "torch/nn/modules/module.py", "_apply", PART_MOVE },
	{ "torch/nn/modules/module.py", "_call_impl", PART_MODULE },
	{ "torch/nn/modules/module.py", "_wrapped_call_impl", PART_MODULE },
	{ "torch/nn/modules/module.py", "inner", PART_MODULE },
	{ "torch/nn/modules/module.py", "_slow_forward", PART_MODULE },
	{ "torch/nn/modules/module.py", "__call__", PART_MODULE },
	{ "torch/nn/parallel/distributed.py", "forward", PART_MODULE },
	{ "torch/nn/parallel/distributed.py", "_run_ddp_forward", PART_MODULE },
	{ "_fully_shard/_fsdp_state.py", "_pre_forward", PART_MODULE },
	{ "fully_sharded_data_parallel.py", "forward", PART_MODULE },
	{ "deepspeed/runtime/engine.py", "forward", PART_MODULE },
	{ "torch/nn/functional.py", ANY, PART_FUNCTIONAL },
	{ "_aot_autograd/runtime_wrappers.py", ANY, PART_FUNCTIONAL },

	{ "torch/cuda/graphs.py", "replay", PART_GRAPH },
	{ "torch/_tensor_str.py", ANY, PART_PRINT },
	{ "torch/serialization.py", ANY, PART_FILE },
	{ "/torch/distributed/checkpoint/", ANY, PART_FILE },
	{ "safetensors/torch.py", ANY, PART_FILE },
	{ "/torchmetrics/", ANY, PART_METRIC },
	{ "/torcheval/metrics/", ANY, PART_METRIC },
	{ "/ignite/metrics/", ANY, PART_METRIC },
	{ "/trainer/connectors/logger_connector/", ANY, PART_METRIC },
};

/* Words in names of the user's classes and functions: "ema" matches "ModelEMA.update" and
 * "update_ema", but not "schema". The function's own name must not be one of `modules`. */
static const struct name_row {
	const char *word;
	uint8_t part;
} name_rows[] = {
	{ "ema", PART_AVERAGE },     { "averager", PART_AVERAGE },  { "swa", PART_AVERAGE },
	{ "metric", PART_METRIC },   { "metrics", PART_METRIC },    { "meter", PART_METRIC },
	{ "accuracy", PART_METRIC }, { "perplexity", PART_METRIC },
};

/* As begin or end, "" matches every function. */
static const struct native_row {
	const char *begin, *end;
	uint8_t part;
} native_rows[] = {
	{ "torch::autograd::Engine::thread_init", "", PART_WORKER },
	{ "torch::autograd::Engine::thread_main", "", PART_WORKER },
	{ "torch::autograd::Engine::", "", PART_BACKWARD },
	{ "torch::nn::utils::clip_grad_", "", PART_CLIP },
	{ "torch::optim::Optimizer::zero_grad", "", PART_ZERO_GRAD },
	{ "torch::nn::Module::zero_grad", "", PART_ZERO_GRAD },
	{ "torch::optim::", "::step", PART_OPTIMIZER },
	{ "torch::data::", "", PART_LOADER },
	{ "torch::nn::", "Impl::forward", PART_MODULE },
	{ "torch::jit::InterpreterStateImpl::run", "", PART_FUNCTIONAL },
	{ "torch::inductor::AOTIModel", "::run", PART_FUNCTIONAL },
};

static bool ends_with(const char *text, const char *end)
{
	size_t n = strlen(text), most = strlen(end);
	return n >= most && !strcmp(text + n - most, end);
}

static bool is_file(const char *path, const char *row)
{
	return *row == '/' ? strstr(path, row) != NULL : path_ends_with(path, row);
}

const char *phase_rules_last_name(const char *function)
{
	const char *dot = strrchr(function, '.');
	return dot ? dot + 1 : function;
}

static uint8_t match_python(const struct frame *frame)
{
	const char *name = phase_rules_last_name(frame->function);
	for (size_t i = 0; i < sizeof(python_rows) / sizeof(*python_rows); i++) {
		const struct python_row *row = &python_rows[i];
		if ((!row->function || !strcmp(row->function, name)) &&
		    is_file(frame->file, row->file))
			return row->part;
	}
	return PART_NONE;
}

static uint8_t match_native(const struct frame *frame)
{
	for (size_t i = 0; i < sizeof(native_rows) / sizeof(*native_rows); i++) {
		const struct native_row *row = &native_rows[i];
		if (!strncmp(frame->function, row->begin, strlen(row->begin)) &&
		    ends_with(frame->function, row->end))
			return row->part;
	}
	return strstr(frame->module, "libdali") ? PART_LOADER : PART_NONE;
}

/* Returns whether the name has the word. Words begin after '_', '.' or at a capital letter that
 * follows a small one or precedes one. */
static bool has_word(const char *name, const char *word)
{
	size_t n = strlen(word);
	for (const char *at = name; *at; at++) {
		bool begins = at == name || !isalnum((unsigned char)at[-1]) ||
			      (isupper((unsigned char)at[0]) && islower((unsigned char)at[-1])) ||
			      (isupper((unsigned char)at[0]) && islower((unsigned char)at[1]));
		if (!begins || strncasecmp(at, word, n) != 0)
			continue;
		const char *end = at + n;
		if (!islower((unsigned char)*end) &&
		    !(isupper((unsigned char)*end) && isupper((unsigned char)end[-1]) &&
		      !islower((unsigned char)end[1])))
			return true;
	}
	return false;
}

uint8_t phase_rules_match_name(const struct frame *frame)
{
	/* a module's pass is part of the model, whatever the class is called */
	static const char *const modules[] = { "forward", "__call__", "__init__" };
	const char *own = phase_rules_last_name(frame->function);
	for (size_t i = 0; i < sizeof(modules) / sizeof(*modules); i++)
		if (!strcmp(own, modules[i]))
			return PART_NONE;
	for (size_t i = 0; i < sizeof(name_rows) / sizeof(*name_rows); i++)
		if (has_word(frame->function, name_rows[i].word))
			return name_rows[i].part;
	return PART_NONE;
}

uint8_t phase_rules_match(const struct frame *frame)
{
	return frame->kind == FRAME_KIND_PYTHON ? match_python(frame) : match_native(frame);
}
