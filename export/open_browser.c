/* See open_browser.h. */
#include "export/open_browser.h"

#include "core/util/vec.h"
#include "export/print.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdint.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORDS_MOST = 32, SSH_PORT = 22 };

static bool is_set(const char *name)
{
	const char *value = getenv(name);
	return value && *value;
}

bool browser_is_here(void)
{
	return !is_set("SSH_CONNECTION") &&
	       (is_set("BROWSER") || is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/* Executes the words of `command`, separated by blanks. "%s" is the address; without it, the
 * address is the last word. No shell sees the address. */
static void execute(char *command, const char *address)
{
	const char *words[WORDS_MOST + 2];
	size_t n = 0;
	bool has_address = false;
	for (char *word; n < WORDS_MOST && (word = strsep(&command, " "));) {
		if (!*word)
			continue;
		bool is_address = !strcmp(word, "%s");
		words[n++] = is_address ? address : word;
		has_address |= is_address;
	}
	if (!n)
		return;
	if (!has_address)
		words[n++] = address;
	words[n] = NULL;
	execvp(words[0], (char **)(uintptr_t)words);
}

/* $BROWSER is a list with colons. */
static void execute_browser(const char *address)
{
	const char *list = getenv("BROWSER");
	char *all = mem_text(list && *list ? list : "xdg-open"), *next = all;
	for (char *one; (one = strsep(&next, ":"));)
		execute(one, address);
}

static void leave_terminal(void)
{
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	setsid();
	for (int fd = 0; nothing >= 0 && fd < 3; fd++)
		dup2(nothing, fd);
}

/* A child of the child runs the browser, so that it has no parent that must wait. It tells by the
 * pipe that no program could be executed. */
bool browser_start(const char *address)
{
	int told[2], error = 0;
	if (pipe2(told, O_CLOEXEC))
		return false;
	pid_t pid = fork();
	if (!pid) {
		pid_t browser = fork();
		if (browser > 0)
			_exit(0);
		if (!browser) {
			leave_terminal();
			execute_browser(address);
		}
		error = errno;
		_exit(write(told[1], &error, sizeof(error)) < 0);
	}
	close(told[1]);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	bool is_started = pid > 0 && read(told[0], &error, sizeof(error)) <= 0;
	close(told[0]);
	return is_started;
}

/* SSH_CONNECTION: the client's address and port, then the server's. The server's address is the one
 * by which the client reached it. */
void browser_say_forward(unsigned port)
{
	char client[64], server[64], other[24] = "";
	unsigned client_port, server_port;
	const char *text = getenv("SSH_CONNECTION");
	const struct passwd *user = getpwuid(geteuid());
	if (!text ||
	    sscanf(text, "%63s %u %63s %u", client, &client_port, server, &server_port) != 4)
		return;
	if (server_port != SSH_PORT)
		snprintf(other, sizeof(other), "-p %u ", server_port);
	print_err("profrun: on your own machine, run\n");
	print_err("    ssh -N -L %u:127.0.0.1:%u %s%s@%s\n", port, port, other,
		  user ? user->pw_name : "USER", server);
	print_err("profrun: and open the link there\n");
}
