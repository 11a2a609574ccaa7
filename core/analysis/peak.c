/*
 * The peak rates of GPUs in TFLOP/s, as NVIDIA publishes them: at boost clocks, for dense matrices
 * (half of the figures "with sparsity"). For GeForce and RTX cards they are the rates with f32
 * accumulation, which frameworks use. The comment above a row names the source. 0: not published
 * there, or not supported.
 *
 * A GPU must match the name of a row, because related products of the same shape differ (an H800
 * has a thirtieth of an H100's f64 rate). It must also have the row's number of multiprocessors. A
 * MIG slice has fewer, so it matches no row. This is correct, because its peak is different.
 */
#include "core/analysis/peak.h"

#include <fnmatch.h>
#include <stddef.h>

struct peak {
	const char *name; /* pattern for the driver's device name */
	uint32_t multiprocessors;
	float f64, f64_tensor, f32, tf32, f16, f8;
	float link; /* GB/s to or from the host over 16 PCI Express lanes; 0: not known */
};

static const struct peak peaks[] = {
	/* NVIDIA V100 datasheet, WP-1165301 r5 */
	{ "*V100-SXM2-*", 80, 7.8f, 0, 15.7f, 0, 125, 0, 16 },
	/* NVIDIA T4 Tensor Core GPU datasheet, 951643 */
	{ "*T4", 40, 0, 0, 8.1f, 0, 65, 0, 16 },
	/* NVIDIA A100 datasheet, 1758950 r4: one column for SXM and PCIe */
	{ "*A100*", 108, 9.7f, 19.5f, 19.5f, 156, 312, 0, 32 },
	/* NVIDIA A10 datasheet */
	{ "*A10", 72, 0, 0, 31.2f, 62.5f, 125, 0, 32 },
	/* NVIDIA A40 datasheet */
	{ "*A40", 84, 0, 0, 37.4f, 74.8f, 149.7f, 0, 32 },
	/* NVIDIA Ampere GA102 whitepaper 2.0, appendix C */
	{ "*RTX A6000", 84, 0, 0, 38.7f, 77.4f, 154.8f, 0, 32 },
	/* NVIDIA Ampere GA102 whitepaper 2.0, appendix A */
	{ "*RTX 3090", 82, 0, 0, 35.6f, 35.6f, 71, 0, 32 },
	/* NVIDIA L4 datasheet */
	{ "*L4", 58, 0, 0, 30.3f, 60, 121, 242, 32 },
	/* NVIDIA L40S datasheet */
	{ "*L40S", 142, 0, 0, 91.6f, 183, 362, 733, 32 },
	/* NVIDIA Ada GPU architecture whitepaper 2.01 */
	{ "*RTX 4090", 128, 0, 0, 82.6f, 82.6f, 165.2f, 330.3f, 32 },
	/* NVIDIA H100 Tensor Core GPU datasheet, SXM and PCIe modules. H200 and GH200 have the chip
	 * of the SXM module with other memory. */
	{ "*H100 80GB HBM3", 132, 33.5f, 66.9f, 66.9f, 494.7f, 989.4f, 1978.9f, 64 },
	{ "*H200", 132, 33.5f, 66.9f, 66.9f, 494.7f, 989.4f, 1978.9f, 64 },
	{ "*GH200 *", 132, 33.5f, 66.9f, 66.9f, 494.7f, 989.4f, 1978.9f, 0 },
	{ "*H100 PCIe", 114, 25.6f, 51.2f, 51.2f, 378, 756, 1513, 64 },
	/* NVIDIA H100 NVL datasheet */
	{ "*H100 NVL", 132, 30, 60, 60, 417.5f, 835, 1671, 64 },
	/* NVIDIA DGX/HGX B200 and GB200 NVL72 datasheet: the B200 of an HGX. A GB200 has other
	 * clocks, so it has no row. */
	{ "*NVIDIA B200", 148, 37, 37, 75, 1100, 2250, 4500, 64 },
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
