/*
 * NCCL's functions. Outside a group, a call launches its kernel at once. Within a group, kernels
 * are launched at the group's end: one for each collective, and one for all messages of a
 * communicator and stream. Runs on the application's threads.
 */
#include "test/sim/libs_nccl.h"

#include <stdio.h>
#include <sys/random.h>

enum { CALLS_MOST = 1024 };

/* The calls that the current group has collected on this thread. */
static __thread struct {
	int depth, n_calls, n_joining;
	struct {
		struct nccl_call call;
		void *stream;
		char kernel[96];
	} * calls;
	struct nccl_comm *joining[RANKS_MOST];
} group;

static const struct {
	const char *name;
	uint8_t bytes;
} types[] = {
	{ "i8", 1 },  { "u8", 1 },  { "i32", 4 }, { "u32", 4 },	 { "i64", 8 },	  { "u64", 8 },
	{ "f16", 2 }, { "f32", 4 }, { "f64", 8 }, { "bf16", 2 }, { "f8e4m3", 1 }, { "f8e5m2", 1 },
};
static const char *const operations[] = { "Sum", "Prod", "Max", "Min", "PreMulSum" };

static bool is_type(int type)
{
	return type >= 0 && type < (int)(sizeof(types) / sizeof(*types));
}

/* ---- Launching ---- */

static double transfer_ns(const struct nccl_comm *c, double link_bytes)
{
	const struct sim_tools *tools = libs_tools();
	(void)c;
	return tools ? tools->settings->nccl_us * 1e3 + link_bytes / tools->settings->nccl_gbps : 0;
}

static int launch(void *stream, const char *kernel, const struct nccl_call *calls, int n,
		  bool is_group)
{
	struct nccl_meeting *m = calloc(1, sizeof(*m) + (size_t)n * sizeof(m->calls[0]));
	bool met = false;
	*m = (struct nccl_meeting){ .comm = calls[0].comm, .is_group = is_group, .n_calls = n };
	memcpy(m->calls, calls, (size_t)n * sizeof(m->calls[0]));
	int rc = libs_launch_meeting(stream, kernel, 16, nccl_meets, m, &met);
	if (!met || rc)
		free(m);
	return rc ? 1 : 0;
}

static int run(void *stream, const char *kernel, struct nccl_call *k)
{
	struct nccl_comm *c = k->comm;
	if (!c->shared)
		return libs_launch(stream, kernel, 16, 1, 1, 512) ||
		       (k->to && libs_copy_on(stream, k->to, k->from, k->bytes));
	k->number = c->collectives++;
	return launch(stream, kernel, k, 1, false);
}

static int enter(const struct nccl_call *k, void *stream, const char *kernel)
{
	if (!group.calls)
		group.calls = calloc(CALLS_MOST, sizeof(*group.calls));
	if (group.n_calls == CALLS_MOST) {
		sim_log("NCCL: more than %d calls in a group", CALLS_MOST);
		return NCCL_INVALID_ARGUMENT;
	}
	group.calls[group.n_calls].call = *k;
	group.calls[group.n_calls].stream = stream;
	snprintf(group.calls[group.n_calls].kernel, sizeof(group.calls[0].kernel), "%s", kernel);
	group.n_calls++;
	return 0;
}

static int submit(struct nccl_call *k, void *stream, const char *kernel)
{
	struct nccl_comm *c = k->comm;
	if (!c || k->root >= c->n || k->root < -1)
		return NCCL_INVALID_ARGUMENT;
	int error = atomic_load(&c->error);
	if (error)
		return error;
	return group.depth ? enter(k, stream, kernel) : run(stream, kernel, k);
}

/* ---- Collectives ---- */

/*
 * Calls a collective. `links`: how often a rank's share of all bytes crosses a link, times n / (n -
 * 1). 0: all bytes cross one link once.
 */
static int collective(const char *name, const char *operation, enum nccl_move move, int links,
		      const void *from, void *to, size_t count, int type, int root,
		      struct nccl_comm *c, void *stream)
{
	char kernel[96];
	if (!is_type(type) || !c)
		return NCCL_INVALID_ARGUMENT;
	struct nccl_call k = { .function = name,
			       .move = move,
			       .comm = c,
			       .from = from,
			       .to = to,
			       .root = root,
			       .bytes = count * types[type].bytes };
	bool is_of_parts = move == MOVE_TO_ALL || move == MOVE_TO_ROOT || move == MOVE_PARTS ||
			   !strcmp(name, "ReduceScatter");
	double all = (double)k.bytes * (is_of_parts ? c->n : 1);
	k.transfer_ns = transfer_ns(c, links ? all * links * (c->n - 1) / c->n : all);
	snprintf(kernel, sizeof(kernel),
		 "ncclDevKernel_%s%s%s%s_RING_LL(ncclDevKernelArgsStorage<4096ul>)", name,
		 operation, *operation ? "_" : "", *operation ? types[type].name : "");
	return submit(&k, stream, kernel);
}

static const char *operation_name(int operation, char to[24])
{
	bool is_known = operation >= 0 &&
			operation < (int)(sizeof(operations) / sizeof(*operations));
	snprintf(to, 24, "_%s", is_known ? operations[operation] : "PreMulSum");
	return to;
}

SIM_EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
			     struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclAllReduce(const void *from, void *to, size_t count, int type, int op,
			     struct nccl_comm *c, void *stream)
{
	char text[24];
	return collective("AllReduce", operation_name(op, text), MOVE_SUM, 2, from, to, count, type,
			  -1, c, stream);
}

SIM_EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
			  struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclReduce(const void *from, void *to, size_t count, int type, int op, int root,
			  struct nccl_comm *c, void *stream)
{
	char text[24];
	return collective("Reduce", operation_name(op, text), MOVE_SUM, 0, from,
			  c && c->rank == root ? to : NULL, count, type, root, c, stream);
}

SIM_EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
				 struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclReduceScatter(const void *from, void *to, size_t count, int type, int op,
				 struct nccl_comm *c, void *stream)
{
	char text[24];
	return collective("ReduceScatter", operation_name(op, text), MOVE_SUM, 1, from, to, count,
			  type, -1, c, stream);
}

SIM_EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
			     struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclBroadcast(const void *from, void *to, size_t count, int type, int root,
			     struct nccl_comm *c, void *stream)
{
	return collective("Broadcast", "", MOVE_FROM_ROOT, 0, from, to, count, type, root, c,
			  stream);
}

SIM_EXPORT int ncclBcast(void *buffer, size_t count, int type, int root, struct nccl_comm *c,
			 void *stream);
SIM_EXPORT int ncclBcast(void *buffer, size_t count, int type, int root, struct nccl_comm *c,
			 void *stream)
{
	return ncclBroadcast(buffer, buffer, count, type, root, c, stream);
}

SIM_EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type,
			     struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclAllGather(const void *from, void *to, size_t count, int type,
			     struct nccl_comm *c, void *stream)
{
	return collective("AllGather", "", MOVE_TO_ALL, 1, from, to, count, type, -1, c, stream);
}

SIM_EXPORT int ncclGather(const void *from, void *to, size_t count, int type, int root,
			  struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclGather(const void *from, void *to, size_t count, int type, int root,
			  struct nccl_comm *c, void *stream)
{
	return collective("Gather", "", MOVE_TO_ROOT, 1, from, to, count, type, root, c, stream);
}

SIM_EXPORT int ncclScatter(const void *from, void *to, size_t count, int type, int root,
			   struct nccl_comm *c, void *stream);
SIM_EXPORT int ncclScatter(const void *from, void *to, size_t count, int type, int root,
			   struct nccl_comm *c, void *stream)
{
	return collective("Scatter", "", MOVE_PARTS, 1, from, to, count, type, root, c, stream);
}

/* Moves no bytes; only the time is simulated. */
SIM_EXPORT int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct nccl_comm *c,
			    void *stream);
SIM_EXPORT int ncclAlltoAll(const void *from, void *to, size_t count, int type, struct nccl_comm *c,
			    void *stream)
{
	return collective("AlltoAll", "", MOVE_NOTHING, 1, from, to, count * (c ? (size_t)c->n : 1),
			  type, -1, c, stream);
}

/* ---- Messages ---- */

static int message(const char *name, const void *from, void *to, size_t count, int type, int peer,
		   struct nccl_comm *c, void *stream)
{
	if (!is_type(type) || !c || peer < 0 || peer >= c->n)
		return NCCL_INVALID_ARGUMENT;
	struct nccl_call k = { .function = name, .comm = c, .from = from, .to = to, .root = peer };
	k.bytes = count * types[type].bytes;
	k.transfer_ns = transfer_ns(c, (double)k.bytes);
	if (c->shared)
		k.number = from ? c->sent[peer]++ : c->received[peer]++;
	if (group.depth)
		return enter(&k, stream, "");
	return c->shared
		       ? launch(stream, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)",
				&k, 1, true)
		       /* a message to itself outside a group would wait forever */
		       : NCCL_INVALID_ARGUMENT;
}

SIM_EXPORT int ncclSend(const void *from, size_t count, int type, int peer, struct nccl_comm *c,
			void *stream);
SIM_EXPORT int ncclSend(const void *from, size_t count, int type, int peer, struct nccl_comm *c,
			void *stream)
{
	return message("ncclSend", from, NULL, count, type, peer, c, stream);
}

SIM_EXPORT int ncclRecv(void *to, size_t count, int type, int peer, struct nccl_comm *c,
			void *stream);
SIM_EXPORT int ncclRecv(void *to, size_t count, int type, int peer, struct nccl_comm *c,
			void *stream)
{
	return message("ncclRecv", NULL, to, count, type, peer, c, stream);
}

/* ---- Groups ---- */

SIM_EXPORT int ncclGroupStart(void);
SIM_EXPORT int ncclGroupStart(void)
{
	group.depth++;
	return 0;
}

/*
 * Launches one kernel for all messages that have the same communicator and stream as message
 * `first`, and marks these messages as launched.
 */
static int launch_messages(int first)
{
	struct nccl_call *calls = calloc((size_t)group.n_calls, sizeof(*calls));
	struct nccl_comm *c = group.calls[first].call.comm;
	void *stream = group.calls[first].stream;
	int n = 0;
	for (int i = first; i < group.n_calls; i++) {
		if (group.calls[i].kernel[0] || group.calls[i].call.comm != c ||
		    group.calls[i].stream != stream)
			continue;
		calls[n++] = group.calls[i].call;
		group.calls[i].call.comm = NULL;
	}
	const char *kernel = "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)";
	int rc = c->shared ? launch(stream, kernel, calls, n, true)
			   : libs_launch(stream, kernel, 16, 1, 1, 512);
	free(calls);
	return rc;
}

SIM_EXPORT int ncclGroupEnd(void);
SIM_EXPORT int ncclGroupEnd(void)
{
	int rc = 0;
	if (!group.depth)
		return NCCL_INVALID_ARGUMENT;
	if (--group.depth)
		return 0;
	for (int i = 0; i < group.n_joining && !rc; i++)
		rc = nccl_wait_joined(group.joining[i]);
	for (int i = 0; i < group.n_calls && !rc; i++) {
		if (!group.calls[i].call.comm)
			continue;
		rc = group.calls[i].kernel[0] ? run(group.calls[i].stream, group.calls[i].kernel,
						    &group.calls[i].call)
					      : launch_messages(i);
	}
	group.n_calls = group.n_joining = 0;
	return rc;
}

/* ---- Communicators ---- */

SIM_EXPORT int ncclGetUniqueId(struct nccl_id *id);
SIM_EXPORT int ncclGetUniqueId(struct nccl_id *id)
{
	uint64_t words[2] = { (uint64_t)sim_now_ns(), (uint64_t)(uintptr_t)id };
	memset(id, 0, sizeof(*id));
	if (getrandom(words, sizeof(words), 0) < 0)
		sim_log("NCCL: no random numbers; ids are made from the clock");
	snprintf(id->name, sizeof(id->name), "/profsim-nccl-%016llx%016llx",
		 (unsigned long long)words[0], (unsigned long long)words[1]);
	return 0;
}

static int make(struct nccl_comm **out, int n, const struct nccl_id *id, int rank, bool waits)
{
	if (n < 1 || n > RANKS_MOST || rank < 0 || rank >= n ||
	    memcmp(id->name, "/profsim-nccl-", 14) != 0) {
		sim_log("NCCL: rank %d of %d: at most %d ranks, and an id from ncclGetUniqueId",
			rank, n, RANKS_MOST);
		return NCCL_INVALID_ARGUMENT;
	}
	const struct sim_tools *tools = libs_tools();
	struct nccl_comm *c = calloc(1, sizeof(*c));
	*c = (struct nccl_comm){ .n = n, .rank = rank, .id = *id };
	c->device = tools ? tools->current_device() : 0;
	c->id.name[sizeof(c->id.name) - 1] = 0;
	int rc = nccl_join(c, waits && !group.depth);
	if (rc) {
		free(c);
		return rc;
	}
	if (group.depth && group.n_joining < RANKS_MOST)
		group.joining[group.n_joining++] = c;
	*out = c;
	return 0;
}

SIM_EXPORT int ncclCommInitRankConfig(struct nccl_comm **out, int ranks, struct nccl_id id,
				      int rank, void *config);
SIM_EXPORT int ncclCommInitRankConfig(struct nccl_comm **out, int ranks, struct nccl_id id,
				      int rank, void *config)
{
	(void)config;
	return make(out, ranks, &id, rank, true);
}

SIM_EXPORT int ncclCommInitRank(struct nccl_comm **out, int ranks, struct nccl_id id, int rank);
SIM_EXPORT int ncclCommInitRank(struct nccl_comm **out, int ranks, struct nccl_id id, int rank)
{
	return make(out, ranks, &id, rank, true);
}

SIM_EXPORT int ncclCommInitAll(struct nccl_comm **out, int n, const int *devices);
SIM_EXPORT int ncclCommInitAll(struct nccl_comm **out, int n, const int *devices)
{
	struct nccl_id id;
	int rc = ncclGetUniqueId(&id);
	for (int i = 0; i < n && !rc; i++) {
		rc = make(&out[i], n, &id, i, false);
		if (!rc)
			out[i]->device = devices ? devices[i] : i;
	}
	return rc;
}

/* Forms a communicator of the ranks with the same color, ordered by their keys. */
SIM_EXPORT int ncclCommSplit(struct nccl_comm *c, int color, int key, struct nccl_comm **out,
			     void *config);
SIM_EXPORT int ncclCommSplit(struct nccl_comm *c, int color, int key, struct nccl_comm **out,
			     void *config)
{
	int all[RANKS_MOST][2], rank = 0, n = 0;
	struct nccl_id id = { 0 };
	(void)config;
	int rc = nccl_exchange(c, (const int[2]){ color, key }, all);
	snprintf(id.name, sizeof(id.name), "%.60s-%u-%d", c->id.name, c->splits++, color);
	*out = NULL;
	if (rc || color < 0)
		return rc;
	for (int i = 0; i < c->n; i++) {
		n += all[i][0] == color;
		rank += all[i][0] == color &&
			(all[i][1] < key || (all[i][1] == key && i < c->rank));
	}
	return make(out, n, &id, rank, true);
}

SIM_EXPORT int ncclCommDestroy(struct nccl_comm *c);
SIM_EXPORT int ncclCommDestroy(struct nccl_comm *c)
{
	/* Keep the struct and the shared memory, because kernels under way still meet there. */
	(void)c;
	return 0;
}

SIM_EXPORT int ncclCommFinalize(struct nccl_comm *c);
SIM_EXPORT int ncclCommFinalize(struct nccl_comm *c)
{
	(void)c;
	return 0;
}

SIM_EXPORT int ncclCommAbort(struct nccl_comm *c);
SIM_EXPORT int ncclCommAbort(struct nccl_comm *c)
{
	if (c)
		atomic_store(&c->aborted, true);
	return 0;
}

SIM_EXPORT int ncclCommGetAsyncError(struct nccl_comm *c, int *status);
SIM_EXPORT int ncclCommGetAsyncError(struct nccl_comm *c, int *status)
{
	*status = c ? atomic_load(&c->error) : NCCL_INVALID_ARGUMENT;
	return 0;
}

#define GETTER(function, expression)                                    \
	SIM_EXPORT int function(const struct nccl_comm *c, int *value); \
	SIM_EXPORT int function(const struct nccl_comm *c, int *value)  \
	{                                                               \
		*value = (expression);                                  \
		return 0;                                               \
	}
GETTER(ncclCommCount, c->n)
GETTER(ncclCommUserRank, c->rank)
GETTER(ncclCommCuDevice, c->device)

/* ---- Versions and error texts ---- */

SIM_EXPORT int ncclGetVersion(int *version);
SIM_EXPORT int ncclGetVersion(int *version)
{
	*version = 22809;
	return 0;
}

SIM_EXPORT const char *ncclGetErrorString(int status);
SIM_EXPORT const char *ncclGetErrorString(int status)
{
	static const char *const texts[] = { "no error",
					     "unhandled cuda error",
					     "system error",
					     "internal error",
					     "invalid argument",
					     "invalid usage",
					     "remote process exited or there was a network error" };
	return status >= 0 && status < (int)(sizeof(texts) / sizeof(*texts))
		       ? texts[status]
		       : "unknown result code";
}

SIM_EXPORT const char *ncclGetLastError(void *communicator);
SIM_EXPORT const char *ncclGetLastError(void *communicator)
{
	(void)communicator;
	return "";
}
