// libc10.so as far as memory reports go: PyTorch's since 2.1 or, with -DSIZE=long, an older one. It
// counts what reaches it, as the reporter that PyTorch's own profiler asks for would.
#include <cstdint>
#include <cstdio>

namespace c10 {

struct Device {
	int8_t type, index;
};

static struct {
	long calls, bytes, allocated, reserved, devices, failed;
} seen;

__attribute__((visibility("default"))) void
reportMemoryUsageToProfiler(void *, int64_t bytes, SIZE allocated, SIZE reserved, Device device)
{
	seen.calls++;
	seen.bytes += bytes;
	seen.allocated = (long)allocated;
	seen.reserved = (long)reserved;
	seen.devices += device.type * 100 + device.index;
}

__attribute__((visibility("default"))) void reportOutOfMemoryToProfiler(int64_t bytes, SIZE, SIZE,
									 Device)
{
	seen.failed += bytes;
}

}

extern "C" __attribute__((visibility("default"))) void c10_say()
{
	std::printf("%ld calls, %ld bytes left, %ld allocated, %ld reserved, devices %ld, "
		    "%ld failed\n",
		    c10::seen.calls, c10::seen.bytes, c10::seen.allocated, c10::seen.reserved,
		    c10::seen.devices, c10::seen.failed);
}
