/* See served_files.h. */
#include "export/served_files.h"

#include "export/descriptors.h"
#include "export/exporter.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LISTED_MOST = 2000, DEPTH_MOST = 3 };

static bool is_format_folder(const char *name, size_t n)
{
	const struct exporter *x;
	for (size_t i = 0; (x = exporter_at(i)); i++)
		if (strlen(x->folder) == n && !memcmp(x->folder, name, n))
			return true;
	return false;
}

/* Returns whether the name is one that profrun writes. The journal has what no viewer needs. */
static bool is_of_run(const char *name)
{
	static const char *const files[] = { "report.html", "report.txt", "report.json",
					     "run.json" };
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (!strcmp(name, files[i]))
			return true;
	size_t n = strcspn(name, "/");
	return name[n] == '/' && is_format_folder(name, n) && !strstr(name, "/.");
}

/* Opens component by component, because O_NOFOLLOW is about the last one only. */
static int open_below(int folder, const char *name)
{
	char part[NAME_MAX + 1];
	int at = dup(folder);
	while (at >= 0) {
		size_t n = strcspn(name, "/");
		bool is_last = !name[n];
		if (!n || n > NAME_MAX) {
			close(at);
			return -1;
		}
		snprintf(part, sizeof(part), "%.*s", (int)n, name);
		int next = openat(at, part,
				  O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK |
					  (is_last ? 0 : O_DIRECTORY));
		close(at);
		at = next;
		if (is_last)
			break;
		name += n + 1;
	}
	return at;
}

int served_open(int folder, const char *name, uint64_t *bytes)
{
	struct stat status;
	int fd = is_of_run(name) ? open_below(folder, name) : -1;
	if (fd >= 0 && (fstat(fd, &status) || !S_ISREG(status.st_mode))) {
		close(fd);
		fd = -1;
	}
	if (fd < 0)
		return -1;
	*bytes = (uint64_t)status.st_size;
	int above = descriptors_above_standard(fd);
	if (above != fd)
		close(fd);
	return above;
}

static void add_file(struct served_files *to, const char *name, uint64_t bytes)
{
	if (to->all.n == LISTED_MOST)
		to->n_more++;
	else
		vec_push(&to->all, (struct served_file){ mem_text(name), bytes });
}

/* Lists what is below `name`, a folder that `fd` is. Closes `fd`. */
static void list_folder(struct served_files *to, int fd, const char *name, int depth)
{
	DIR *d = fdopendir(fd);
	if (!d) {
		close(fd);
		return;
	}
	for (struct dirent *entry; (entry = readdir(d));) {
		char path[PATH_MAX];
		struct stat status;
		if (entry->d_name[0] == '.' ||
		    snprintf(path, sizeof(path), "%s/%s", name, entry->d_name) >=
			    (int)sizeof(path) ||
		    fstatat(dirfd(d), entry->d_name, &status, AT_SYMLINK_NOFOLLOW))
			continue;
		if (S_ISREG(status.st_mode))
			add_file(to, path, (uint64_t)status.st_size);
		else if (S_ISDIR(status.st_mode) && depth < DEPTH_MOST) {
			int below = openat(dirfd(d), entry->d_name,
					   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
			if (below >= 0)
				list_folder(to, below, path, depth + 1);
		}
	}
	closedir(d);
}

static int by_name(const void *a, const void *b)
{
	const struct served_file *x = a, *y = b;
	return strverscmp(x->name, y->name);
}

void served_list(int folder, struct served_files *to)
{
	const struct exporter *x;
	*to = (struct served_files){ 0 };
	for (size_t i = 0; (x = exporter_at(i)); i++) {
		int fd = openat(folder, x->folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		size_t first = to->all.n;
		if (fd < 0)
			continue;
		list_folder(to, fd, x->folder, 1);
		if (to->all.n > first)
			qsort(&to->all.at[first], to->all.n - first, sizeof(*to->all.at), by_name);
	}
}

void served_free(struct served_files *f)
{
	for (size_t i = 0; i < f->all.n; i++)
		free(f->all.at[i].name);
	vec_free(&f->all);
}
