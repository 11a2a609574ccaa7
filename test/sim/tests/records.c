/*
 * CUPTI's records against what the program did. Usage: records MODE, one of records, clock, busy,
 * missing, drop, refuse, flush, worker, subscriber.
 */
#include "test/sim/tests/check.h"

#include <cupti.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#define BUFFER_BYTES 65536
#define MOST	     20000

struct seen {
	int kind, cbid, thread;
	uint32_t correlation;
	uint64_t start, end, external, bytes;
	char name[40];
	const void *completed_by;
};

static struct seen seen[MOST];
static int seen_count, requested, completed;
static bool refuse;
static pthread_t completer;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

static void buffer_requested(uint8_t **buffer, size_t *bytes, size_t *most)
{
	*bytes = BUFFER_BYTES;
	*buffer = refuse ? NULL : aligned_alloc(8, BUFFER_BYTES);
	*most = 0;
	__atomic_add_fetch(&requested, 1, __ATOMIC_SEQ_CST);
}

static void record_keep(CUpti_Activity *r)
{
	struct seen *s = &seen[seen_count];
	memset(s, 0, sizeof(*s));
	s->kind = r->kind;
	if (r->kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
		CUpti_ActivityKernel5 *k = (CUpti_ActivityKernel5 *)r;
		s->correlation = k->correlationId;
		s->start = k->start;
		s->end = k->end;
		snprintf(s->name, sizeof(s->name), "%s", k->name);
	} else if (r->kind == CUPTI_ACTIVITY_KIND_MEMCPY) {
		CUpti_ActivityMemcpy *m = (CUpti_ActivityMemcpy *)r;
		s->correlation = m->correlationId;
		s->start = m->start;
		s->end = m->end;
		s->bytes = m->bytes;
	} else if (r->kind == CUPTI_ACTIVITY_KIND_RUNTIME ||
		   r->kind == CUPTI_ACTIVITY_KIND_DRIVER) {
		CUpti_ActivityAPI *a = (CUpti_ActivityAPI *)r;
		s->correlation = a->correlationId;
		s->start = a->start;
		s->end = a->end;
		s->cbid = (int)a->cbid;
		s->thread = (int)a->threadId;
	} else if (r->kind == CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) {
		CUpti_ActivityExternalCorrelation *e = (CUpti_ActivityExternalCorrelation *)r;
		s->correlation = e->correlationId;
		s->external = e->externalId;
	} else if (r->kind == CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) {
		CUpti_ActivitySynchronization *y = (CUpti_ActivitySynchronization *)r;
		s->correlation = y->correlationId;
		s->start = y->start;
		s->end = y->end;
	}
	if (seen_count < MOST - 1)
		seen_count++;
}

static void buffer_completed(CUcontext context, uint32_t stream, uint8_t *buffer, size_t bytes,
			     size_t valid)
{
	CUpti_Activity *record = NULL;
	(void)context, (void)stream, (void)bytes;
	pthread_mutex_lock(&lock);
	completer = pthread_self();
	while (!cuptiActivityGetNextRecord(buffer, valid, &record))
		record_keep(record);
	completed++;
	pthread_mutex_unlock(&lock);
	free(buffer);
}

static int count_of(int kind)
{
	int n = 0;
	for (int i = 0; i < seen_count; i++)
		n += seen[i].kind == kind;
	return n;
}

static struct seen *find(int kind, uint32_t correlation)
{
	for (int i = 0; i < seen_count; i++)
		if (seen[i].kind == kind && (!correlation || seen[i].correlation == correlation))
			return &seen[i];
	return NULL;
}

static uint64_t ticks(void)
{
	return __builtin_ia32_rdtsc();
}

/* The runtime is warmed up first: its own look-ups are calls too. */
static void start(void)
{
	static const CUpti_ActivityKind kinds[] = { CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
						    CUPTI_ACTIVITY_KIND_MEMCPY,
						    CUPTI_ACTIVITY_KIND_RUNTIME,
						    CUPTI_ACTIVITY_KIND_DRIVER,
						    CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
						    CUPTI_ACTIVITY_KIND_SYNCHRONIZATION };
	NEED(cuptiSetThreadIdType(CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM));
	NEED(cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed));
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++)
		NEED(cuptiActivityEnable(kinds[i]));
}

static void check_records(void)
{
	const void *kernel = kernel_named("_Z10work_200usPf");
	char *device, host[64];
	NEED(cudaMalloc((void **)&device, 64));
	start();
	NEED(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 41));
	NEED(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, 42));
	launch(kernel, NULL);
	uint64_t popped;
	NEED(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2,
						   &popped));
	NEED(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2, NULL));
	NEED(cudaMemcpy(host, device, 64, cudaMemcpyDeviceToHost));
	NEED(cudaDeviceSynchronize());
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	NEED(cuptiActivityFlushAll(0));
	struct seen *k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0),
		    *m = find(CUPTI_ACTIVITY_KIND_MEMCPY, 0);
	check(k && m, "a kernel and a copy", "%d kernels, %d copies",
	      count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
	      count_of(CUPTI_ACTIVITY_KIND_MEMCPY));
	if (!k || !m)
		return;
	struct seen *api = find(CUPTI_ACTIVITY_KIND_RUNTIME, k->correlation);
	struct seen *nested = find(CUPTI_ACTIVITY_KIND_DRIVER, k->correlation);
	struct seen *external = find(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION, k->correlation);
	check(!strcmp(k->name, "_Z10work_200usPf"), "the kernel's mangled name", "%s", k->name);
	check(k->end - k->start >= 199900 && k->end - k->start <= 200100, "the kernel's time",
	      "%lu ns", (unsigned long)(k->end - k->start));
	check(m->start >= k->end && m->bytes == 64, "the copy comes after it", "%ld ns",
	      (long)(m->start - k->end));
	check(api && api->cbid == CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000,
	      "the launch's record", "none");
	check(!nested, "no record of the driver's call within it", "one");
	check(api && k->start > api->start + 7000,
	      "the kernel starts 3 + 4 us after its launch began", "before");
	check(api && api->thread == (int)syscall(SYS_gettid), "the system's thread id", "%d",
	      api ? api->thread : 0);
	check(external && external->external == 42 && popped == 42, "the top external id", "%lu",
	      external ? (unsigned long)external->external : 0);
	check(external && external + 1 < seen + seen_count &&
		      (external + 1)->correlation == k->correlation &&
		      (external + 1)->kind == CUPTI_ACTIVITY_KIND_RUNTIME,
	      "stands before the API record", "it does not");
	check(count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION) == 1, "and nowhere else", "%d",
	      count_of(CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION));
	check(count_of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION) == 1, "a record of the sync", "%d",
	      count_of(CUPTI_ACTIVITY_KIND_SYNCHRONIZATION));
	double age = ((double)now.tv_sec * 1e9 + (double)now.tv_nsec) - (double)m->end;
	check(age > 0 && age < 1e9, "times are CLOCK_REALTIME", "%.0f ns ago", age);
	/* Of a whole kind only one function, and, where a context is, one without its kind. */
	NEED(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	NEED(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaDeviceSynchronize_v3020,
					   0));
	seen_count = 0;
	launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	check(count_of(CUPTI_ACTIVITY_KIND_RUNTIME) == 1, "all but one function of a kind",
	      "%d records", count_of(CUPTI_ACTIVITY_KIND_RUNTIME));
	NEED(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	NEED(cuptiActivityEnableRuntimeApi(CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000, 1));
	seen_count = 0;
	launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	check(!count_of(CUPTI_ACTIVITY_KIND_RUNTIME),
	      "one function without its kind brings nothing", "%d records",
	      count_of(CUPTI_ACTIVITY_KIND_RUNTIME));
}

static void check_clock(void)
{
	const void *kernel = kernel_named("work_3000us");
	NEED(cuptiActivityRegisterTimestampCallback(ticks));
	start();
	uint64_t t0 = ticks();
	double u0 = now_us();
	usleep(20000);
	double per_ns = (double)(ticks() - t0) / ((now_us() - u0) * 1e3);
	uint64_t before = ticks();
	launch(kernel, NULL);
	uint64_t launched = ticks();
	NEED(cudaDeviceSynchronize());
	uint64_t after = ticks();
	NEED(cuptiActivityFlushAll(0));
	struct seen *k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	check(k && k->start > before && k->end <= after + (uint64_t)(1000 * per_ns),
	      "the kernel lies within its wait", "%ld %ld", k ? (long)(k->start - before) : 0,
	      k ? (long)(after - k->end) : 0);
	double late_ns = k ? (double)(int64_t)(k->start - launched) / per_ns : 1e9;
	check(late_ns < 50000, "it starts soon after its launch", "%.0f ns", late_ns);
	double ns = k ? (double)(k->end - k->start) / per_ns : 0;
	check(ns > 2997000 && ns < 3003000, "3 ms on a clock of ticks", "%.0f ns", ns);
}

static void check_flush(void)
{
	const void *kernel = kernel_named("work_100000us");
	launch(kernel_named("warm_up"), NULL);
	NEED(cudaDeviceSynchronize());
	start();
	launch(kernel, NULL);
	NEED(cuptiActivityFlushAll(0));
	check(!count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL),
	      "an unforced flush leaves what is not complete", "%d came",
	      count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	NEED(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	struct seen *k = find(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, 0);
	check(k && !k->end, "a forced one gives it without an end", "%lu",
	      k ? (unsigned long)k->end : 1);
	NEED(cudaDeviceSynchronize());
	seen_count = 0;
	NEED(cuptiActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED));
	check(!count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL), "and not again", "%d came",
	      count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void check_worker(void)
{
	const void *kernel = kernel_named("work_2us");
	start();
	for (int i = 0; i < 2000; i++)
		launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	/* all but the one that is still open */
	for (int i = 0; i < 200 && __atomic_load_n(&completed, __ATOMIC_SEQ_CST) + 1 <
					   __atomic_load_n(&requested, __ATOMIC_SEQ_CST);
	     i++)
		usleep(10000);
	pthread_mutex_lock(&lock);
	check(completed > 5, "full buffers are completed", "%d of %d", completed, requested);
	check(!pthread_equal(completer, pthread_self()), "by another thread", "by this one");
	pthread_mutex_unlock(&lock);
	NEED(cuptiActivityFlushAll(0));
	check(pthread_equal(completer, pthread_self()), "the rest by who flushes", "by another");
	check(completed == requested, "every buffer comes back", "%d of %d", completed, requested);
	check(count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) == 2000, "no record is lost", "%d",
	      count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
}

static void check_drop(void)
{
	const void *kernel = kernel_named("work_2us");
	size_t dropped = 0, again = 0;
	launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	start();
	NEED(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_RUNTIME));
	NEED(cuptiActivityDisable(CUPTI_ACTIVITY_KIND_DRIVER));
	for (int i = 0; i < 300; i++)
		launch(kernel, NULL);
	NEED(cudaStreamSynchronize(NULL));
	NEED(cuptiActivityFlushAll(0));
	NEED(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	NEED(cuptiActivityGetNumDroppedRecords(NULL, 0, &again));
	check(dropped == 100 && count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) >= 200,
	      "every third record is lost", "%zu lost, %d came", dropped,
	      count_of(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL));
	check(!again, "the count starts anew", "%zu", again);
}

static void check_refuse(void)
{
	const void *kernel = kernel_named("work_2us");
	size_t dropped = 0;
	refuse = true;
	start();
	launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	NEED(cuptiActivityFlushAll(0));
	NEED(cuptiActivityGetNumDroppedRecords(NULL, 0, &dropped));
	check(!seen_count && dropped >= 3, "without buffers all is dropped and counted",
	      "%d came, %zu dropped", seen_count, dropped);
}

static void check_absent(int wanted, const char *what)
{
	CUpti_SubscriberHandle subscriber;
	uint32_t version;
	int register_rc = cuptiActivityRegisterCallbacks(buffer_requested, buffer_completed);
	int enable_rc = cuptiActivityEnable(CUPTI_ACTIVITY_KIND_MEMCPY);
	int subscribe_rc = cuptiSubscribe(&subscriber, NULL, NULL);
	check(register_rc == wanted && enable_rc == wanted && subscribe_rc == wanted, what,
	      "%d %d %d", register_rc, enable_rc, subscribe_rc);
	if (wanted == CUPTI_ERROR_NOT_INITIALIZED)
		check(cuptiGetVersion(&version) == CUPTI_ERROR_NOT_INITIALIZED, "it has no version",
		      "it has");
	launch(kernel_named("k"), NULL);
	check(cudaDeviceSynchronize() == cudaSuccess, "the program runs on", "it does not");
}

static int entered, left;
static void *launch_params;

static void CUPTIAPI on_call(void *data, CUpti_CallbackDomain domain, CUpti_CallbackId id,
			     const void *info)
{
	const CUpti_CallbackData *call = info;
	(void)data, (void)id;
	if (domain != CUPTI_CB_DOMAIN_RUNTIME_API)
		return;
	if (call->callbackSite == CUPTI_API_ENTER)
		entered++;
	else
		left++;
	memcpy(&launch_params, call->functionParams, sizeof(void *));
}

static void check_subscriber(void)
{
	CUpti_SubscriberHandle one, two;
	const void *kernel = kernel_named("k");
	NEED(cuptiSubscribe(&one, on_call, NULL));
	check(cuptiSubscribe(&two, on_call, NULL) == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
	      "one subscriber", "two");
	NEED(cuptiEnableCallback(1, one, CUPTI_CB_DOMAIN_RUNTIME_API,
				 CUPTI_RUNTIME_TRACE_CBID_cudaLaunchKernel_v7000));
	launch(kernel, NULL);
	NEED(cudaDeviceSynchronize());
	check(entered == 1 && left == 1 && launch_params == kernel,
	      "is called around the call it chose", "%d %d", entered, left);
	NEED(cuptiUnsubscribe(one));
	launch(kernel, NULL);
	check(entered == 1, "and not after leaving", "%d", entered);
	NEED(cuptiSubscribe(&two, on_call, NULL));
	NEED(cuptiUnsubscribe(two));
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "records";
	if (!strcmp(mode, "records"))
		check_records();
	else if (!strcmp(mode, "clock"))
		check_clock();
	else if (!strcmp(mode, "flush"))
		check_flush();
	else if (!strcmp(mode, "worker"))
		check_worker();
	else if (!strcmp(mode, "drop"))
		check_drop();
	else if (!strcmp(mode, "refuse"))
		check_refuse();
	else if (!strcmp(mode, "subscriber"))
		check_subscriber();
	else if (!strcmp(mode, "busy"))
		check_absent(CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED, "CUPTI is busy");
	else if (!strcmp(mode, "missing"))
		check_absent(CUPTI_ERROR_NOT_INITIALIZED, "CUPTI is missing");
	else
		return 2;
	return check_failed;
}
