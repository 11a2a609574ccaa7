/*
 * What the driver reports about its devices: the properties of an H100, with a different name. Runs
 * on the application's threads.
 */
#include "test/sim/engine_image.h"

#include <stdio.h>

#define DEVICE_NAME "Simulated GPU (profsim)"

CUresult engine_device_check(int ordinal)
{
	CUresult rc = engine_init_check();
	if (!rc && (ordinal < 0 || ordinal >= engine_device_count()))
		rc = CUDA_ERROR_INVALID_DEVICE;
	return rc;
}

CUresult sim_cuDriverGetVersion(int *version)
{
	if (!version)
		return CUDA_ERROR_INVALID_VALUE;
	*version = engine_driver_version();
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGet(CUdevice *device, int ordinal)
{
	CUresult rc = engine_device_check(ordinal);
	if (!rc)
		*device = ordinal;
	return rc;
}

CUresult sim_cuDeviceGetCount(int *count)
{
	CUresult rc = engine_init_check();
	if (!rc)
		*count = engine_device_count();
	return rc;
}

CUresult sim_cuDeviceGetName(char *name, int length, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc)
		snprintf(name, length, "%s", DEVICE_NAME);
	return rc;
}

CUresult sim_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc) {
		memcpy(uuid->bytes, "profsim-device-\0", 16);
		uuid->bytes[15] = (char)(device + 1);
	}
	return rc;
}

CUresult sim_cuDeviceGetUuid(CUuuid *uuid, CUdevice device)
{
	return sim_cuDeviceGetUuid_v2(uuid, device);
}

CUresult sim_cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice device)
{
	(void)luid, (void)mask;
	return engine_device_check(device) ?: CUDA_ERROR_NOT_SUPPORTED;
}

CUresult sim_cuDeviceTotalMem_v2(size_t *bytes, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc)
		*bytes = (size_t)(engine_settings.memory_mb * 1048576);
	return rc;
}

CUresult sim_cuDeviceComputeCapability(int *major, int *minor, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc) {
		*major = image_device() / 10;
		*minor = image_device() % 10;
	}
	return rc;
}

CUresult sim_cuDeviceGetPCIBusId(char *text, int length, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc)
		snprintf(text, length, "0000:%02x:00.0", device + 1);
	return rc;
}

CUresult sim_cuDeviceGetByPCIBusId(CUdevice *device, const char *text)
{
	unsigned bus;
	if (sscanf(text, "%*x:%x", &bus) != 1 || engine_device_check((int)bus - 1))
		return CUDA_ERROR_INVALID_DEVICE;
	*device = (int)bus - 1;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceGetProperties(CUdevprop *p, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (!rc)
		*p = (CUdevprop){ .maxThreadsPerBlock = 1024,
				  .maxThreadsDim = { 1024, 1024, 64 },
				  .maxGridSize = { 2147483647, 65535, 65535 },
				  .sharedMemPerBlock = 49152,
				  .totalConstantMemory = 65536,
				  .SIMDWidth = 32,
				  .memPitch = 2147483647,
				  .regsPerBlock = 65536,
				  .clockRate = 1980000,
				  .textureAlign = 512 };
	return rc;
}

/* The attributes of an H100; attributes that are not listed are 0. */
static const int attributes[CU_DEVICE_ATTRIBUTE_MAX] = {
#define ATTRIBUTE(name, value) [CU_DEVICE_ATTRIBUTE_##name] = value,
#include "test/sim/device_attributes.def"
#undef ATTRIBUTE
};

CUresult sim_cuDeviceGetAttribute(int *value, CUdevice_attribute attribute, CUdevice device)
{
	CUresult rc = engine_device_check(device);
	if (rc)
		return rc;
	if (!value || attribute < 1)
		return CUDA_ERROR_INVALID_VALUE;
	*value = attribute < CU_DEVICE_ATTRIBUTE_MAX ? attributes[attribute] : 0;
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)
		*value = image_device() / 10;
	if (attribute == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)
		*value = image_device() % 10;
	if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID)
		*value = device + 1;
	return CUDA_SUCCESS;
}

CUresult sim_cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer)
{
	CUresult rc = engine_device_check(device) ?: engine_device_check(peer);
	if (!rc)
		*can = device != peer;
	return rc;
}

CUresult sim_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice a,
				     CUdevice b)
{
	CUresult rc = engine_device_check(a) ?: engine_device_check(b);
	if (!rc && a == b)
		rc = CUDA_ERROR_INVALID_DEVICE;
	if (!rc)
		*value = attribute != CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK;
	return rc;
}

CUresult sim_cuDeviceGetExecAffinitySupport(int *value, CUexecAffinityType type, CUdevice device)
{
	(void)type;
	CUresult rc = engine_device_check(device);
	if (!rc)
		*value = 0;
	return rc;
}

CUresult sim_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format,
						unsigned channels, CUdevice device)
{
	(void)format, (void)channels;
	CUresult rc = engine_device_check(device);
	if (!rc)
		*width = 1 << 28;
	return rc;
}
