/*
 * cuFFT as PyTorch calls it. A plan is a number. A transform launches one kernel for each
 * dimension, named after the types of its input and output. Runs on the application's threads.
 */
#include "test/sim/libs.h"

#include <pthread.h>
#include <stdio.h>

enum {
	PLANS = 4096,
	DIMENSIONS = 3,
	INVALID_PLAN = 1,
	ALLOC_FAILED = 2,
	EXEC_FAILED = 6
}; /* cufftResult */

static struct plan {
	bool used;
	void *stream;
	int dimensions, input, output; /* cudaDataType_t */
	long long sizes[DIMENSIONS], batch;
} plans[PLANS];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static struct plan *plan_of(int number)
{
	return number > 0 && number < PLANS && plans[number].used ? &plans[number] : NULL;
}

SIM_EXPORT int cufftCreate(int *number);
SIM_EXPORT int cufftCreate(int *number)
{
	int i = 1;
	pthread_mutex_lock(&lock);
	while (i < PLANS && plans[i].used)
		i++;
	if (i < PLANS)
		plans[i] = (struct plan){ .used = true };
	pthread_mutex_unlock(&lock);
	*number = i;
	return i < PLANS ? 0 : ALLOC_FAILED;
}

SIM_EXPORT int cufftDestroy(int number);
SIM_EXPORT int cufftDestroy(int number)
{
	struct plan *p = plan_of(number);
	if (!p)
		return INVALID_PLAN;
	pthread_mutex_lock(&lock);
	p->used = false;
	pthread_mutex_unlock(&lock);
	return 0;
}

SIM_EXPORT int cufftSetStream(int number, void *stream);
SIM_EXPORT int cufftSetStream(int number, void *stream)
{
	struct plan *p = plan_of(number);
	if (!p)
		return INVALID_PLAN;
	p->stream = stream;
	return 0;
}

SIM_EXPORT int cufftXtMakePlanMany(int number, int dimensions, const long long *sizes,
				   const long long *in_embed, long long in_stride,
				   long long in_distance, int input, const long long *out_embed,
				   long long out_stride, long long out_distance, int output,
				   long long batch, size_t *work_bytes, int type);
SIM_EXPORT int cufftXtMakePlanMany(int number, int dimensions, const long long *sizes,
				   const long long *in_embed, long long in_stride,
				   long long in_distance, int input, const long long *out_embed,
				   long long out_stride, long long out_distance, int output,
				   long long batch, size_t *work_bytes, int type)
{
	struct plan *p = plan_of(number);
	(void)in_embed, (void)in_stride, (void)in_distance, (void)out_embed, (void)out_stride,
		(void)out_distance, (void)type;
	if (!p || dimensions < 1 || dimensions > DIMENSIONS)
		return INVALID_PLAN;
	p->dimensions = dimensions;
	p->input = input;
	p->output = output;
	p->batch = batch;
	memcpy(p->sizes, sizes, (size_t)dimensions * sizeof(*sizes));
	*work_bytes = 16384; /* any size; nothing is computed in the workspace */
	return 0;
}

/* Returns 'r' for a real type, 'c' for a complex one. The real types are CUDA_R_32F, CUDA_R_64F and
 * CUDA_R_16F: numbers below 4, except 3. */
static char letter(int type)
{
	return type < 4 && type != 3 ? 'r' : 'c';
}

SIM_EXPORT int cufftXtExec(int number, void *input, void *output, int direction);
SIM_EXPORT int cufftXtExec(int number, void *input, void *output, int direction)
{
	struct plan *p = plan_of(number);
	char name[96];
	(void)input, (void)output;
	if (!p)
		return INVALID_PLAN;
	for (int i = 0; i < p->dimensions; i++) {
		snprintf(name, sizeof(name), "regular_fft_%lld_%c2%c_%s_kernel__cufft", p->sizes[i],
			 letter(p->input), letter(p->output),
			 direction < 0 ? "forward" : "inverse");
		if (libs_launch(p->stream, name,
				(unsigned)(p->batch > 0 && p->batch < 65535 ? p->batch : 1), 1, 1,
				128))
			return EXEC_FAILED;
	}
	return 0;
}
