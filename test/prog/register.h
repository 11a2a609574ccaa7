/* A kernel registered by hand, as nvcc's own start-up code does it, with no image: for the
 * simulated GPU alone. */
#ifndef TEST_PROG_REGISTER_H
#define TEST_PROG_REGISTER_H

#include <stddef.h>
#include <stdint.h>

void **__cudaRegisterFatBinary(void *image);
void __cudaRegisterFatBinaryEnd(void **handle);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name,
			    int threads, void *tid, void *bid, void *block, void *grid, int *warp);

static void spin_5us(void)
{
}

/* Registers spin_5us. Pass the result to __cudaRegisterFatBinaryEnd(). */
static inline void **register_spin(void)
{
	static const struct {
		int magic, version;
		const void *data;
		void *unused;
	} image = { 0x466243b1, 1, "no image", NULL };
	void **handle = __cudaRegisterFatBinary((void *)(uintptr_t)&image);
	__cudaRegisterFunction(handle, (const char *)(uintptr_t)spin_5us, "spin_5us", "spin_5us",
			       -1, NULL, NULL, NULL, NULL, NULL);
	return handle;
}

#endif
