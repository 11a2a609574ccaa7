/* What a client sends to `profrun open`. */
#include "core/util/vec.h"
#include "export/http.h"
#include "export/served_files.h"
#include "test/fuzz/fuzz.h"

#include <fcntl.h>
#include <unistd.h>

/* Whatever was sent, the path stays below its root, and no file outside a run's is opened. */
static void check(const struct http_request *r)
{
	uint64_t bytes;
	size_t n = strlen(r->path);
	if (r->path[0] != '/' || strstr(r->path, "//") || strstr(r->path, "/../") ||
	    strstr(r->path, "/./") || strchr(r->path, '\n') ||
	    (n > 2 && !strcmp(r->path + n - 3, "/..")) || !*r->host)
		abort();
	http_host_is_loopback(r->host);
	int folder = open("/proc/self", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (folder >= 0 && served_open(folder, r->path + 1, &bytes) >= 0)
		abort();
	close(folder);
}

/* The input may arrive in pieces: each head of it is parsed, too. */
void fuzz_http(const uint8_t *data, size_t size)
{
	struct http_request request;
	size_t step = size / 8 + 1;
	for (size_t n = 0; n <= size; n += step) {
		char *text = mem_resize(NULL, n);
		memcpy(text, data, n);
		if (http_parse(text, n, &request) == HTTP_OK)
			check(&request);
		free(text);
	}
	char *text = mem_resize(NULL, size);
	memcpy(text, data, size);
	if (http_parse(text, size, &request) == HTTP_OK)
		check(&request);
	free(text);
}
