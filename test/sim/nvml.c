/*
 * libnvidia-ml.so.1, as far as PyTorch calls it: whether there is a fabric, and how many devices
 * there are. Contains no measurements.
 */
#include "test/sim/sim_common.h"

#include <stdio.h>
#include <string.h>

enum { NVML_SUCCESS = 0, NVML_INVALID = 2, NVML_NOT_SUPPORTED = 3 };

#define MOST_DEVICES 16
static char devices[MOST_DEVICES]; /* the handle of a device is the address of its element */

static unsigned device_count(void)
{
	static struct sim_settings settings;
	if (!settings.queue)
		sim_settings_read(&settings);
	return (unsigned)settings.devices;
}

SIM_EXPORT int nvmlInit_v2(void);
SIM_EXPORT int nvmlInit_v2(void)
{
	return NVML_SUCCESS;
}

SIM_EXPORT int nvmlInit(void);
SIM_EXPORT int nvmlInit(void)
{
	return NVML_SUCCESS;
}

SIM_EXPORT int nvmlShutdown(void);
SIM_EXPORT int nvmlShutdown(void)
{
	return NVML_SUCCESS;
}

SIM_EXPORT const char *nvmlErrorString(int status);
SIM_EXPORT const char *nvmlErrorString(int status)
{
	return status ? "Not Supported" : "Success";
}

SIM_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version);
SIM_EXPORT int nvmlSystemGetCudaDriverVersion_v2(int *version)
{
	*version = 13000;
	return NVML_SUCCESS;
}

SIM_EXPORT int nvmlDeviceGetCount_v2(unsigned *count);
SIM_EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
	*count = device_count();
	return NVML_SUCCESS;
}

SIM_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device);
SIM_EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
	if (index >= device_count() || index >= MOST_DEVICES)
		return NVML_INVALID;
	*device = &devices[index];
	return NVML_SUCCESS;
}

/* Finds a device by its bus id, in the numbering of the simulated driver: device 0 is on bus 1. */
SIM_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device);
SIM_EXPORT int nvmlDeviceGetHandleByPciBusId_v2(const char *id, void **device)
{
	unsigned bus;
	if (sscanf(id, "%*x:%x", &bus) != 1 || !bus)
		return NVML_INVALID;
	return nvmlDeviceGetHandleByIndex_v2(bus - 1, device);
}

SIM_EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned bytes);
SIM_EXPORT int nvmlDeviceGetName(void *device, char *name, unsigned bytes)
{
	(void)device;
	snprintf(name, bytes, "Simulated GPU (profsim)");
	return NVML_SUCCESS;
}

/* The answer of a device without a fabric: state 0 and zeros. */
struct fabric {
	unsigned version;
	char cluster[16];
	int status;
	unsigned clique;
	unsigned char state;
};

SIM_EXPORT int nvmlDeviceGetGpuFabricInfoV(void *device, struct fabric *info);
SIM_EXPORT int nvmlDeviceGetGpuFabricInfoV(void *device, struct fabric *info)
{
	(void)device;
	memset(info->cluster, 0, sizeof(info->cluster));
	info->status = NVML_SUCCESS;
	info->clique = 0;
	info->state = 0;
	return NVML_SUCCESS;
}

#define UNSUPPORTED(name)                  \
	SIM_EXPORT int name(void);         \
	SIM_EXPORT int name(void)          \
	{                                  \
		return NVML_NOT_SUPPORTED; \
	}

UNSUPPORTED(nvmlDeviceGetNvLinkRemoteDeviceType)
UNSUPPORTED(nvmlDeviceGetNvLinkRemotePciInfo_v2)
UNSUPPORTED(nvmlDeviceGetComputeRunningProcesses)
UNSUPPORTED(nvmlDeviceGetUUID)
UNSUPPORTED(nvmlDeviceGetUtilizationRates)
UNSUPPORTED(nvmlDeviceGetMemoryInfo)
UNSUPPORTED(nvmlDeviceGetPciInfo_v3)
