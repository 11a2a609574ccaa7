/*
 * Handles start, exit and fork of the process. The constructor does almost nothing, because every
 * child process of the application is preloaded too, and most children never use CUDA. The first
 * CUDA call sets the library up, which may take a millisecond.
 */
#include "preload/life.h"

#include "core/runtime/at_start.h"
#include "core/runtime/config.h"
#include "core/runtime/log.h"
#include "core/runtime/schedule.h"
#include "core/runtime/trigger.h"
#include "core/runtime/version.h"
#include "preload/blocks.h"
#include "preload/capture.h"
#include "preload/devices.h"
#include "preload/gpu.h"
#include "preload/gpu_teardown.h"
#include "preload/graphs.h"
#include "preload/hook.h"
#include "preload/host.h"
#include "preload/lanes.h"
#include "preload/last_words.h"
#include "preload/launch.h"
#include "preload/libs.h"
#include "preload/lookup.h"
#include "preload/plt.h"
#include "preload/products.h"
#include "preload/ranges.h"
#include "preload/rank.h"
#include "preload/stack.h"
#include "preload/start_env.h"
#include "preload/steps.h"
#include "preload/used.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	FINISH_AT_MOST_MS = 2000, /* longest wait for CUPTI's last records at exit */
	ABORT_AT_MOST_MS = 500,	  /* longest wait for them in abort() */
	ARM_AT_MOST_MS = 1000,	  /* longest wait for a thread that sets the library up */
	ARM_PAUSE_US = 50,
};

static struct {
	atomic_flag arming;
	struct config config;
	/*
	 * the process that was set up; a child that was not set up must not end the parent's
	 * journal
	 */
	pid_t pid;
	atomic_bool finished;
} g = { .arming = ATOMIC_FLAG_INIT };

static atomic_bool was_begun START_DATA; /* life_arm() has been called */

/* The working directory at the start of the process. `long_folder` is used if it is long. */
static char start_folder[256] START_DATA;
static char long_folder[PATH_MAX];

/* ---- Facts of the process in the journal ---- */

static void describe_hooks(void)
{
	for (unsigned i = 0; i < HOOK_COUNT; i++) {
		struct dict_hook record = {
			.head.kind = DICT_HOOK,
			.id = (uint16_t)i,
			.category = hook_rows[i].category,
			.entry_point = hook_rows[i].entry_point,
			.space = hook_rows[i].space,
		};
		journal_put(&record.head, offsetof(struct dict_hook, name), hook_rows[i].symbol);
	}
}

/* Writes the arguments separated by blanks, as ps shows them; at most 4 KiB. */
static void describe_command(void)
{
	char text[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t n = read(fd, text, sizeof(text) - 1);
	close(fd);
	while (n > 0 && !text[n - 1])
		n--;
	if (n <= 0)
		return;
	for (ssize_t i = 0; i < n; i++)
		if (!text[i])
			text[i] = ' ';
	text[n] = 0;
	journal_put_info("command", text);
}

static void describe_process(void)
{
	char text[PATH_MAX];
	describe_hooks();
	libs_describe();
	describe_command();
	rank_describe();
	if (!gethostname(text, sizeof(text)))
		journal_put_info("host", text);
	if (getcwd(text, sizeof(text)))
		journal_put_info("cwd", text);
	for (size_t i = 0; i < config_n_rows; i++) {
		const char *value = start_env_get(config_rows[i].name);
		if (value)
			journal_put_info(config_rows[i].name, value);
	}
	journal_put_info("version", PROFRUN_VERSION);
}

/* ---- Setup ---- */

static void complain(void *unused, const char *line)
{
	(void)unused;
	log_line(LOG_WARN, "%s", line);
}

/*
 * Chooses the run's folder if PROF_OUT is not set, as is the case without the launcher. The name is
 * the one that the launcher would choose.
 */
static void default_folder(char *folder, size_t bytes)
{
	char date[32];
	time_t now = time(NULL);
	struct tm broken;
	localtime_r(&now, &broken);
	strftime(date, sizeof(date), "%Y%m%d-%H%M%S", &broken);
	snprintf(folder, bytes, "profrun-%s-%s-%d", program_invocation_short_name, date,
		 (int)getpid());
}

/*
 * Makes `folder` an absolute path. A relative path refers to the working directory at the start of
 * the process, because the application may have changed the directory since. Returns false if that
 * directory is unknown or the path is too long.
 */
static bool absolute(char *folder, size_t bytes)
{
	char joined[PATH_MAX * 2];
	if (folder[0] == '/')
		return true;
	const char *start = start_folder[0] ? start_folder : long_folder;
	if (!start[0])
		return false;
	snprintf(joined, sizeof(joined), "%s/%s", start, folder);
	return snprintf(folder, bytes, "%s", joined) < (int)bytes;
}

/*
 * Opens the journal. Returns false if it cannot be opened or if PROF_RANKS excludes this rank. Logs
 * the reason.
 */
static bool open_journal(void)
{
	char folder[PATH_MAX];
	struct err e;
	snprintf(folder, sizeof(folder), "%s", g.config.out.text);
	bool is_named = folder[0];
	if (!is_named)
		default_folder(folder, sizeof(folder));
	if (!absolute(folder, sizeof(folder))) {
		log_line(LOG_ERROR,
			 "nothing is recorded: the absolute path of the run's folder cannot be "
			 "determined or is too long; set PROF_OUT to an absolute path (folder: "
			 "%.200s)",
			 folder);
		return false;
	}
	if (rank_is_left_out(g.config.ranks.text, is_named ? folder : ""))
		return false;
	hook_switch.clock_kind = clock_tsc_usable() ? CLOCK_KIND_TSC : CLOCK_KIND_MONOTONIC_NS;
	uint64_t budget = (uint64_t)config_number(&g.config.buffer_mb) << 20;
	if (!journal_open(folder, budget, hook_switch.clock_kind, &e))
		return true;
	log_line(LOG_ERROR, "%s; nothing is recorded, the program continues", e.text);
	return false;
}

static enum gpu_pairing pairing(const char *setting)
{
	if (!strcmp(setting, "interval"))
		return GPU_BY_INTERVAL;
	return !strcmp(setting, "external") ? GPU_BY_ID : GPU_BY_ORDER;
}

static void arm(void)
{
	struct config_step step;
	struct schedule schedule;
	struct trigger_config trigger;
	struct opening_limits opening;
	/* the launcher has reported errors in the settings already */
	bool launched = start_env_get("PROF_LAUNCHED") != NULL;
	config_read(&g.config, start_env_entries(), launched ? NULL : complain, NULL);
	log_set_level(g.config.log.text);
	config_parse_step(g.config.step.text, &step, NULL);
	/* a program that marks its own steps wants all of them: a schedule would skip some */
	bool all = step.mode == STEP_MODE_API && !g.config.schedule.set;
	schedule_parse(all ? "always" : g.config.schedule.text, &schedule, NULL);
	trigger_parse(g.config.trigger.text, &trigger, NULL);
	opening_parse(g.config.opening.text, &opening, NULL);
	/* without a collector, no program reads the steps that are counted for a trigger */
	if (schedule.off && !launched && !g.config.trigger.set)
		trigger = (struct trigger_config){ 0 };
	if (!open_journal()) {
		atomic_store(&hook_switch.record, 0);
		atomic_store(&hook_switch.watch, 0);
		plt_follow();
		return;
	}
	describe_process();
	gpu_configure(g.config.cupti.text, pairing(g.config.pairing.text));
	lanes_configure(pairing(g.config.pairing.text) != GPU_BY_INTERVAL);
	launch_reset();
	libs_configure(!strcmp(g.config.nccl.text, "on"), !strcmp(g.config.blas.text, "on"));
	stack_configure(&g.config);
	blocks_configure(&g.config, !schedule.off || trigger_is_any(&trigger));
	host_configure(&g.config);
	g.pid = getpid();
	last_words_keep(g.pid);
	life_register_exit();
	if (at_quick_exit(life_finish))
		log_line(LOG_INFO, "at_quick_exit() failed: the last GPU records are lost if the "
				   "program ends with quick_exit()");
	steps_start(&step, &schedule, &trigger, &opening);
}

/*
 * Waits until another thread has set the library up, so that no call of the first threads is
 * missed. The wait has a limit, because the other thread may need a lock that this thread holds.
 */
static void wait_until_armed(void)
{
	const struct timespec pause = { .tv_nsec = ARM_PAUSE_US * 1000 };
	for (int us = 0; us < ARM_AT_MOST_MS * 1000; us += ARM_PAUSE_US) {
		if (atomic_load_explicit(&hook_switch.setup, memory_order_acquire))
			return;
		nanosleep(&pause, NULL);
	}
}

bool life_arm(void)
{
	int saved = errno, cancel;
	if (!atomic_flag_test_and_set(&g.arming)) {
		atomic_store(&was_begun, true);
		pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
		arm();
		atomic_store_explicit(&hook_switch.setup, HOOK_AWAITS_DRIVER, memory_order_release);
		pthread_setcancelstate(cancel, NULL);
	} else {
		wait_until_armed();
	}
	errno = saved;
	return atomic_load_explicit(&hook_switch.setup, memory_order_acquire);
}

/* ---- Exit ---- */

static void finish_at_exit(void)
{
	life_finish();
}

void life_register_exit(void)
{
	if (atexit(finish_at_exit))
		log_once(LOG_INFO,
			 "atexit() failed: the last GPU records are lost when the program ends");
}

void life_meet_driver(void)
{
	int saved = errno, cancel;
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	if (!journal_header() || devices_describe()) {
		atomic_store(&hook_switch.setup, HOOK_SET_UP);
		life_register_exit();
	}
	pthread_setcancelstate(cancel, NULL);
	errno = saved;
}

void life_finish(void)
{
	if (!journal_header() || g.pid != getpid() || atomic_exchange(&g.finished, true))
		return;
	int saved = errno;
	uint32_t depth = hook_thread.depth;
	hook_thread.depth = 1;
	devices_describe();
	steps_finish();
	gpu_finish(FINISH_AT_MOST_MS);
	libs_record(false);
	atomic_store(&hook_switch.ranges, false);
	blocks_finish();
	host_finish();
	stack_finish();
	atomic_store(&hook_switch.record, 0);
	steps_unwatch();
	journal_release(&hook_thread.writer);
	journal_end();
	hook_thread.depth = depth;
	errno = saved;
}

void context_beginning(void)
{
	hook_thread.stopped_gpu = steps_before_context();
	gpu_teardown_context();
}

void context_begun(void)
{
	gpu_teardown_context_over();
	if (hook_thread.stopped_gpu)
		steps_after_context();
	hook_thread.stopped_gpu = false;
}

void context_ending(void)
{
	gpu_teardown_context();
	devices_describe();
	gpu_flush_now();
}

/*
 * libc's own functions that end the process. They are looked up at the start, because at exit dlsym
 * might wait for the loader's lock, which another thread can hold for any time.
 */
static struct {
	const char *symbol;
	void (*real)(int);
} exits[] = { { "_exit", NULL }, { "_Exit", NULL } };

static void (*real_abort)(void) START_DATA;

AT_START static void find_exits(void)
{
	real_abort = (void (*)(void))lookup_dlsym(RTLD_NEXT, "abort");
	for (size_t i = 0; i < sizeof(exits) / sizeof(*exits); i++)
		exits[i].real = (void (*)(int))lookup_dlsym(RTLD_NEXT, exits[i].symbol);
}

/*
 * Ends the process through exits[i]. Python's os._exit() and multiprocessing workers end in this
 * way, without atexit handlers.
 */
AT_START static void leave(size_t i, int status)
{
	if (atomic_load(&was_begun))
		life_finish();
	if (!exits[i].real) /* our constructor has not run yet */
		find_exits();
	if (exits[i].real)
		exits[i].real(status);
	/*
	 * The function must not return, and without libc's function there is no other way to end.
	 */
	for (;;)
		kill(getpid(), SIGKILL);
}

EXPORT void _exit(int status);
EXPORT void _Exit(int status);

AT_START void _exit(int status)
{
	leave(0, status);
	__builtin_unreachable();
}

AT_START void _Exit(int status)
{
	leave(1, status);
	__builtin_unreachable();
}

EXPORT void abort(void);

/*
 * Delivers CUPTI's records before the process dies, because CUPTI holds back those of a busy GPU.
 * An uncaught C++ exception ends in abort(). The journal notes no end, because the process does not
 * exit in an orderly way.
 */
void abort(void)
{
	if (journal_header() && g.pid == getpid() && !atomic_load(&g.finished)) {
		hook_thread.depth = 1;
		gpu_finish(ABORT_AT_MOST_MS);
	}
	if (!real_abort) /* our constructor has not run yet */
		find_exits();
	if (real_abort)
		real_abort();
	for (;;)
		kill(getpid(), SIGKILL);
}

/* ---- Unloaded code ---- */

EXPORT int dlclose(void *handle);

/* Wraps dlclose, so that what was learned about an unloaded object's addresses is dropped. */
int dlclose(void *handle)
{
	static _Atomic(void *) real;
	int (*next)(void *) = (__typeof__(next))atomic_load_explicit(&real, memory_order_relaxed);
	if (!next) {
		next = (__typeof__(next))lookup_dlsym(RTLD_NEXT, "dlclose");
		atomic_store_explicit(&real, (void *)next, memory_order_relaxed);
	}
	if (!next)
		return -1;
	stack_objects_go();
	int result = next(handle);
	stack_objects_gone();
	return result;
}

/* ---- Fork ---- */

/* Resets what the parent has set up. */
static void forget_all(void)
{
	journal_forget();
	gpu_forget();
	steps_forget();
	devices_forget();
	stack_thread_free(hook_thread.stacks);
	stack_forget();
	graphs_forget();
	products_forget();
	hook_thread = (struct hook_thread){ .device = hook_thread.device };
	lanes_forget();
	blocks_forget();
	host_forget();
	atomic_flag_clear(&g.arming);
	atomic_store(&was_begun, false);
	g.finished = false;
	g.pid = 0;
	atomic_store(&hook_switch.setup, HOOK_NOT_SET_UP);
	atomic_store(&hook_switch.begins_by_name, false);
	atomic_store(&hook_switch.push, false);
	libs_record(false);
	atomic_store(&hook_switch.ranges, false);
	atomic_store(&hook_switch.record, 0);
	atomic_store(&hook_switch.watch, UINT32_MAX);
}

/*
 * Resets the library in a forked child. The child has its parent's memory, but neither the parent's
 * threads nor its CUDA state. The child's first CUDA call sets the library up again. A shell's
 * children have nothing to reset, and writing to their parent's memory would copy 60 pages.
 */
AT_START static void forget(void)
{
	bool is_set_up = atomic_load(&was_begun);
	if (is_set_up)
		forget_all();
	if (is_set_up || ranges_are_used())
		ranges_forget();
	plt_forget();
}

AT_START static void keep_folder(void)
{
	if (getcwd(start_folder, sizeof(start_folder)))
		return;
	start_folder[0] = 0;
	if (errno == ERANGE && !getcwd(long_folder, sizeof(long_folder)))
		long_folder[0] = 0;
}

__attribute__((constructor)) static void begin(void)
{
	int saved = errno;
	keep_folder();
	start_env_keep();
	log_keep_stderr();
	last_words_begin();
	pthread_atfork(plt_before_fork, plt_after_fork, forget);
	find_exits();
	used_note_if_mapped();
	errno = saved;
}
