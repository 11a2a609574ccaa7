/* See peak.h. */
#include "core/analysis/peak.h"

#include <fnmatch.h>
#include <stddef.h>

struct peak {
	const char *name;
	uint32_t multiprocessors;
	float f64, f64_tensor, f32, tf32, f16, f8, link, memory;
};

static const struct peak peaks[] = {
#define PEAK(...) { __VA_ARGS__ },
#include "core/analysis/peaks.def"
#undef PEAK
};

static const struct peak *find(const struct run_device *d)
{
	for (size_t i = 0; d && i < sizeof(peaks) / sizeof(*peaks); i++)
		if (peaks[i].multiprocessors == d->multiprocessors &&
		    !fnmatch(peaks[i].name, d->name, 0))
			return &peaks[i];
	return NULL;
}

double peak_tflops(const struct run_device *device, uint8_t type, bool by_tensor_cores)
{
	const struct peak *p = find(device);
	if (!p)
		return 0;
	switch (type) {
	case LIBRARY_F32:
	case LIBRARY_C32:
		return by_tensor_cores && p->tf32 > 0 ? p->tf32 : p->f32;
	case LIBRARY_F64:
	case LIBRARY_C64:
		return by_tensor_cores ? p->f64_tensor : p->f64;
	case LIBRARY_F16:
	case LIBRARY_BF16:
		return p->f16;
	case LIBRARY_F8_E4M3:
	case LIBRARY_F8_E5M2:
		return p->f8;
	default:
		return 0;
	}
}

bool peak_has_device(const struct run_device *device)
{
	return find(device);
}

double peak_pinned_gbps(const struct run_device *device)
{
	static const double reached = 0.8; /* an H100 with a 64 GB/s link reaches 51 to 55 GB/s */
	const struct peak *p = find(device);
	return p ? reached * (double)p->link : 0;
}

double peak_memory_gbps(const struct run_device *device)
{
	const struct peak *p = find(device);
	return p ? (double)p->memory : 0;
}
