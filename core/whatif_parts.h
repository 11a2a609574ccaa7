/* Between the files of core/whatif.h. */
#ifndef CORE_WHATIF_PARTS_H
#define CORE_WHATIF_PARTS_H

#include "core/whatif.h"

/* whatif_pinned.c: the op's copies come from pinned memory, and take the device as long as such ones do. */
void whatif_pin_source(struct whatif *w, uint32_t op);

#endif
