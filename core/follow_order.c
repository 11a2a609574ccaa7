/* Where CUPTI records no calls, which id is which call is found here, of all that is held, before steps are told apart: what comes
 * behind a step says as much about its last calls as what came before. */
#include "core/follow.h"

#include "core/pair_order.h"

void follow_pair_by_order(struct follow *f)
{
	if (!dict_info_is(&f->dict, "pairing", "order") || f->counts.records == f->records_paired)
		return;
	f->records_paired = f->counts.records;
	struct pair_thread *threads = mem_zero(f->threads.n * sizeof(*threads));
	for (size_t i = 0; i < f->threads.n; i++)
		threads[i] = (struct pair_thread){
			.slot = f->threads.at[i].slot,
			.calls = f->threads.at[i].calls.at,
			.n_calls = f->threads.at[i].calls.n,
		};
	const struct pair_input in = {
		.dict = &f->dict,
		.threads = threads,
		.n_threads = f->threads.n,
		.works = f->works.at,
		.n_works = f->works.n,
		.expects_work = follow_expects,
		.context = f,
	};
	f->externals.n = 0;
	vec_reserve(&f->externals, f->works.n);
	f->externals.n = pair_by_order(&in, f->externals.at);
	free(threads);
}
