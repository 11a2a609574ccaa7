/* See source.h. Keeps whole files in memory, within limits. A report shows lines of about ten
 * files. */
#include "core/symbols/source.h"

#include <ctype.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <sys/stat.h>
#include <unistd.h>

/* Instead of an indentation: the line has no code. It compares as larger than any indentation. */
#define NO_CODE SIZE_MAX

enum {
	FILE_MOST_BYTES = 4 << 20, /* larger files are not read */
	ALL_MOST_BYTES = 64 << 20, /* if the files take more than this, no further file is read */
	SHOWN_MOST_BYTES = 200,	   /* a longer line is cut */
};

/* Returns the text of a file with a NUL at its end; NULL if the file cannot be read or is too
 * large. The caller frees the text. */
static char *read_whole(const char *path, size_t *bytes)
{
	struct stat st;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return NULL;
	char *text = NULL;
	if (!fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size <= FILE_MOST_BYTES) {
		size_t size = (size_t)st.st_size, n = 0;
		ssize_t got = 1;
		text = mem_resize(NULL, size + 1);
		while (n < size && (got = read(fd, text + n, size - n)) > 0)
			n += (size_t)got;
		text[n] = 0;
		*bytes = n;
	}
	close(fd);
	return text;
}

/* Reads the file and finds the begins of its lines. Leaves `f` empty if it cannot be read. */
static void load(struct source *s, struct source_file *f, const char *folder, const char *file)
{
	char path[PATH_MAX];
	size_t bytes = 0;
	int n = file[0] == '/' ? snprintf(path, sizeof(path), "%s", file)
			       : snprintf(path, sizeof(path), "%s/%s", folder, file);
	if (n < 0 || (size_t)n >= sizeof(path) || path[0] != '/' || s->bytes > ALL_MOST_BYTES)
		return;
	f->text = read_whole(path, &bytes);
	if (!f->text)
		return;
	s->bytes += bytes;
	for (size_t at = 0; at < bytes;) {
		vec_push(&f->lines, (uint32_t)at);
		const char *end = memchr(f->text + at, '\n', bytes - at);
		at = end ? (size_t)(end - f->text) + 1 : bytes;
	}
}

/* Returns the line that begins at `from`, without the whitespace around it and without control
 * characters. */
static const char *show(struct strtab *texts, const char *from)
{
	char text[SHOWN_MOST_BYTES + 1];
	size_t n = 0, end = 0;
	while (*from && *from != '\n' && isspace((unsigned char)*from))
		from++;
	for (; n < SHOWN_MOST_BYTES && from[n] && from[n] != '\n'; n++) {
		text[n] = (unsigned char)from[n] < ' ' || from[n] == 127 ? ' ' : from[n];
		if (text[n] != ' ')
			end = n + 1;
	}
	if (n == SHOWN_MOST_BYTES) /* do not cut within a UTF-8 character */
		while (end && ((unsigned char)from[end] & 0xc0) == 0x80)
			end--;
	text[end] = 0;
	return strtab_text(texts, strtab_intern(texts, text));
}

static const struct source_file *file_of(struct source *s, struct strtab *texts, const char *folder,
					 const char *file)
{
	uint32_t path = strtab_intern(texts, file);
	size_t i = 0;
	while (i < s->files.n && s->files.at[i].path != path)
		i++;
	if (i == s->files.n) {
		vec_push(&s->files, (struct source_file){ .path = path });
		load(s, &s->files.at[i], folder, file);
	}
	return &s->files.at[i];
}

const char *source_line(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line)
{
	if (!*file || !line)
		return "";
	const struct source_file *f = file_of(s, texts, folder, file);
	return line <= f->lines.n ? show(texts, f->text + f->lines.at[line - 1]) : "";
}

/* Returns the line's indentation in characters; NO_CODE if it is empty or only a comment. */
static size_t indent_of(const char *line)
{
	size_t n = strspn(line, " \t");
	return strchr("#\r\n", line[n]) ? NO_CODE : n;
}

static bool begins_loop(const char *line)
{
	static const char *const words[] = { "for ", "while ", "while(", "async for " };
	line += strspn(line, " \t");
	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strncmp(line, words[i], strlen(words[i])))
			return true;
	return false;
}

uint32_t source_loop(struct source *s, struct strtab *texts, const char *folder, const char *file,
		     uint32_t first_line, uint32_t line)
{
	const struct source_file *f = *file ? file_of(s, texts, folder, file) : NULL;
	if (!f || line > f->lines.n)
		return 0;
	uint32_t loop = 0;
	size_t least = NO_CODE;
	for (; line > first_line; line--) {
		const char *text = f->text + f->lines.at[line - 1];
		size_t indent = indent_of(text);
		if (indent >= least)
			continue;
		least = indent;
		loop = begins_loop(text) ? line : loop;
	}
	return loop;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static const char *after_spaces(const char *at)
{
	while (is_space(*at))
		at++;
	return at;
}

/* Returns what follows the word, NULL if the text does not begin with it. */
static const char *after_word(const char *at, const char *word)
{
	size_t n = strlen(word);
	bool is_longer = isalnum((unsigned char)word[n - 1]) &&
			 (isalnum((unsigned char)at[n]) || at[n] == '_');
	return strncmp(at, word, n) || is_longer ? NULL : after_spaces(at + n);
}

/* Returns whether there is nothing but a comment. */
static bool is_empty(const char *at)
{
	at = after_spaces(at);
	return !*at || strchr("\n*#", *at) || !strncmp(at, "//", 2) || !strncmp(at, "/*", 2);
}

/* Returns whether the text is `True:` or `1:` of Python. */
static bool is_python_true(const char *at)
{
	const char *one = after_word(at, "1"), *after = one ? one : after_word(at, "True");
	return after && *after == ':';
}

/* Returns what follows `(true)`, `(1)`, or `(A;;B)`, NULL if there is something else. */
static const char *after_condition(const char *at, bool is_for)
{
	at = after_word(at, "(");
	if (at && is_for) {
		at += strcspn(at, ";\n");
		at = *at == ';' ? after_word(after_spaces(at + 1), ";") : NULL;
		for (int depth = 0; at && *at && *at != '\n' && (depth || *at != ')'); at++)
			depth += (*at == '(') - (*at == ')');
	} else if (at) {
		const char *one = after_word(at, "1");
		at = one ? one : after_word(at, "true");
	}
	return at ? after_word(at, ")") : NULL;
}

/* Returns whether the line is only the begin of a loop without a condition at its begin. */
static bool is_endless(const char *line)
{
	line = after_spaces(line);
	const char *after = after_word(line, "do");
	if (!after)
		after = after_word(line, "loop");
	if (!after && (after = after_word(line, "while"))) {
		if (is_python_true(after))
			return true;
		after = after_condition(after, false);
	} else if (!after && (after = after_word(line, "for")))
		after = after_condition(after, true);
	if (!after)
		return false;
	const char *brace = after_word(after, "{");
	return is_empty(brace ? brace : after);
}

uint32_t source_endless(struct source *s, struct strtab *texts, const char *folder,
			const char *file, uint32_t line)
{
	const struct source_file *f = *file ? file_of(s, texts, folder, file) : NULL;
	if (!f || line > f->lines.n)
		return line;
	for (uint32_t before = line - 1; before > 0; before--) {
		const char *text = f->text + f->lines.at[before - 1],
			   *brace = after_word(after_spaces(text), "{");
		if (is_endless(text))
			return before;
		if (!is_empty(brace ? brace : text))
			break;
	}
	return line;
}

void source_free(struct source *s)
{
	for (size_t i = 0; i < s->files.n; i++) {
		free(s->files.at[i].text);
		vec_free(&s->files.at[i].lines);
	}
	vec_free(&s->files);
}
