/* Reads /proc/PID/stat, status, maps and ns/pid. The second field of stat is the name of the
 * process, which may contain blanks and brackets. Therefore its fields are counted from the last
 * ')', after which the third field follows. */
#include "core/util/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns a numeric field of a stat line. `third`: the line from its third field on, as returned by
 * read_stat(). `number`: counted from 1 in the whole line, and at least 3. */
static uint64_t field(const char *third, int number)
{
	const char *at = third;
	for (int i = 3; at && i < number; i++)
		at = strchr(at + 1, ' ');
	return at ? strtoull(at + 1, NULL, 10) : 0;
}

/* Returns true if the process has ended. If only its first thread has ended, the process has the
 * state of a zombie ('Z'), but other threads still run. */
static bool is_over(const char *third)
{
	enum { NUM_THREADS = 20 };
	return third[1] == 'X' || (third[1] == 'Z' && field(third, NUM_THREADS) <= 1);
}

/*
 * Reads the process's stat line to `text`. Returns a pointer to the blank before its third field;
 * NULL: there is no such process.
 */
static const char *read_stat(uint32_t pid, char *text, size_t bytes)
{
	char path[32];
	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	FILE *f = fopen(path, "re");
	if (!f)
		return NULL;
	size_t n = fread(text, 1, bytes - 1, f);
	fclose(f);
	text[n] = 0;
	const char *at = strrchr(text, ')');
	return at && at[1] == ' ' ? at + 1 : NULL;
}

uint64_t procfs_start(uint32_t pid)
{
	enum { STARTTIME = 22 };
	char text[1024];
	const char *third = read_stat(pid, text, sizeof(text));
	return third && !is_over(third) ? field(third, STARTTIME) : 0;
}

bool procfs_is_alive(uint32_t pid, uint64_t start)
{
	uint64_t now = procfs_start(pid);
	if (now || procfs_start((uint32_t)getpid()))
		return now && (!start || now == start);
	return !kill((pid_t)pid, 0) || errno == EPERM;
}

/* ---- Namespaces ---- */

/* Returns the inode of the process's pid namespace; 0: not known, for example without permission to
 * read it. */
static uint64_t pid_namespace(uint32_t pid)
{
	char path[48];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%u/ns/pid", pid);
	return stat(path, &status) ? 0 : status.st_ino;
}

/* Returns the pid that the process has in its own pid namespace; 0: not known. NSpid lists the pids
 * of the process from the caller's namespace down to the process's own, so the last pid counts. */
static uint32_t innermost_number(uint32_t pid)
{
	char path[48], line[256];
	uint32_t number = 0;
	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	FILE *f = fopen(path, "re");
	while (f && !number && fgets(line, sizeof(line), f)) {
		const char *last = strncmp(line, "NSpid:", 6) ? NULL : strrchr(line, '\t');
		number = last ? (uint32_t)strtoul(last + 1, NULL, 10) : 0;
	}
	if (f)
		fclose(f);
	return number;
}

/* Returns true if the candidate is the process that procfs_number_here() looks for. Several
 * processes in different namespaces may have the same pid, such as 1, and the same start time,
 * which has a resolution of 10 ms. Therefore the namespace is compared, too, if it can be read. */
static bool is_it(uint32_t candidate, uint32_t pid, uint64_t start, uint64_t wanted_namespace)
{
	if (procfs_start(candidate) != start || innermost_number(candidate) != pid)
		return false;
	uint64_t its = pid_namespace(candidate);
	return !its || its == wanted_namespace;
}

uint32_t procfs_number_here(uint32_t pid, uint64_t start, uint64_t wanted_namespace)
{
	uint64_t own = pid_namespace((uint32_t)getpid());
	uint32_t found = 0;
	if (!start || !wanted_namespace || !own || own == wanted_namespace)
		return pid;
	DIR *d = opendir("/proc");
	for (struct dirent *entry; d && !found && (entry = readdir(d));) {
		uint32_t candidate = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (candidate && is_it(candidate, pid, start, wanted_namespace))
			found = candidate;
	}
	if (d)
		closedir(d);
	return found;
}

/* ---- Families ---- */

struct child {
	uint32_t pid, parent;
};

static bool is_in(const struct procfs_family *family, uint32_t pid)
{
	for (size_t i = 0; i < family->pids.n; i++)
		if (family->pids.at[i] == pid)
			return true;
	return false;
}

/* /proc lists processes in any order, so the search for children of the processes found so far is
 * repeated until it finds no new process. */
void procfs_family(uint32_t pid, struct procfs_family *family)
{
	enum { PARENT = 4 };
	VEC(struct child) all = { 0 };
	DIR *d = opendir("/proc");
	for (struct dirent *entry; d && (entry = readdir(d));) {
		char text[1024];
		uint32_t child = (uint32_t)strtoul(entry->d_name, NULL, 10);
		const char *third = isdigit((unsigned char)entry->d_name[0])
					    ? read_stat(child, text, sizeof(text))
					    : NULL;
		if (third)
			vec_push(&all, (struct child){ child, (uint32_t)field(third, PARENT) });
	}
	if (d)
		closedir(d);
	vec_push(&family->pids, pid);
	for (bool is_any = true; is_any;) {
		is_any = false;
		for (size_t i = 0; i < all.n; i++)
			if (is_in(family, all.at[i].parent) && !is_in(family, all.at[i].pid)) {
				vec_push(&family->pids, all.at[i].pid);
				is_any = true;
			}
	}
	vec_free(&all);
}

/* The owner of /proc/PID is the process's effective user. */
void procfs_of_user(uint32_t uid, struct procfs_family *family)
{
	DIR *d = opendir("/proc");
	for (struct dirent *entry; d && (entry = readdir(d));) {
		struct stat status;
		uint32_t pid = (uint32_t)strtoul(entry->d_name, NULL, 10);
		if (pid && !fstatat(dirfd(d), entry->d_name, &status, 0) && status.st_uid == uid)
			vec_push(&family->pids, pid);
	}
	if (d)
		closedir(d);
}

/*
 * The path of a journal in /proc/PID/maps is DIR/journal/PID.TIME.journal. It may also be the
 * temporary name under which the library created the file:
 * "DIR/journal/PID.TIME.journal.new (deleted)".
 */
bool procfs_journal_folder(uint32_t pid, char *to, size_t bytes)
{
	char path[32], own[48], line[8192];
	bool is_found = false;
	snprintf(path, sizeof(path), "/proc/%u/maps", pid);
	snprintf(own, sizeof(own), "/journal/%u", pid);
	FILE *f = fopen(path, "re");
	while (f && !is_found && fgets(line, sizeof(line), f)) {
		const char *begin = strchr(line, '/'), *end = strstr(line, own);
		if (!begin || !end || !strstr(end, ".journal"))
			continue;
		for (const char *next; (next = strstr(end + 1, own));)
			end = next;
		is_found = snprintf(to, bytes, "%.*s", (int)(end - begin), begin) < (int)bytes;
	}
	if (f)
		fclose(f);
	return is_found;
}
