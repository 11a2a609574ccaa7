/* What a process's journal says of it. */
#include "core/source/journal/damage.h"
#include "export/process.h"

char *process_damage(const struct process *p, char *to, size_t bytes)
{
	to[0] = 0;
	return p->is_live ? to : damage_say(to, bytes, &p->ingest.reader, &p->ingest.dict);
}

/* Whether steps were looked for in vain, and slices of time recorded. */
bool process_has_slices(const struct process *p)
{
	const struct journal_steps *s = &p->ingest.reader.header->steps;
	return atomic_load(&s->slices) && !atomic_load(&s->base_generation);
}
