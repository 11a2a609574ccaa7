/* See kineto_parts.h: NCCL's calls, with the arguments that PyTorch gives to its own. */
#include "core/model/collective.h"
#include "export/kineto_parts.h"

#include <inttypes.h>
#include <stdio.h>

bool kineto_is_comm(const struct model_library *l)
{
	return l->facts == FACTS_COLLECTIVE || l->facts == FACTS_MESSAGE;
}

static const struct collective *row_of(const struct kineto_file *k, const struct model_library *l)
{
	return collective_of(strtab_text(&k->m->tables->names, l->name));
}

const char *kineto_comm_name(const struct kineto_file *k, const struct model_library *l)
{
	const struct collective *row = row_of(k, l);
	return row ? row->range : strtab_text(&k->m->tables->names, l->name);
}

static void group_name(char *to, size_t bytes, uint64_t comm)
{
	snprintf(to, bytes, "%#" PRIx64, comm);
}

/* Writes the elements of both messages of this rank. */
static void write_counts(struct kineto_file *k, const struct collective *row,
			 const struct model_library *l)
{
	uint64_t all = l->count * (row && row->counts_one_part && l->n_ranks ? l->n_ranks : 1);
	bool is_in_part = row && row->count == COUNT_IN,
	     is_out_part = row && row->count == COUNT_OUT;
	kineto_arg_int(k, "In msg nelems", (int64_t)(is_in_part ? l->count : all));
	kineto_arg_int(k, "Out msg nelems", (int64_t)(is_out_part ? l->count : all));
}

/* In PyTorch, "Rank" is that of the root or of the other side, if there is one, else that of the
 * caller. */
static void write_ranks(struct kineto_file *k, const struct collective *row,
			const struct model_library *l)
{
	if (l->peer >= 0)
		kineto_arg_int(k, "Rank", l->peer);
	else if (l->rank != MODEL_NO_RANK)
		kineto_arg_int(k, "Rank", l->rank);
	if (l->facts == FACTS_MESSAGE && l->peer >= 0)
		kineto_arg_int(k, row && row->count == COUNT_OUT ? "Src Rank" : "Dst Rank",
			       l->peer);
}

void kineto_comm_args(struct kineto_file *k, const struct model_library *l)
{
	const struct collective *row = row_of(k, l);
	const struct collective_type *type = collective_type(l->type);
	char name[64];
	snprintf(name, sizeof(name), "%.*s", row ? (int)strcspn(row->torch, " ") : 63,
		 row ? row->torch : strtab_text(&k->m->tables->names, l->name));
	kineto_arg_text(k, "Collective name", name);
	if (type)
		kineto_arg_text(k, "dtype", type->torch);
	write_counts(k, row, l);
	kineto_arg_int(k, "Group size", l->n_ranks);
	write_ranks(k, row, l);
	if (l->comm) {
		group_name(name, sizeof(name), l->comm);
		kineto_arg_text(k, "Process Group Name", name);
	}
	if (l->sequence)
		kineto_arg_int(k, "Seq", l->sequence);
}

void kineto_find_comms(struct kineto_file *k)
{
	const struct model_step *m = k->m;
	for (uint32_t i = 0; i < m->libraries.n; i++) {
		const struct model_library *l = &m->libraries.at[i];
		if (!kineto_is_comm(l) || l->is_grouped)
			continue;
		for (uint32_t call = l->first_call; call < l->first_call + l->n_calls; call++)
			for (uint32_t n = 0; n < m->calls.at[call].n_work; n++)
				k->comm_of_work[m->links.at[m->calls.at[call].first_link + n]] =
					i + 1;
	}
}

/* ---- distributedInfo ---- */

void kineto_put_groups(struct kineto_file *k)
{
	enum { GROUP_ROOM = 128 };
	const struct model_step *m = k->m;
	struct map seen = { 0 };
	k->out.at = JSON_PUT_LITERAL(json_room(&k->out, GROUP_ROOM), ", \"pg_config\": [");
	for (size_t i = 0; i < m->libraries.n; i++) {
		const struct model_library *l = &m->libraries.at[i];
		bool is_new = false;
		char name[32];
		if (kineto_is_comm(l) && l->comm)
			map_at(&seen, l->comm, &is_new);
		if (!is_new)
			continue;
		group_name(name, sizeof(name), l->comm);
		char *at = json_room(&k->out, GROUP_ROOM);
		at += sprintf(at, "%s{\"pg_name\": \"%s\", \"backend_config\": \"cuda:nccl\"",
			      seen.n > 1 ? ", " : "", name);
		k->out.at = at + sprintf(at, ", \"pg_size\": %u}", l->n_ranks);
	}
	char *at = json_room(&k->out, GROUP_ROOM);
	k->out.at = at + sprintf(at, "], \"pg_count\": %zu", (size_t)seen.n);
	map_free(&seen);
}
