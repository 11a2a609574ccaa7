/* Reports a damaged or truncated journal, for commands that read journals. */
#include "export/command.h"
#include "export/process.h"

bool process_complain_of_damage(const struct process *p)
{
	char damage[DRIVER_DAMAGE_BYTES];
	if (!*driver_damage(p->driver, damage, sizeof(damage)))
		return false;
	data_error("%s: %s", driver_path(p->driver), damage);
	return true;
}
