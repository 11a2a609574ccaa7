/* Which requests are answered: export/http.h. */
#include "export/http.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

static enum http_status parse(const char *text, struct http_request *r)
{
	return http_parse(text, strlen(text), r);
}

static enum http_status parse_path(const char *path, struct http_request *r)
{
	char text[HTTP_HEAD_MOST];
	snprintf(text, sizeof(text), "GET %s HTTP/1.1\r\nHost: localhost\r\n\r\n", path);
	return parse(text, r);
}

static void what_a_browser_sends(void **state)
{
	(void)state;
	static const char text[] = "GET /a/b%20c%C3%A4?d=../e HTTP/1.1\r\nAccept: */*\r\n"
				   "HOST:  127.0.0.1:80 \r\nCookie: x\r\n\r\nmore";
	struct http_request r;
	assert_int_equal(parse(text, &r), HTTP_OK);
	assert_string_equal(r.path, "/a/b cä");
	assert_string_equal(r.host, "127.0.0.1:80");
	assert_false(r.is_head);
	assert_int_equal(parse("HEAD / HTTP/1.0\nhost:a\n\n", &r), HTTP_OK);
	assert_true(r.is_head);
}

static void a_request_comes_in_pieces(void **state)
{
	(void)state;
	static const char text[] = "GET /x HTTP/1.1\r\nHost: a\r\n\r\n";
	struct http_request r;
	for (size_t n = 0; n < sizeof(text) - 1; n++)
		assert_int_equal(http_parse(text, n, &r), HTTP_INCOMPLETE);
	assert_int_equal(http_parse(text, sizeof(text) - 1, &r), HTTP_OK);
}

static void paths_stay_below_the_root(void **state)
{
	(void)state;
	static const char *const bad[] = { "a",	      "http://a/", "/..",      "/../a",
					   "/a/..",   "/a/../b",   "/a/./b",   "/.",
					   "//a",     "/a//b",	   "/%2e%2e/", "/a/%2E%2E%2fb",
					   "/a%5c..", "/a\\b",	   "/a%00b",   "/%0d%0a",
					   "/%",      "/%4",	   "/%4g",     "/%zz",
					   "/a\x7f",  "/a\x01",	   "",	       "*" };
	static const char *const good[] = { "/", "/a/", "/...", "/..a", "/a..", "/.a/b.", "/%41" };
	struct http_request r;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_int_equal(parse_path(bad[i], &r), HTTP_BAD);
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_int_equal(parse_path(good[i], &r), HTTP_OK);
}

static void what_is_refused(void **state)
{
	(void)state;
	char text[HTTP_HEAD_MOST + 100];
	struct http_request r;
	static const struct {
		const char *text;
		enum http_status status;
	} cases[] = {
		{ "\r\n", HTTP_BAD },
		{ "GET /\r\n", HTTP_BAD },
		{ "GET / HTTP/0.9\r\n", HTTP_BAD_VERSION },
		{ "GET / HTTP/1.1 x\r\n", HTTP_BAD_VERSION },
		{ "POST / HTTP/1.1\r\n", HTTP_BAD_METHOD },
		{ "get / HTTP/1.1\r\n", HTTP_BAD_METHOD },
		{ "GET / HTTP/1.1\r\n\r\n", HTTP_BAD },
		{ "GET / HTTP/1.1\r\nHost:\r\n\r\n", HTTP_BAD },
		{ "GET / HTTP/1.1\r\nHost: a\r\nhost: b\r\n\r\n", HTTP_BAD },
		{ "GET / HTTP/1.1\r\nHost: a\r\n b\r\n\r\n", HTTP_BAD },
		{ "GET / HTTP/1.1\r\nno colon\r\n\r\n", HTTP_BAD },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		assert_int_equal(parse(cases[i].text, &r), cases[i].status);
	snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nX: %*s", HTTP_HEAD_MOST, "");
	assert_int_equal(parse(text, &r), HTTP_TOO_LONG);
	snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\n", HTTP_PATH_BYTES, 0);
	assert_int_equal(parse(text, &r), HTTP_BAD);
}

static void only_loopback_names(void **state)
{
	(void)state;
	static const char *const good[] = { "127.0.0.1", "127.0.0.1:1", "localhost", "LOCALHOST:80",
					    "[::1]:65535" };
	static const char *const bad[] = {
		"",	      "127.0.0.1:",	"127.0.0.1:a", "127.0.0.1.b",
		"127.0.0.10", "localhost.b:80", "b.localhost", "127.0.0.1:80:1",
		"[::1",	      "localhost:80@b"
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++)
		assert_true(http_host_is_loopback(good[i]));
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_false(http_host_is_loopback(bad[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_a_browser_sends),
		cmocka_unit_test(a_request_comes_in_pieces),
		cmocka_unit_test(paths_stay_below_the_root),
		cmocka_unit_test(what_is_refused),
		cmocka_unit_test(only_loopback_names),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
