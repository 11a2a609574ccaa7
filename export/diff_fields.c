/* Defines the table of diff.def. */
#include "export/diff.h"

#include "export/fields.h"

#include "export/diff.def"
