/*
 * cuDNN's recurrent networks: the shapes of weights and buffers, which PyTorch queries and checks.
 * For each layer and direction, a pass launches one product for the inputs and one persistent
 * kernel for all time steps, as cuDNN does if the state fits. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <stdio.h>

struct rnn {
	int cell, gates, layers, directions;
	int input, hidden;
	/* Output size of one layer and direction: of the projection if there is one, otherwise of
	 * the state. */
	int output;
	int type; /* cudnnDataType_t of the weights */
};

/* A shape. Also the contents of filter and tensor descriptors, which callers can read back. */
struct shape {
	int type, dimensions, sizes[8];
};

/* sizes of workspace and reserve space; nothing is computed in them */
#define BUFFER_BYTES (1 << 20)

SIM_EXPORT int cudnnSetRNNDescriptor_v8(struct rnn *r, int algorithm, int cell, int bias,
					int direction, int input_mode, int data_type, int precision,
					int math, int input, int hidden, int projection,
					int layers);
SIM_EXPORT int cudnnSetRNNDescriptor_v8(struct rnn *r, int algorithm, int cell, int bias,
					int direction, int input_mode, int data_type, int precision,
					int math, int input, int hidden, int projection, int layers)
{
	static const int gates[] = { 1, 1, 4, 3 }; /* number of gates: RELU, TANH, LSTM, GRU */
	(void)algorithm, (void)bias, (void)input_mode, (void)precision, (void)math;
	*r = (struct rnn){ .cell = cell & 3,
			   .gates = gates[cell & 3],
			   .layers = layers,
			   .directions = direction ? 2 : 1 };
	r->input = input;
	r->hidden = hidden;
	r->type = data_type;
	r->output = projection > 0 && projection < hidden ? projection : hidden;
	return 0;
}

static size_t number_bytes(const struct rnn *r)
{
	/* all other types are half or bfloat16, as under autocast */
	enum { FLOAT = 0, DOUBLE = 1 };
	return r->type == FLOAT ? 4 : r->type == DOUBLE ? 8 : 2;
}

/* Returns the input size of a pseudo layer, which is one direction of a layer. */
static int layer_input(const struct rnn *r, int pseudo_layer)
{
	return pseudo_layer < r->directions ? r->input : r->output * r->directions;
}

/* Returns how many weights a layer has. Every gate has a matrix for the input and one for the
 * state; the projection's matrix follows. */
static size_t layer_numbers(const struct rnn *r, int pseudo_layer)
{
	size_t gates = (size_t)r->gates * r->hidden * (layer_input(r, pseudo_layer) + r->output);
	return gates + (r->output < r->hidden ? (size_t)r->output * r->hidden : 0);
}

SIM_EXPORT int cudnnGetRNNWeightSpaceSize(void *h, struct rnn *r, size_t *bytes);
SIM_EXPORT int cudnnGetRNNWeightSpaceSize(void *h, struct rnn *r, size_t *bytes)
{
	size_t numbers = 0;
	(void)h;
	for (int i = 0; i < r->layers * r->directions; i++)
		numbers += layer_numbers(r, i) + 2ul * r->gates * r->hidden;
	*bytes = numbers * number_bytes(r);
	return 0;
}

/*
 * Returns at which weight of the layer a matrix begins, and sets its shape. `id` counts the
 * matrices of the inputs' gates, then those of the states' gates, then the projection's.
 */
static size_t matrix_at(const struct rnn *r, int pseudo_layer, int id, struct shape *shape)
{
	int input = layer_input(r, pseudo_layer), gates = r->gates;
	bool of_state = id >= gates, is_projection = id == 2 * gates;
	*shape = (struct shape){ r->type, 3, { 1, r->hidden, of_state ? r->output : input } };
	if (is_projection)
		*shape = (struct shape){ r->type, 3, { 1, r->output, r->hidden } };
	size_t columns = of_state ? (size_t)gates * input + (size_t)(id - gates) * r->output
				  : (size_t)id * input;
	return columns * (size_t)r->hidden;
}

/*
 * Returns where the matrix and the bias `id` are. All matrices come first, then all biases; a
 * projection has no bias. The caller asks for one of them or for both.
 */
SIM_EXPORT int cudnnGetRNNWeightParams(void *h, struct rnn *r, int pseudo_layer, size_t bytes,
				       char *space, int id, struct shape *matrix, void **matrix_to,
				       struct shape *bias, void **bias_to);
SIM_EXPORT int cudnnGetRNNWeightParams(void *h, struct rnn *r, int pseudo_layer, size_t bytes,
				       char *space, int id, struct shape *matrix, void **matrix_to,
				       struct shape *bias, void **bias_to)
{
	size_t at = 0, biases = 0;
	struct shape shape;
	(void)h, (void)bytes;
	for (int i = 0; i < r->layers * r->directions; i++) {
		if (i < pseudo_layer)
			at += layer_numbers(r, i);
		biases += layer_numbers(r, i);
	}
	at += matrix_at(r, pseudo_layer, id, &shape);
	biases += ((size_t)pseudo_layer * 2 * r->gates + id) * r->hidden;
	if (matrix && matrix_to) {
		*matrix = shape;
		*matrix_to = space + at * number_bytes(r);
	}
	if (bias && bias_to) {
		*bias = (struct shape){ r->type, 3, { 1, r->hidden, 1 } };
		*bias_to = id < 2 * r->gates ? space + biases * number_bytes(r) : NULL;
	}
	return 0;
}

SIM_EXPORT int cudnnGetTensorNdDescriptor(struct shape *s, int wanted, int *type, int *dimensions,
					  int *sizes, int *strides);
SIM_EXPORT int cudnnGetTensorNdDescriptor(struct shape *s, int wanted, int *type, int *dimensions,
					  int *sizes, int *strides)
{
	*type = s->type;
	*dimensions = s->dimensions;
	int stride = 1;
	for (int i = s->dimensions - 1; i >= 0; i--) {
		if (i < wanted) {
			sizes[i] = s->sizes[i];
			strides[i] = stride;
		}
		stride *= s->sizes[i];
	}
	return 0;
}

SIM_EXPORT int cudnnGetFilterNdDescriptor(struct shape *s, int wanted, int *type, int *format,
					  int *dimensions, int *sizes);
SIM_EXPORT int cudnnGetFilterNdDescriptor(struct shape *s, int wanted, int *type, int *format,
					  int *dimensions, int *sizes)
{
	int strides[8];
	*format = 0;
	return cudnnGetTensorNdDescriptor(s, wanted < 8 ? wanted : 8, type, dimensions, sizes,
					  strides);
}

SIM_EXPORT int cudnnGetRNNTempSpaceSizes(void *h, void *rnn, int mode, void *x, size_t *work,
					 size_t *reserve);
SIM_EXPORT int cudnnGetRNNTempSpaceSizes(void *h, void *rnn, int mode, void *x, size_t *work,
					 size_t *reserve)
{
	(void)h, (void)rnn, (void)mode, (void)x;
	if (work)
		*work = BUFFER_BYTES;
	if (reserve)
		*reserve = BUFFER_BYTES;
	return 0;
}

SIM_EXPORT int cudnnDropoutGetStatesSize(void *h, size_t *bytes);
SIM_EXPORT int cudnnDropoutGetStatesSize(void *h, size_t *bytes)
{
	(void)h;
	*bytes = BUFFER_BYTES;
	return 0;
}

static int pass(struct libs_handle *h, const struct rnn *r, const char *direction,
		bool is_persistent)
{
	static const char *const cells[] = { "RELU", "TANH", "LSTM", "GRU" };
	char name[96];
	snprintf(name, sizeof(name), "RNN_blockPersist_%s_%s_kernel", direction, cells[r->cell]);
	for (int i = 0; i < r->layers * r->directions; i++) {
		if (libs_launch(h->stream,
				"sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_kernel__5x_cudnn",
				(unsigned)(r->gates * r->hidden + 63) / 64, 1, 1, 128))
			return CUDNN_FAILED;
		if (is_persistent && libs_launch(h->stream, name, 8, 1, 1, 256))
			return CUDNN_FAILED;
	}
	return 0;
}

SIM_EXPORT int cudnnRNNForward(struct libs_handle *h, const struct rnn *r);
SIM_EXPORT int cudnnRNNForward(struct libs_handle *h, const struct rnn *r)
{
	return pass(h, r, "fp", true);
}

SIM_EXPORT int cudnnRNNBackwardData_v8(struct libs_handle *h, const struct rnn *r);
SIM_EXPORT int cudnnRNNBackwardData_v8(struct libs_handle *h, const struct rnn *r)
{
	return pass(h, r, "bp", true);
}

SIM_EXPORT int cudnnRNNBackwardWeights_v8(struct libs_handle *h, const struct rnn *r);
SIM_EXPORT int cudnnRNNBackwardWeights_v8(struct libs_handle *h, const struct rnn *r)
{
	return pass(h, r, "bp", false);
}
