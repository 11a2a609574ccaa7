/* Texts of the profiled program are inert in HTML and in JSON inside HTML. */
#include "export/html_out.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#define REPLACED "\xef\xbf\xbd" /* U+FFFD */

static void assert_html(struct html_out *o, const char *expected)
{
	vec_push(&o->text, 0);
	assert_string_equal(o->text.at, expected);
	html_free(o);
}

static void assert_text(const char *text, const char *expected)
{
	struct html_out o = { { 0 } };
	html_text(&o, text);
	assert_html(&o, expected);
}

static void markup_is_escaped(void **state)
{
	(void)state;
	assert_text("", "");
	assert_text("<img src=x onerror='a()'>\"&amp;",
		    "&lt;img src=x onerror=&#39;a()&#39;&gt;&quot;&amp;amp;");
}

static void deceptive_characters_are_replaced(void **state)
{
	(void)state;
	assert_text("a\x1b[31mb\x7f", "a" REPLACED "[31mb" REPLACED);
	assert_text("a\xe2\x80\xae"
		    "b",
		    "a" REPLACED "b"); /* U+202E, right to left */
	assert_text("a\tb\nc", "a b c");
	assert_text("caf\xc3\xa9 \xe2\x82\xac", "caf\xc3\xa9 \xe2\x82\xac");
	assert_text("a\xff\xc3", "a" REPLACED REPLACED);
}

static void formatted_texts_are_escaped(void **state)
{
	(void)state;
	struct html_out o = { { 0 } };
	html_raw(&o, "<p>");
	html_textf(&o, "%s<%d", "a&", 3);
	html_rawf(&o, "</%c>", 'p');
	assert_html(&o, "<p>a&amp;&lt;3</p>");
}

static void json_does_not_end_its_element(void **state)
{
	(void)state;
	struct html_out o = { { 0 } };
	json_t *value = json_pack("{s:s}", "a", "</script><!--&\xe2\x80\xa8\x01");
	html_json(&o, value);
	json_decref(value);
	assert_html(&o, "{\"a\":\"\\u003c/script\\u003e\\u003c!--\\u0026\\u2028\\u0001\"}");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(markup_is_escaped),
		cmocka_unit_test(deceptive_characters_are_replaced),
		cmocka_unit_test(formatted_texts_are_escaped),
		cmocka_unit_test(json_does_not_end_its_element),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
