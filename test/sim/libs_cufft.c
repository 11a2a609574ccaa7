/*
 * cuFFT for one GPU. A plan is a number. A transform launches one kernel for each
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
	INVALID_TYPE = 3,
	INVALID_VALUE = 4,
	EXEC_FAILED = 6,
	INVALID_SIZE = 8
}; /* cufftResult */

#define WORK_BYTES 16384 /* any size; nothing is computed in the workspace */

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
	*work_bytes = WORK_BYTES;
	return 0;
}

/* Returns 'r' for a real type, 'c' for a complex one. The real types are CUDA_R_32F, CUDA_R_64F and
 * CUDA_R_16F: numbers below 4, except 3. */
static char letter(int type)
{
	return type < 4 && type != 3 ? 'r' : 'c';
}

static int plan_run(int number, int direction)
{
	struct plan *p = plan_of(number);
	char name[96];
	if (!p || !p->dimensions)
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

SIM_EXPORT int cufftXtExec(int number, void *input, void *output, int direction);
SIM_EXPORT int cufftXtExec(int number, void *input, void *output, int direction)
{
	(void)input, (void)output;
	return plan_run(number, direction);
}

/* ---- the interface of the first versions: a transform has one of six types ---- */

/* The types of a transform (cufftType) with those of its input and output (cudaDataType_t). */
static const struct type {
	int type, input, output;
} types[] = {
	{ 0x2a, 0, 4 }, { 0x2c, 4, 0 }, { 0x29, 4, 4 }, /* R2C, C2R, C2C */
	{ 0x6a, 1, 5 }, { 0x6c, 5, 1 }, { 0x69, 5, 5 }, /* D2Z, Z2D, Z2Z */
};

static int plan_make(int number, int dimensions, const long long *sizes, int type, long long batch,
		     size_t *work_bytes)
{
	size_t unused;
	if (dimensions < 1 || dimensions > DIMENSIONS)
		return INVALID_VALUE;
	for (int i = 0; i < dimensions; i++)
		if (sizes[i] < 1 || batch < 1)
			return INVALID_SIZE;
	for (size_t i = 0; i < sizeof(types) / sizeof(*types); i++)
		if (types[i].type == type)
			return cufftXtMakePlanMany(number, dimensions, sizes, NULL, 1, 0,
						   types[i].input, NULL, 1, 0, types[i].output,
						   batch, work_bytes ?: &unused, 0);
	return INVALID_TYPE;
}

static int plan_make_many(int number, int dimensions, const int *sizes, int type, int batch,
			  size_t *work_bytes)
{
	long long wide[DIMENSIONS] = { 0 };
	for (int i = 0; i < dimensions && i < DIMENSIONS; i++)
		wide[i] = sizes[i];
	return plan_make(number, dimensions, wide, type, batch, work_bytes);
}

static int plan_new(int *number, int dimensions, const int *sizes, int type, int batch)
{
	if (!number)
		return INVALID_VALUE;
	int rc = cufftCreate(number)
			 ?: plan_make_many(*number, dimensions, sizes, type, batch, NULL);
	if (rc)
		cufftDestroy(*number);
	return rc;
}

#define SIZES(...) ((const int[]){ __VA_ARGS__ })

/* Defines an exported function. `declared`: its parameters in parentheses. */
#define FUNCTION(name, declared, value) \
	SIM_EXPORT int name declared;   \
	SIM_EXPORT int name declared    \
	{                               \
		return value;           \
	}

FUNCTION(cufftPlan1d, (int *plan, int x, int type, int batch),
	 plan_new(plan, 1, SIZES(x), type, batch))
FUNCTION(cufftPlan2d, (int *plan, int x, int y, int type), plan_new(plan, 2, SIZES(x, y), type, 1))
FUNCTION(cufftPlan3d, (int *plan, int x, int y, int z, int type),
	 plan_new(plan, 3, SIZES(x, y, z), type, 1))
FUNCTION(cufftMakePlan1d, (int plan, int x, int type, int batch, size_t *work),
	 plan_make_many(plan, 1, SIZES(x), type, batch, work))
FUNCTION(cufftMakePlan2d, (int plan, int x, int y, int type, size_t *work),
	 plan_make_many(plan, 2, SIZES(x, y), type, 1, work))
FUNCTION(cufftMakePlan3d, (int plan, int x, int y, int z, int type, size_t *work),
	 plan_make_many(plan, 3, SIZES(x, y, z), type, 1, work))

/* Layouts of the data in memory change nothing here. */
#define LAYOUT(type)                                                                        \
	type *in_embed, type in_stride, type in_distance, type *out_embed, type out_stride, \
		type out_distance
#define LAYOUT_UNUSED                                                                          \
	(void)in_embed, (void)in_stride, (void)in_distance, (void)out_embed, (void)out_stride, \
		(void)out_distance

FUNCTION(cufftPlanMany, (int *plan, int rank, int *n, LAYOUT(int), int type, int batch),
	 (LAYOUT_UNUSED, plan_new(plan, rank, n, type, batch)))
FUNCTION(cufftMakePlanMany,
	 (int plan, int rank, int *n, LAYOUT(int), int type, int batch, size_t *work),
	 (LAYOUT_UNUSED, plan_make_many(plan, rank, n, type, batch, work)))
FUNCTION(cufftMakePlanMany64,
	 (int plan, int rank, long long *n, LAYOUT(long long), int type, long long batch,
	  size_t *work),
	 (LAYOUT_UNUSED, plan_make(plan, rank, n, type, batch, work)))

static int work_size(size_t *work)
{
	*work = WORK_BYTES;
	return 0;
}

FUNCTION(cufftEstimate1d, (int x, int type, int batch, size_t *work),
	 ((void)x, (void)type, (void)batch, work_size(work)))
FUNCTION(cufftEstimate2d, (int x, int y, int type, size_t *work),
	 ((void)x, (void)y, (void)type, work_size(work)))
FUNCTION(cufftEstimate3d, (int x, int y, int z, int type, size_t *work),
	 ((void)x, (void)y, (void)z, (void)type, work_size(work)))
FUNCTION(cufftGetSize, (int plan, size_t *work), plan_of(plan) ? work_size(work) : INVALID_PLAN)
FUNCTION(cufftGetSize1d, (int plan, int x, int type, int batch, size_t *work),
	 ((void)x, (void)type, (void)batch, plan_of(plan) ? work_size(work) : INVALID_PLAN))
FUNCTION(cufftSetWorkArea, (int plan, void *work), ((void)work, plan_of(plan) ? 0 : INVALID_PLAN))
FUNCTION(cufftSetAutoAllocation, (int plan, int on), ((void)on, plan_of(plan) ? 0 : INVALID_PLAN))
FUNCTION(cufftGetVersion, (int *version), (*version = 12000, 0))

#define EXECUTE(name)                                                        \
	FUNCTION(name, (int plan, void *input, void *output, int direction), \
		 ((void)input, (void)output, plan_run(plan, direction)))
#define EXECUTE_ONE_WAY(name, direction)                      \
	FUNCTION(name, (int plan, void *input, void *output), \
		 ((void)input, (void)output, plan_run(plan, direction)))

EXECUTE(cufftExecC2C)
EXECUTE(cufftExecZ2Z)
EXECUTE_ONE_WAY(cufftExecR2C, -1)
EXECUTE_ONE_WAY(cufftExecD2Z, -1)
EXECUTE_ONE_WAY(cufftExecC2R, 1)
EXECUTE_ONE_WAY(cufftExecZ2D, 1)
