/* Saying that a journal is damaged or cut short, for the commands that read one. */
#include "core/source/journal/damage.h"
#include "export/command.h"
#include "export/process.h"

bool process_complain_of_damage(const struct process *p)
{
	char damage[DAMAGE_BYTES];
	if (!*process_damage(p, damage, sizeof(damage)))
		return false;
	data_error("%s: %s", p->path, damage);
	return true;
}
