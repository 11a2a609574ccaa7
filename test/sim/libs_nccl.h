/*
 * The simulated NCCL. Its ranks are processes on this machine, or devices of one process, and meet
 * in shared memory. libs_nccl_meet.c implements the meetings, libs_nccl.c NCCL's functions.
 */
#ifndef TEST_SIM_LIBS_NCCL_H
#define TEST_SIM_LIBS_NCCL_H

#include <stdatomic.h>

#include "test/sim/libs.h"

/* values of ncclResult_t */
enum { NCCL_SYSTEM_ERROR = 2, NCCL_INVALID_ARGUMENT = 4, NCCL_REMOTE_ERROR = 6 };

enum {
	RANKS_MOST = 64,
	/* A rank's part of at most this size really moves; larger ones read as zeros afterwards. */
	DATA_BYTES = 65536,
};

struct nccl_id {
	char name[128]; /* name of the shared memory */
};

struct nccl_comm {
	int n, rank, device;
	_Atomic int error; /* ncclResult_t of an asynchronous error */
	atomic_bool aborted;
	struct nccl_id id;
	struct segment *shared; /* NULL if there is only one rank */
	uint64_t collectives;	/* number of collectives called so far */
	uint32_t splits;
	uint32_t sent[RANKS_MOST], received[RANKS_MOST];
};

/* Joining and leaving a communicator. The functions return 0, or an ncclResult_t after they have
 * logged the reason. `waits`: wait until all ranks have joined. */
int nccl_join(struct nccl_comm *c, bool waits);
int nccl_wait_joined(struct nccl_comm *c);
void nccl_leave(struct nccl_comm *c);

/* Gives this rank's two numbers to all ranks and gets theirs, for ncclCommSplit. Returns 0 or an
 * ncclResult_t. */
int nccl_exchange(struct nccl_comm *c, const int mine[2], int all[RANKS_MOST][2]);

/* Which bytes a collective moves. */
enum nccl_move { MOVE_NOTHING, MOVE_FROM_ROOT, MOVE_TO_ALL, MOVE_TO_ROOT, MOVE_PARTS, MOVE_SUM };

struct nccl_call {
	const char *function; /* name for messages */
	enum nccl_move move;
	struct nccl_comm *comm;
	const void *from;
	void *to;
	size_t bytes; /* size of one rank's part */
	int root;     /* rank of the root, or of the partner of a message */
	double transfer_ns;
	/* number of this call on the communicator, or between the two ranks of a message */
	uint64_t number;
};

/*
 * A kernel's part in a meeting: one collective, or all messages of a group. Freed when the meeting
 * is over.
 */
struct nccl_meeting {
	struct nccl_comm *comm;
	bool has_come, is_group;
	int64_t asked_ns; /* when nccl_meets() was first called */
	int n_calls;
	struct nccl_call calls[];
};

int64_t nccl_meets(void *meeting, int64_t start_ns);

#endif
