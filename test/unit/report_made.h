/* A report in JSON, and its text. Included by the files that are test programs. */
#ifndef TEST_UNIT_REPORT_MADE_H
#define TEST_UNIT_REPORT_MADE_H

#include "export/report_json.h"
#include "export/report_text.h"
#include "export/report_words.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

static inline struct textout open_text(char **text, size_t *bytes)
{
	struct textout o = { .to = open_memstream(text, bytes) };
	assert_non_null(o.to);
	return o;
}

static const char report[] =
	"{'schema': 2, 'run': {'command': ['/usr/bin/python', '/home/me/job/train.py'], 'cwd': "
	"'/home/me/job'},"
	" 'processes': [{'pid': 7, 'rank': null, 'devices': [{'id': 0, 'name': 'NVIDIA H100'}],"
	"  'steps': {'count': 80, 'detector': 'auto', 'confidence': 0.77, 'recorded': [12, 13, "
	"14]},"
	"  'baseline': {'step_ms': {'n': 76, 'mean': 5.2, 'std': 0.1, 'cv': 0.019, 'min': 5.0,"
	"    'p50': 5.2, 'p95': 5.4, 'p99': 5.6, 'max': 5.9}, 'warm_up_ms': {'n': 3, 'mean': 20,"
	"    'std': 10, 'cv': 0.5, 'min': 9, 'p50': 20, 'p95': 40, 'p99': 48, 'max': 48.12},"
	"    'recorded_ms': null},"
	"  'bound': {'verdict': 'sync', 'confidence': 0.86, 'evidence': ['38 % idle']},"
	"  'gpu': [{'device': 0, 'busy_pct': 62, 'busy_ms_per_step': 3.2, 'idle_ms_per_step': 2.0,"
	"    'kernels_per_step': 41, 'tensor_core_pct': null}],"
	"  'idle': [{'cause': 'sync', 'device': 0, 'ms_per_step': 1.4, 'pct': 27,"
	"     'where': '/home/me/job/train.py:42', 'file': '/home/me/job/train.py', 'line': 42},"
	"    {'cause': 'launch', 'device': 0, 'ms_per_step': 0.3, 'pct': 5, 'where': null},"
	"    {'cause': 'sync', 'device': 0, 'ms_per_step': 0.3, 'pct': 5, 'where': null}],"
	"  'syncs': [{'file': '/home/me/job/train.py', 'line': 42, 'function': 'step',"
	"    'source': 'total += loss.item()', 'api': 'cudaStreamSynchronize', 'kind': 'item',"
	"    'per_step': 1, 'blocked_ms_per_step': 2.1, 'gpu_idle_ms_per_step': 1.4,"
	"    'recoverable_ms_per_step': 1.2, 'line_ms_per_step': 1.3, 'stack': ["
	"     {'function': 'at::native::item', 'module': 'libtorch.so', 'is_library': true},"
	"     {'function': 'step', 'file': '/home/me/job/train.py', 'line': 42},"
	"     {'function': 'main', 'file': '/home/me/job/train.py', 'line': 80}]}],"
	"  'operators': [], 'kernels': [], 'copies': [], 'once': [],"
	"  'phases': [{'name': 'backward', 'host_ms_per_step': 2.5, 'gpu_ms_per_step': 1.5,"
	"     'parts': [{'name': 'recompute', 'host_ms_per_step': 0.5, 'gpu_ms_per_step': 0.25}]},"
	"    {'name': 'forward', 'host_ms_per_step': 1.25, 'gpu_ms_per_step': 1, 'parts': []}],"
	"  'lines': [{'file': '/home/me/job/model.py', 'line': 9, 'function': 'forward',"
	"    'source': 'x = self.a(x)', 'gpu_ms_per_step': 2, 'host_ms_per_step': 0.5,"
	"    'launches_per_step': 20}],"
	"  'modules': [{'name': 'Net', 'per_step': 1, 'gpu_ms_per_step': 2,"
	"     'backward_gpu_ms_per_step': 4.25, 'host_ms_per_step': 0.75},"
	"    {'name': 'Net.Block.Linear', 'per_step': 12, 'gpu_ms_per_step': 1.5,"
	"     'backward_gpu_ms_per_step': 3, 'host_ms_per_step': 0.5}],"
	"  'backward': {'gpu_ms_per_step': 4.5, 'tied_gpu_ms_per_step': 4.25},"
	"  'memory': {'device_peak_bytes': 1048576, 'at_peak': [], 'leaks': [], 'retries': 0},"
	"  'replay': {'measured_ms': 5.2, 'replayed_ms': 5.25, 'error_pct': 1, 'recorded_ms': 5.2, "
	"'step_ms': 5.2,"
	"    'mean_ms': 5.2},"
	"  'advice': [{'what': 'keep the value on the GPU', 'where': '/home/me/job/train.py:42',"
	"    'file': '/home/me/job/train.py', 'line': 42, 'source': 'total += loss.item()',"
	"    'expected_ms_per_step': 1.2, 'together_ms_per_step': 1.2, 'why': 'the GPU runs dry "
	"behind it'}],"
	"  'self': {'overhead_pct': 1.2, 'overhead_ci': [-0.5, 2.9], 'left_pct': 30.2,"
	"    'left_ci': [25.1, 35.3], 'dropped': 0,"
	"    'losses': {'late': 0}, 'cupti': {'state': 'used', 'own_ms_per_step': 0.01}},"
	"  'unavailable': [{'what': 'phases', 'why': 'not yet'}]}]}";

/* JSON above has single quotes, so that C can hold it. */
__attribute__((unused)) static json_t *load(void)
{
	char text[sizeof(report)];
	json_error_t error;
	for (size_t i = 0; i < sizeof(report); i++)
		text[i] = report[i] == '\'' ? '"' : report[i];
	json_t *root = json_loads(text, 0, &error);
	if (!root)
		fail_msg("%s at %d", error.text, error.position);
	return root;
}

__attribute__((unused)) static char *print(const json_t *root, bool is_screen, bool has_colour,
					   unsigned *n_lines)
{
	char *text;
	size_t bytes;
	struct textout o = open_text(&text, &bytes);
	struct report r;
	assert_true(report_from_json(&r, root));
	o.has_colour = has_colour;
	if (is_screen)
		report_text_screen(&o, &r, REPORT_SCREEN_LINES);
	else
		report_text_all(&o, &r, REPORT_TOP, NULL);
	report_free(&r);
	fclose(o.to);
	if (n_lines)
		*n_lines = o.n_lines;
	return text;
}

__attribute__((unused)) static void assert_fits(const char *text)
{
	for (const char *line = text, *end; (end = strchr(line, '\n')); line = end + 1)
		if (end - line > TEXT_COLUMNS)
			fail_msg("%ld columns: %.*s", (long)(end - line), (int)(end - line), line);
}

__attribute__((unused)) static void assert_says(const char *text, const char *what)
{
	if (!strstr(text, what))
		fail_msg("'%s' is not in:\n%s", what, text);
}

#endif
