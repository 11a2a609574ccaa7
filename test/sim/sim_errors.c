/*
 * Names and texts of errors. The driver and the runtime use the same numbers. Contains only tables;
 * any thread.
 */
#include "test/sim/sim_common.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

struct error_name {
	int error;
	const char *name;
};

static const struct error_name driver_errors[] = {
#include "errors_driver.def"
};

static const struct error_name runtime_errors[] = {
#include "errors_runtime.def"
};

#define COUNT(table) (sizeof(table) / sizeof(*(table)))

static const struct error_name texts[] = {
	{ 0, "no error" },
	{ 1, "invalid argument" },
	{ 2, "out of memory" },
	{ 3, "initialization error" },
	{ 4, "driver shutting down" },
	{ 9, "invalid configuration argument" },
	{ 35, "CUDA driver version is insufficient for CUDA runtime version" },
	{ 98, "invalid device function" },
	{ 100, "no CUDA-capable device is detected" },
	{ 101, "invalid device ordinal" },
	{ 200, "device kernel image is invalid" },
	{ 201, "invalid device context" },
	{ 209, "no kernel image is available for execution on the device" },
	{ 217, "peer access is not supported between these two devices" },
	{ 301, "file not found" },
	{ 400, "invalid resource handle" },
	{ 500, "named symbol not found" },
	{ 600, "device not ready" },
	{ 700, "an illegal memory access was encountered" },
	{ 701, "too many resources requested for launch" },
	{ 702, "the launch timed out and was terminated" },
	{ 704, "peer access is already enabled" },
	{ 705, "peer access has not been enabled" },
	{ 709, "context is destroyed" },
	{ 710, "device-side assert triggered" },
	{ 712, "part or all of the requested memory range is already mapped" },
	{ 713, "pointer does not correspond to a registered memory region" },
	{ 719, "unspecified launch failure" },
	{ 800, "operation not permitted" },
	{ 801, "operation not supported" },
	{ 900, "operation not permitted when stream is capturing" },
	{ 901, "operation failed due to a previous error during capture" },
	{ 902, "operation would result in a merge of separate capture sequences" },
	{ 903, "capture was not ended in the same stream as it began" },
	{ 904, "capturing stream has unjoined work" },
	{ 905, "dependency created on uncaptured work in another stream" },
	{ 906, "operation would make the legacy stream depend on a capturing blocking stream" },
	{ 907, "operation not permitted on an event last recorded in a capturing stream" },
	{ 908, "attempt to terminate a thread-local capture sequence from another thread" },
	{ 910, "the graph update was not performed because it included changes which violated "
	       "constraints "
	       "specific to instantiated graph update" },
	{ 999, "unknown error" },
};

static const char *table_find(const struct error_name *table, size_t count, int error)
{
	for (size_t i = 0; i < count; i++)
		if (table[i].error == error)
			return table[i].name;
	return NULL;
}

const char *sim_error_name(bool runtime, int error)
{
	return runtime ? table_find(runtime_errors, COUNT(runtime_errors), error)
		       : table_find(driver_errors, COUNT(driver_errors), error);
}

const char *sim_error_text(int error)
{
	return table_find(texts, COUNT(texts), error) ?: sim_error_name(true, error);
}

int sim_error_parse(const char *text)
{
	char *end;
	long number = strtol(text, &end, 10);
	if (end != text && !*end)
		return number > 0 && number < 100000 ? (int)number : 0;
	for (size_t i = 0; i < COUNT(driver_errors); i++)
		if (!strcmp(driver_errors[i].name, text))
			return driver_errors[i].error;
	for (size_t i = 0; i < COUNT(runtime_errors); i++)
		if (!strcmp(runtime_errors[i].name, text))
			return runtime_errors[i].error;
	return 0;
}
