/*
 * NCCL's stand-in: ranks are processes (or devices of one) on this machine and meet in shared
 * memory. libs_nccl_meet.c has the meetings, libs_nccl.c NCCL's functions.
 */
#ifndef TEST_SIM_LIBS_NCCL_H
#define TEST_SIM_LIBS_NCCL_H

#include <stdatomic.h>

#include "test/sim/libs.h"

/* ncclResult_t */
enum { NCCL_SYSTEM_ERROR = 2, NCCL_INVALID_ARGUMENT = 4, NCCL_REMOTE_ERROR = 6 };

enum {
	RANKS_MOST = 64,
	DATA_BYTES =
		/* of a rank's part that really moves; larger ones read as zeros afterwards */
	65536,
};

struct nccl_id {
	char name[128]; /* of the shared memory */
};

struct nccl_comm {
	int n, rank, device;
	_Atomic int error; /* ncclResult_t: asynchronous */
	atomic_bool aborted;
	struct nccl_id id;
	struct segment *shared; /* NULL: one rank */
	uint64_t collectives;	/* called so far */
	uint32_t splits;
	uint32_t sent[RANKS_MOST], received[RANKS_MOST];
};

/* The others' parts of a communicator: 0, or an ncclResult_t with the reason on stderr. */
int nccl_join(struct nccl_comm *c, bool waits);
int nccl_wait_joined(struct nccl_comm *c);
void nccl_leave(struct nccl_comm *c);

/* Every rank gives two numbers and gets all of theirs; 0 or an ncclResult_t. For ncclCommSplit. */
int nccl_exchange(struct nccl_comm *c, const int mine[2], int all[RANKS_MOST][2]);

/* What moves in a collective. */
enum nccl_move { MOVE_NOTHING, MOVE_FROM_ROOT, MOVE_TO_ALL, MOVE_TO_ROOT, MOVE_PARTS, MOVE_SUM };

struct nccl_call {
	const char *function; /* for messages */
	enum nccl_move move;
	struct nccl_comm *comm;
	const void *from;
	void *to;
	size_t bytes; /* of a rank's part */
	int root;     /* or the partner of a message */
	double transfer_ns;
	uint64_t number; /* on the communicator, or between the two */
};

/*
 * A kernel's part in a meeting: of one collective, or of a group's messages. Freed when it is over.
 */
struct nccl_meeting {
	struct nccl_comm *comm;
	bool has_come, is_group;
	int64_t asked_ns; /* for the first time */
	int n_calls;
	struct nccl_call calls[];
};

int64_t nccl_meets(void *meeting, int64_t start_ns);

#endif
