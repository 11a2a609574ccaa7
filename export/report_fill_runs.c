/* Copies what the runs of operators launch into a report. */
#include "export/report_fill_parts.h"

enum {
	SEQUENCES_MOST = 500,
	/* Kernels of a sequence that are named. In three public traces (ResNet-50 twice, and a
	 * compiled recommendation model), the longest sequences have 9, except for those of
	 * optimizers (483) and of whole compiled passes (2,311), whose names took 1 MB. */
	KERNELS_MOST = 32,
};

void fill_delays(struct filler *x, struct report_process *p)
{
	list_make(x->arena, &p->delays, x->f->delays.n);
	for (size_t i = 0; i < p->delays.n; i++) {
		const struct finding_delay *from = &x->f->delays.at[i];
		p->delays.at[i] = (struct report_delay){
			.name = fill_text(x, from->name),
			.per_step = from->per_step,
			.to_launch_us = from->to_launch_us,
			.launch_to_work_us = from->launch_to_work_us,
			.to_work_us = from->to_launch_us + from->launch_to_work_us,
		};
	}
}

void fill_sequences(struct filler *x, struct report_process *p)
{
	size_t n = x->f->sequences.n < SEQUENCES_MOST ? x->f->sequences.n : SEQUENCES_MOST;
	list_make(x->arena, &p->sequences, n);
	for (size_t i = 0; i < n; i++) {
		const struct finding_sequence *from = &x->f->sequences.at[i];
		const struct timeline *t = x->f->timeline;
		struct report_sequence *to = &p->sequences.at[i];
		*to = (struct report_sequence){ .name = fill_text(x, from->operator),
						.n_kernels = from->n,
						.per_step = from->per_step,
						.gpu_ms = from->gpu_ms,
						.host_ms = from->host_ms };
		list_make(x->arena, &to->kernels, from->n < KERNELS_MOST ? from->n : KERNELS_MOST);
		for (size_t k = 0; k < to->kernels.n; k++) {
			uint32_t name = t->runs.names.at[from->first_work + k];
			to->kernels.at[k] = fill_text(x, strtab_text(&t->tables->names, name));
		}
	}
}
