/*
 * Names with every kind of byte, chosen at random: odd_names SEED. NVTX ranges, marks and domains,
 * threads and the process get them around a few steps of CUDA work.
 */
#include <nvtx3/nvToolsExt.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <wchar.h>

#include "test/prog/work.h"

static uint64_t state;

static unsigned next(unsigned below)
{
	state = state * 6364136223846793005 + 1442695040888963407;
	return (unsigned)(state >> 33) % below;
}

static const char *name(void)
{
	static const char *const pieces[] = {
		"plain",
		"\x1b[31m",
		"\xff\xfe",
		"\xed\xa0\x80",
		"\xf4\x90\x80\x80",
		"\xc0\x80",
		"\xe2\x80\xae",
		"\n",
		"\r",
		"\t",
		"%s%n",
		"\"",
		"\\",
		"{\"a\":1}",
		"\xf0\x9f",
		",",
		"\x7f",
		"\xc2\x9b",
		"</script>",
		"../../etc",
		"=",
		"\x01",
		"\xef\xbb\xbf",
		" ",
	};
	static char text[8192];
	text[0] = 0;
	size_t n = next(12), size = 0;
	while (n--) {
		const char *piece = pieces[next(sizeof(pieces) / sizeof(pieces[0]))];
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s", piece);
	}
	if (!next(20)) {
		memset(text, (int)next(255) + 1, sizeof(text) - 1);
		text[sizeof(text) - 1] = 0;
	}
	return text;
}

static const wchar_t *wide_name(void)
{
	static wchar_t text[64];
	unsigned n = next(63);
	for (unsigned i = 0; i < n; i++)
		text[i] = next(2) ? (wchar_t)(1 + next(0x7fffffff)) : (wchar_t)(1 + next(0x120000));
	text[n] = 0;
	return text;
}

static void *one_thread(void *kernel)
{
	prctl(PR_SET_NAME, name());
	nvtxRangePushA(name());
	for (int i = 0; i < 5; i++)
		work_launch(kernel, 1 + (unsigned)i, NULL);
	MUST(cudaDeviceSynchronize());
	nvtxRangePop();
	return NULL;
}

static void one_step(const void *kernel, const void *end, nvtxDomainHandle_t domain)
{
	const nvtxEventAttributes_t attributes = {
		.version = NVTX_VERSION,
		.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE,
		.messageType = NVTX_MESSAGE_TYPE_ASCII,
		.message.ascii = name(),
	};
	nvtxDomainRangePushEx(domain, &attributes);
	nvtxRangePushW(wide_name());
	work_launch(kernel, 8, NULL);
	nvtxMarkA(name());
	work_launch(kernel, 16, NULL);
	work_launch(end, 8, NULL);
	nvtxRangePop();
	nvtxDomainRangePop(domain);
	MUST(cudaDeviceSynchronize());
}

int main(int argc, char **argv)
{
	const void *kernel = work_kernel("spin_5us"), *end = work_kernel("last_15us");
	state = argc > 1 ? strtoull(argv[1], NULL, 10) : 1;
	nvtxDomainHandle_t domain = nvtxDomainCreateA(name());
	nvtxNameOsThreadA((uint32_t)getpid(), name());
	prctl(PR_SET_NAME, name());
	for (int i = 0; i < 8; i++) {
		pthread_t thread;
		pthread_create(&thread, NULL, one_thread, (void *)kernel);
		pthread_join(thread, NULL);
	}
	for (int i = 0; i < 60; i++)
		one_step(kernel, end, domain);
	nvtxDomainDestroy(domain);
	printf("named\n");
	return 0;
}
