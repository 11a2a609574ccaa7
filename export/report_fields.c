/* Defines the tables of report.def. */
#include "export/report_json.h"

#include "export/report.def"
