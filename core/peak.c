/*
 * From NVIDIA's data sheets (dense figures: half of what they print "with sparsity"; of the GeForce and RTX ones those with f32
 * accumulation, as frameworks use it). A product is known by its compute capability and number of multiprocessors; where two share
 * these, by its name. A slice of a device (MIG) has fewer and is found in no row, which is right: its peak is another.
 */
#include "core/peak.h"

#include <string.h>

struct peak {
	uint32_t major, minor, multiprocessors;
	const char *name; /* a part of it; "": any */
	float f64, f64_tensor, f32, tf32, f16, f8;
};

static const struct peak peaks[] = {
	{ 7, 0, 80, "", 7.8f, 7.8f, 15.7f, 0, 125, 0 },			 /* V100 SXM2 */
	{ 7, 5, 40, "T4", 0.25f, 0.25f, 8.1f, 0, 65, 0 },		 /* T4 */
	{ 8, 0, 108, "", 9.7f, 19.5f, 19.5f, 156, 312, 0 },		 /* A100 */
	{ 8, 6, 72, "A10", 0.49f, 0.49f, 31.2f, 62.5f, 125, 0 },	 /* A10, A10G has 80 */
	{ 8, 6, 84, "A40", 0.58f, 0.58f, 37.4f, 74.8f, 149.7f, 0 },	 /* A40 */
	{ 8, 6, 84, "A6000", 0.6f, 0.6f, 38.7f, 77.4f, 154.8f, 0 },	 /* RTX A6000 */
	{ 8, 6, 82, "3090", 0.56f, 0.56f, 35.6f, 35.6f, 71, 0 },	 /* RTX 3090 */
	{ 8, 9, 58, "L4", 0.47f, 0.47f, 30.3f, 60, 121, 242 },		 /* L4 */
	{ 8, 9, 142, "L40S", 1.4f, 1.4f, 91.6f, 183, 362, 733 },	 /* L40S */
	{ 8, 9, 128, "4090", 1.3f, 1.3f, 82.6f, 82.6f, 165.2f, 330.3f }, /* RTX 4090 */
	{ 9, 0, 132, "NVL", 30, 60, 60, 417.5f, 835, 1670 },		 /* H100 NVL */
	{ 9, 0, 132, "", 33.5f, 66.9f, 66.9f, 494.7f, 989.4f, 1978.9f }, /* H100 SXM, H200, GH200 */
	{ 9, 0, 114, "", 25.6f, 51.2f, 51.2f, 378, 756, 1513 },		 /* H100 PCIe */
	{ 10, 0, 148, "", 37, 37, 75, 1100, 2250, 4500 },		 /* B200 */
};

static const struct peak *find(const struct dict_device *d)
{
	for (size_t i = 0; d && i < sizeof(peaks) / sizeof(*peaks); i++) {
		const struct peak *p = &peaks[i];
		if (p->major == d->compute_major && p->minor == d->compute_minor &&
		    p->multiprocessors == d->multiprocessors && strstr(d->name, p->name))
			return p;
	}
	return NULL;
}

double peak_tflops(const struct dict_device *device, uint8_t type, bool by_tensor_cores)
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
