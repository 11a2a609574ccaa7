/*
 * A program without Python that later loads one RTLD_LOCAL, with the library's Python half in it
 * from the start.
 * usage: python_host PYTHON_FRAMES.SO LIBPYTHON FOLDER
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A PyMethodDef; a function without arguments. */
struct method {
	const char *name;
	void *(*function)(void *self, void *arguments);
	int flags;
	const char *doc;
};
enum { METH_NOARGS = 4 };

static int (*frames_read)(void);
static const char *(*frames_text)(void);
static void *(*none)(long);

static void *need(void *handle, const char *name)
{
	void *found = dlsym(handle, name);
	if (!found) {
		fprintf(stderr, "no %s: %s\n", name, dlerror());
		exit(1);
	}
	return found;
}

static void *need_library(const char *path)
{
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!handle) {
		fprintf(stderr, "%s\n", dlerror());
		exit(1);
	}
	return handle;
}

static void say(const char *when)
{
	int n = frames_read();
	printf("%s: %d frames\n%s", when, n, frames_text());
}

static void *read_from_python(void *self, void *arguments)
{
	(void)self;
	(void)arguments;
	say("called");
	return none(0);
}

static void run_python(void *python)
{
	static struct method method = { "read", read_from_python, METH_NOARGS, NULL };
	void (*initialize)(void) = (__typeof__(initialize))need(python, "Py_Initialize");
	void *(*module)(const char *) = (__typeof__(module))need(python, "PyImport_AddModule");
	void *(*function)(struct method *, void *, void *) =
		(__typeof__(function))need(python, "PyCFunction_NewEx");
	int (*set)(void *, const char *, void *) =
		(__typeof__(set))need(python, "PyObject_SetAttrString");
	int (*run)(const char *, void *) = (__typeof__(run))need(python, "PyRun_SimpleStringFlags");
	none = (__typeof__(none))need(python, "PyLong_FromLong");
	initialize();
	say("no frames yet");
	set(module("__main__"), "read", function(&method, NULL, NULL));
	run("def f():\n"
	    "    read()\n"
	    "f()\n",
	    NULL);
}

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	void *library = need_library(argv[1]);
	int (*start)(const char *, unsigned) = (__typeof__(start))need(library, "frames_start");
	void (*changed)(void) = (__typeof__(changed))need(library, "frames_objects_changed");
	frames_read = (__typeof__(frames_read))need(library, "frames_read");
	frames_text = (__typeof__(frames_text))need(library, "frames_text");
	if (start(argv[3], 64))
		return 1;
	say("no Python");
	void *python = need_library(argv[2]);
	changed();
	say("not initialized");
	run_python(python);
	return 0;
}
