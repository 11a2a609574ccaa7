/*
 * cuDNN's recurrent networks: the shapes of weights and buffers, which PyTorch asks for and checks. What computes is
 * generated, one kernel for each call. Application threads.
 */
#include "test/sim/libs.h"

struct rnn {
	int gates, layers, directions;
	int input, hidden;
};

/* Also what a filter or tensor descriptor holds where somebody reads it back. */
struct shape {
	int type, dimensions, sizes[8];
};

#define BUFFER_BYTES (1 << 20) /* workspace and reserve: nothing is computed in them */

SIM_EXPORT int cudnnSetRNNDescriptor_v8(struct rnn *r, int algorithm, int cell, int bias,
					int direction, int input_mode, int data_type, int precision,
					int math, int input, int hidden, int projection,
					int layers);
SIM_EXPORT int cudnnSetRNNDescriptor_v8(struct rnn *r, int algorithm, int cell, int bias,
					int direction, int input_mode, int data_type, int precision,
					int math, int input, int hidden, int projection, int layers)
{
	static const int gates[] = { 1, 1, 4, 3 }; /* RELU, TANH, LSTM, GRU */
	(void)algorithm, (void)bias, (void)input_mode, (void)data_type, (void)precision, (void)math,
		(void)projection;
	*r = (struct rnn){ .gates = gates[cell & 3],
			   .layers = layers,
			   .directions = direction ? 2 : 1 };
	r->input = input;
	r->hidden = hidden;
	return 0;
}

/* Pseudo layers count directions; every gate has a matrix for the input and one for the state. */
static size_t layer_numbers(const struct rnn *r, int pseudo_layer)
{
	int input = pseudo_layer < r->directions ? r->input : r->hidden * r->directions;
	return (size_t)r->gates * r->hidden * (input + r->hidden);
}

SIM_EXPORT int cudnnGetRNNWeightSpaceSize(void *h, struct rnn *r, size_t *bytes);
SIM_EXPORT int cudnnGetRNNWeightSpaceSize(void *h, struct rnn *r, size_t *bytes)
{
	size_t numbers = 0;
	(void)h;
	for (int i = 0; i < r->layers * r->directions; i++)
		numbers += layer_numbers(r, i) + 2ul * r->gates * r->hidden;
	*bytes = numbers * sizeof(float);
	return 0;
}

/* All matrices first, then all biases. */
SIM_EXPORT int cudnnGetRNNWeightParams(void *h, struct rnn *r, int pseudo_layer, size_t bytes,
				       char *space, int id, struct shape *matrix, void **matrix_at,
				       struct shape *bias, void **bias_at);
SIM_EXPORT int cudnnGetRNNWeightParams(void *h, struct rnn *r, int pseudo_layer, size_t bytes,
				       char *space, int id, struct shape *matrix, void **matrix_at,
				       struct shape *bias, void **bias_at)
{
	size_t at = 0, biases = 0;
	int first = pseudo_layer < r->directions ? r->input : r->hidden * r->directions;
	bool of_state = id >= r->gates;
	(void)h, (void)bytes;
	for (int i = 0; i < r->layers * r->directions; i++) {
		if (i < pseudo_layer)
			at += layer_numbers(r, i);
		biases += layer_numbers(r, i);
	}
	at += (size_t)(of_state ? r->gates * first + (id - r->gates) * r->hidden : id * first) *
	      r->hidden;
	biases += ((size_t)pseudo_layer * 2 * r->gates + id) * r->hidden;
	/* The caller asks for the matrix or for the bias, or for both. */
	if (matrix && matrix_at) {
		*matrix = (struct shape){ 0, 3, { 1, r->hidden, of_state ? r->hidden : first } };
		*matrix_at = space + at * sizeof(float);
	}
	if (bias && bias_at) {
		*bias = (struct shape){ 0, 3, { 1, r->hidden, 1 } };
		*bias_at = space + biases * sizeof(float);
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
