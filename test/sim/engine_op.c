/*
 * When operations start and end. Known moments are numbers. An operation that waits for a host
 * function is a node of a dependency graph. The helper thread resolves this graph: it runs host
 * functions at their simulated time, then computes the times of all operations after them. The
 * helper runs user code, so it never holds engine_lock while it does.
 */
#include "test/sim/engine.h"

#include <errno.h>
#include <stdio.h>

struct op {
	int references;
	int pending; /* number of dependencies that are not resolved */
	bool resolved, published;
	int64_t ready_ns;
	int64_t look_ns; /* when to call request.meets again */
	struct op_request request;
	struct op **dependents;
	int dependent_count;
	struct op *next; /* next in the list `ready` */
};

static struct op *ready; /* operations whose dependencies are resolved, in no particular order */
static pthread_cond_t helper_wake, op_resolved;
static pthread_once_t helper_once = PTHREAD_ONCE_INIT;
static uint64_t last_id;

int64_t engine_ns(double us)
{
	return (int64_t)(us * 1000.0 + 0.5);
}

static int64_t op_end(const struct op *op)
{
	return op->request.desc.end_ns;
}

/* Releases a reference. Requires engine_lock. */
static void op_drop(struct op *op)
{
	if (!op || --op->references)
		return;
	free(op->dependents);
	free(op);
}

bool op_is_known(const struct when *moment)
{
	return !moment->op || moment->op->resolved;
}

static int64_t moment_ns(const struct when *moment)
{
	return moment->op ? op_end(moment->op) : moment->ns;
}

struct when op_reference(struct when moment)
{
	if (moment.op && moment.op->resolved)
		moment = (struct when){ .ns = op_end(moment.op) };
	if (moment.op)
		moment.op->references++;
	return moment;
}

void op_release(struct when *moment)
{
	op_drop(moment->op);
	*moment = (struct when){ .ns = 0 };
}

void op_assign(struct when *to, struct when from)
{
	struct op *old = to->op;
	*to = from;
	op_drop(old);
}

static void *helper_main(void *unused);

static void helper_start(void)
{
	pthread_condattr_t attributes;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&helper_wake, &attributes);
	pthread_cond_init(&op_resolved, &attributes);
	pthread_attr_t detached;
	pthread_attr_init(&detached);
	pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
	pthread_t thread;
	int rc = pthread_create(&thread, &detached, helper_main, NULL);
	if (rc)
		sim_log("host functions will not run: no thread: %s", strerror(rc));
}

static void op_make_ready(struct op *op)
{
	op->references++;
	op->next = ready;
	ready = op;
	pthread_cond_signal(&helper_wake);
}

static struct when op_defer(const struct op_request *request, const struct when *deps, int count)
{
	pthread_once(&helper_once, helper_start);
	struct op *op = calloc(1, sizeof(*op));
	op->references = 1;
	op->request = *request;
	op->request.desc.id = ++last_id;
	op->request.desc.resolved = false;
	op->published = request->silent;
	op->ready_ns = request->not_before_ns;
	for (int i = 0; i < count; i++) {
		struct op *dep = deps[i].op;
		if (op_is_known(&deps[i])) {
			if (moment_ns(&deps[i]) > op->ready_ns)
				op->ready_ns = moment_ns(&deps[i]);
			continue;
		}
		/* Double the room whenever the count is a power of two. */
		if ((dep->dependent_count & (dep->dependent_count - 1)) == 0)
			dep->dependents =
				realloc(dep->dependents,
					(dep->dependent_count ? dep->dependent_count * 2 : 1) *
						sizeof(struct op *));
		dep->dependents[dep->dependent_count++] = op;
		op->references++;
		op->pending++;
	}
	if (!op->pending)
		op_make_ready(op);
	return (struct when){ .op = op };
}

struct when op_submit(struct op_request *request, const struct when *deps, int count)
{
	int64_t start = request->not_before_ns;
	bool known = !request->host && !request->meets;
	for (int i = 0; known && i < count; i++) {
		known = op_is_known(&deps[i]);
		if (known && moment_ns(&deps[i]) > start)
			start = moment_ns(&deps[i]);
	}
	if (known) {
		request->desc.resolved = true;
		request->desc.start_ns = start;
		request->desc.end_ns = start + request->duration_ns;
		return (struct when){ .ns = request->desc.end_ns };
	}
	struct when moment = op_defer(request, deps, count);
	request->desc.id = moment.op->request.desc.id;
	request->desc.resolved = false;
	return moment;
}

struct when op_join(const struct when *moments, int count)
{
	if (count == 1)
		return op_reference(moments[0]);
	struct op_request request = { .silent = true };
	return op_submit(&request, moments, count);
}

/* Marks an operation as published. The helper reports the end of an operation only after its
 * submission was reported. Call without engine_lock. */
void op_published(const struct when *moment)
{
	if (!moment->op)
		return;
	pthread_mutex_lock(&engine_lock);
	moment->op->published = true;
	pthread_cond_broadcast(&helper_wake);
	pthread_mutex_unlock(&engine_lock);
}

static int64_t op_wait_known(struct when moment)
{
	if (moment.op) {
		pthread_mutex_lock(&engine_lock);
		while (!moment.op->resolved)
			pthread_cond_wait(&op_resolved, &engine_lock);
		moment.ns = op_end(moment.op);
		op_drop(moment.op);
		pthread_mutex_unlock(&engine_lock);
	}
	return moment.ns;
}

void op_wait_before(struct when moment, int64_t ns)
{
	sim_wait_until(op_wait_known(moment) - ns);
}

int64_t op_wait(struct when moment, bool sleep)
{
	moment.ns = op_wait_known(moment);
	if (sleep)
		sim_sleep_until(moment.ns);
	else
		sim_wait_until(moment.ns);
	return moment.ns;
}

bool op_passed(struct when moment)
{
	pthread_mutex_lock(&engine_lock);
	bool passed = op_is_known(&moment) && moment_ns(&moment) <= sim_now_ns();
	pthread_mutex_unlock(&engine_lock);
	return passed;
}

/* ---- the helper thread ---- */

/* How often the helper asks whether a kernel that waits for other ranks has ended (sim_meeting):
 * first every 20 us, then more and more rarely. */
enum { LOOK_LEAST_NS = 20000, LOOK_MOST_NS = 500000, LOOK_SHARE = 20 };

static int64_t due_ns(const struct op *op)
{
	return op->request.meets ? op->look_ns : op->ready_ns;
}

static struct op *ready_take_first(void)
{
	struct op **first = &ready;
	for (struct op **at = &ready; *at; at = &(*at)->next) {
		/*
		 * The times of device work are computed at once. A host function waits until its
		 * simulated time.
		 */
		if (!(*at)->request.host && !(*at)->request.meets) {
			first = at;
			break;
		}
		if (due_ns(*at) < due_ns(*first))
			first = at;
	}
	struct op *op = *first;
	*first = op->next;
	return op;
}

static void helper_pause(int64_t until_ns)
{
	struct timespec t = { until_ns / 1000000000, until_ns % 1000000000 };
	pthread_cond_timedwait(&helper_wake, &engine_lock, &t);
}

static void op_finish(struct op *op)
{
	op->resolved = true;
	pthread_cond_broadcast(&op_resolved);
	for (int i = 0; i < op->dependent_count; i++) {
		struct op *next = op->dependents[i];
		if (op_end(op) > next->ready_ns)
			next->ready_ns = op_end(op);
		if (!--next->pending)
			op_make_ready(next);
		op_drop(next);
	}
	op->dependent_count = 0;
}

/* Runs an operation and reports its end. Requires engine_lock on entry and exit, but releases it in
 * between. */
static void op_carry_out(struct op *op)
{
	struct op_request *r = &op->request;
	while (!op->published)
		pthread_cond_wait(&helper_wake, &engine_lock);
	pthread_mutex_unlock(&engine_lock);
	if (r->host) {
		sim_wait_until(op->ready_ns);
		r->desc.start_ns = sim_now_ns();
	} else {
		r->desc.start_ns = op->ready_ns;
	}
	if (r->action)
		r->action(r->arg);
	r->desc.end_ns = r->host ? sim_now_ns() : r->desc.start_ns + r->duration_ns;
	r->desc.resolved = true;
	if (!r->silent)
		engine_publish_resolved(&r->desc);
	pthread_mutex_lock(&engine_lock);
	op_finish(op);
}

/* Asks whether a kernel that waits for other ranks has ended (sim_meeting). Returns false if it has
 * not. Requires engine_lock on entry and exit, but releases it in between. */
static bool op_meet(struct op *op)
{
	struct op_request *r = &op->request;
	while (!op->published)
		pthread_cond_wait(&helper_wake, &engine_lock);
	pthread_mutex_unlock(&engine_lock);
	int64_t end_ns = r->meets(r->arg, op->ready_ns), now_ns = sim_now_ns();
	if (end_ns >= 0) {
		r->desc.start_ns = op->ready_ns;
		r->desc.end_ns = end_ns;
		r->desc.resolved = true;
		engine_publish_resolved(&r->desc);
	}
	pthread_mutex_lock(&engine_lock);
	if (end_ns >= 0) {
		op_finish(op);
		return true;
	}
	int64_t pause_ns = (now_ns - op->ready_ns) / LOOK_SHARE;
	pause_ns = pause_ns > LOOK_MOST_NS ? LOOK_MOST_NS : pause_ns;
	op->look_ns = now_ns + (pause_ns < LOOK_LEAST_NS ? LOOK_LEAST_NS : pause_ns);
	return false;
}

static void helper_put_back(struct op *op)
{
	op->next = ready;
	ready = op;
}

static void *helper_main(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "cuda-host-func");
	pthread_mutex_lock(&engine_lock);
	for (;;) {
		if (!ready) {
			pthread_cond_wait(&helper_wake, &engine_lock);
			continue;
		}
		struct op *op = ready_take_first();
		if (op->request.host && op->ready_ns > sim_now_ns() + 200000) {
			helper_put_back(op);
			helper_pause(op->ready_ns - 150000);
			continue;
		}
		if (op->request.meets && op->look_ns > sim_now_ns()) {
			helper_put_back(op);
			helper_pause(op->look_ns);
			continue;
		}
		if (op->request.meets && !op_meet(op)) {
			helper_put_back(op);
			continue;
		}
		if (!op->request.meets)
			op_carry_out(op);
		op_drop(op);
	}
	return NULL;
}
