/* See run_journals.h. */
#include "export/run_journals.h"

#include "export/outfile.h"

#include <errno.h>

int run_journals(struct journals *j, const char *folder, struct err *e)
{
	int error = journals_list(j, folder, e);
	if (!error || error == -ENODATA)
		outfile_sweep(folder);
	return error;
}
