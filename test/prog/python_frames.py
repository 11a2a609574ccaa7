"""Compares what the library reads of Python's frames with sys._getframe, in the interpreter that
runs this file.

usage: python3.X python_frames.py LIBRARY FOLDER CASE
       (test/e2e/test_python_frames.py runs every case in every interpreter)

Runs from CPython 3.6 on, so it is written for that. Each case prints `ok` and counts, or what
differs, and exits with 1.
"""
import asyncio
import atexit
import ctypes
import dis
import errno
import functools
import gc
import os
import sys
import threading
import time

LIBRARY, FOLDER, CASE = sys.argv[1:4]
HAS_QUALNAME = sys.version_info >= (3, 11)
DEPTH = 512

released = ctypes.CDLL(LIBRARY, use_errno=True)  # releases the GIL around each call
held = ctypes.PyDLL(LIBRARY)
for library in released, held:
    for function in library.frames_text, library.frames_info, library.frames_recall:
        function.restype = ctypes.c_char_p
    library.frames_hash.restype = library.frames_stack.restype = ctypes.c_uint64
read, text = released.frames_read, released.frames_text
CALLBACK = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)

checks, failures, lock = 0, [], threading.Lock()


def start(depth=DEPTH):
    if held.frames_start(FOLDER.encode(), depth):
        sys.exit("no journal")


def expected(depth=1):
    """The caller's frames, as (file, line, name)."""
    frame, found = sys._getframe(depth), []
    while frame:
        code = frame.f_code
        name = code.co_qualname if HAS_QUALNAME else code.co_name
        found.append((os.fsencode(code.co_filename), frame.f_lineno or code.co_firstlineno,
                      os.fsencode(name)))
        frame = frame.f_back
    return found


def parse(lines):
    rows = [line.split(b"\t") for line in lines.splitlines()]
    return [(row[0], int(row[1]), row[2]) for row in rows]


def got():
    return parse(text())


def check(what, found, wanted):
    global checks
    with lock:
        checks += 1
        if found != wanted and not isinstance(found, list):
            failures.append(f"{what}: {found!r}, not {wanted!r}")
        elif found != wanted:
            first = next((i for i in range(min(len(found), len(wanted))) if found[i] != wanted[i]),
                         None)
            pair = ("" if first is None else f": frame {first} is {found[first]}, "
                    f"not {wanted[first]}")
            failures.append(f"{what}: {len(found)} frames of {len(wanted)}{pair}")


def finish(*more):
    for line in failures[:20]:
        print(line)
    print("failed" if failures else "ok", checks, *more, flush=True)
    sys.exit(1 if failures else 0)


# ---- The ways to call. Each reads, fetches the text and asks sys._getframe on one line. ----

def plain():
    read(), check("plain", got(), expected())
    held.frames_read(), check("GIL held", parse(held.frames_text()), expected())


def recursion(n):
    if n:
        return recursion(n - 1)
    read(), check("recursion", got(), expected())


def generator(n):
    for i in range(n):
        yield (read(), check("generator", got(), expected()), i)[2]


def delegating(n):
    yield from generator(n)


def generators():
    list(generator(3)), sum(delegating(3))
    sum(x for x in delegating(2) if (read(), check("generator expression", got(), expected())))


class Things:
    def method(self):
        read(), check("method", got(), expected())

    @staticmethod
    def static():
        read(), check("static method", got(), expected())

    @classmethod
    def of_class(cls):
        read(), check("class method", got(), expected())

    @property
    def prop(self):
        return read(), check("property", got(), expected())

    def __del__(self):
        read(), check("__del__", got(), expected())

    def __call__(self):
        read(), check("__call__", got(), expected())

    def __enter__(self):
        read(), check("__enter__", got(), expected())

    def __exit__(self, *_):
        read(), check("__exit__", got(), expected())

    def __iter__(self):
        return self

    def __next__(self):
        read(), check("__next__", got(), expected())
        raise StopIteration

    def __getattr__(self, name):
        read(), check("__getattr__", got(), expected())
        return name

    def __lt__(self, other):
        read(), check("__lt__", got(), expected())
        return True

    def __hash__(self):
        read(), check("__hash__", got(), expected())
        return 1

    class Nested:
        def method(self):
            def inner():
                read(), check("nested", got(), expected())
            inner()


def classes():
    thing = Things()
    thing.method(), thing.static(), thing.of_class(), thing.prop, thing()
    with thing:
        pass
    for _ in thing:
        pass
    _ = thing.anything, sorted([thing, Things()]), {thing: 1}
    thing.Nested().method()
    del thing


@functools.lru_cache(maxsize=None)
def cached(x):
    read(), check("lru_cache", got(), expected())
    return x


def lambdas():
    (lambda: (read(), check("lambda", got(), expected())))()
    list(map(lambda x: (read(), check("lambda in map", got(), expected())), [1, 2]))
    sorted([3, 1, 2], key=lambda x: (read(), check("lambda in sorted", got(), expected()), x)[2])
    cached.cache_clear()
    cached(1), functools.partial(cached, 2)()


def comprehensions():
    _ = [(read(), check("list comprehension", got(), expected())) for _ in range(2)]
    _ = {(read(), check("set comprehension", got(), expected())) for _ in range(2)}
    _ = {i: (read(), check("dict comprehension", got(), expected())) for i in range(2)}
    _ = [[(read(), check("nested comprehension", got(), expected())) for _ in range(i)]
         for i in range(3)]


def fall(n):
    if not n:
        raise KeyError
    fall(n - 1)


def exceptions():
    try:
        raise ValueError
    except ValueError:
        read(), check("except", got(), expected())
    finally:
        read(), check("finally", got(), expected())
    try:
        fall(50)
    except KeyError:
        read(), check("after unwinding", got(), expected())


def many_lines():
    _ = (1 +
         (read(), check("several lines", got(), expected()), 1)[2]
         + 2)
    _ = dict(a=1,
             b=[
                 (read(), check("several lines deeper", got(), expected()))
             ])


async def waiting(n):
    if n:
        return await waiting(n - 1)
    read(), check("await", got(), expected())
    await asyncio.sleep(0)
    read(), check("await after sleep", got(), expected())


async def async_generator():
    for i in range(2):
        read(), check("async generator", got(), expected())
        yield i


async def coroutines():
    await waiting(5)
    async for _ in async_generator():
        read(), check("async for", got(), expected())
    await asyncio.gather(*[waiting(i) for i in range(4)])


def callbacks():
    def leaf(k):
        read(), check("callback", got(), expected())
        return k

    def again(k):
        if k:
            return released.frames_call(CALLBACK(again), k - 1)
        read(), check("nested callbacks", got(), expected())
        return 0
    released.frames_call(CALLBACK(leaf), 7), released.frames_call(CALLBACK(again), 5)


stale = 0


def check_made(what, found, wanted):
    """Checks like check(). Before co_version (3.12) a code object may be mistaken for an equal one
    that was at its address before, file name and all, until a 64th read of the thread and no
    longer."""
    global stale
    of_one = ([(frame[0].split()[0], *frame[1:]) for frame in found],
              [(frame[0].split()[0], *frame[1:]) for frame in wanted])
    stale = (stale + 1 if found != wanted and of_one[0] == of_one[1] and sys.version_info < (3, 12)
             else 0)
    if not 0 < stale < 64:
        check(what, found, wanted)


SCOPE = {"read": read, "got": got, "check": check_made, "expected": expected}


def made_code():
    """Addresses of code objects are used again and again."""
    for i in range(200):
        source = ("\n" * (i % 7) + f"def f{i % 3}():\n"
                  f"  read(), check('exec', got(), expected())\nf{i % 3}()\n")
        exec(compile(source, f"<made {i % 5}>", "exec"), dict(SCOPE))


def long_tables():
    source = ("def f():\n" + "  a = 1\n" * 700 + "  read(), check('far', got(), expected())\n"
              + "  b=[" + "1,\n" * 400 + "]\n"
              + "  read(), check('farther', got(), expected())\nf()\n")
    exec(compile(source, "\u00fcn\u00ef/\u65e5\u672c\U0001F600.py", "exec"), dict(SCOPE))
    backwards = ("def f():\n  return (\n" + "\n" * 300
                 + "    read(), check('back', got(), expected()))\nf()\n")
    exec(compile(backwards, "not-utf8-\udcff\udc80.py", "exec"), dict(SCOPE))
    exec("def \u00e9t\u00e9():\n  read(), check('accents', got(), expected())\n\u00e9t\u00e9()",
         dict(SCOPE))
    exec("def \u0434\u0430():\n  read(), check('cyrillic', got(), expected())\n\u0434\u0430()",
         dict(SCOPE))


def traced():
    def trace(frame, event, argument):
        return trace
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        Things().method(), recursion(3)
    finally:
        sys.settrace(before)


def all_ways():
    plain(), recursion(10), generators(), classes(), lambdas(), comprehensions()
    exceptions(), many_lines()
    callbacks(), made_code(), long_tables(), traced()
    asyncio.new_event_loop().run_until_complete(coroutines())


def on_thread(i):
    for _ in range(10):
        recursion(20 + i), generators(), classes(), comprehensions(), made_code()


def run_threads(body, n):
    threads = [threading.Thread(target=body, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


# ---- Cases ----

def case_frames():
    start()
    for _ in range(3):
        all_ways()
    recursion(450)
    run_threads(on_thread, 4)
    recursion(3)
    finish(held.frames_info().decode(), held.frames_codes())


def bytecode_of(name):
    room, version = ctypes.create_string_buffer(1 << 17), ctypes.c_uint()
    n = held.frames_bytecode(name.encode(), room, len(room), ctypes.byref(version))
    return (room.raw[:n], version.value) if n >= 0 else (None, 0)


def unspecialized(bytecode, code):
    """Returns the bytecode with its specialized instructions replaced, and without caches."""
    names = {n: name for name, n in getattr(dis, "_all_opmap", dis.opmap).items() if n < 256}
    general = getattr(dis, "deoptmap", {})
    rows = []
    for i in dis.get_instructions(code):
        name = names[bytecode[i.offset]]
        rows.append((general.get(name, name), bytecode[i.offset + 1]))
    return rows


def case_bytecode():
    """The bytecode in the dictionary: that of a function which ran before it was seen first, of one
    that is new, and of one that is too long."""
    names = {}

    def make(name, body):
        exec(compile("def %s(n, read):\n for i in range(n):\n  if i: n += len(str(i))\n%s"
                     " read()\n return n\n" % (name, body), "made", "exec"), names)
        return names[name]
    start()
    for name, body, before in ("warm", "", 100), ("fresh", "", 0), ("long", " n += n\n" * 9000, 0):
        function = make(name, body)
        for _ in range(before):
            function(30, int)
        function(2, read)
        code, (bytecode, version) = function.__code__, bytecode_of(name)
        if name == "long":
            assert len(code.co_code) > 1 << 16 and bytecode == b"", len(code.co_code)
            continue
        assert version == sys.version_info[0] << 8 | sys.version_info[1], hex(version)
        assert len(bytecode) == len(code.co_code), (len(bytecode), len(code.co_code))
        assert unspecialized(bytecode, code) == unspecialized(code.co_code, code), name
        if sys.version_info < (3, 11):
            assert bytecode == code.co_code
    # the same names and lines, but other bytecode
    if sys.version_info < (3, 11):
        for body in " n += 1\n", " n -= 1\n":
            function = make("other", body)
            function(2, read)
            assert bytecode_of("other")[0] == function.__code__.co_code
    print("ok")


def case_renamed():
    """Code with another function's qualified name when first read (fastcore's patches): frames are
    read all the same."""
    def wrapper():
        read(), check("renamed", got(), expected())
    if HAS_QUALNAME:
        wrapper.__code__ = wrapper.__code__.replace(co_qualname="L.map")
    start()
    wrapper()
    finish()


def case_depth():
    """Deeper than is kept: the innermost frames, and a word that there are more."""
    start()
    sys.setrecursionlimit(20000)

    def down(n):
        if n:
            return down(n - 1)
        n = read(), check("deep", got(), expected()[:DEPTH])
        return n[0]
    for n, want in (DEPTH - 10, None), (DEPTH + 10, -1), (1500, -1), (5000, -1):
        found = down(n)
        check(f"answer at {n}", found, want or found)
        if not want:
            check("not truncated", found > 0, True)
    finish()


def case_entries():
    """Which frames entered the evaluator, and where on the stack."""
    start()
    rows = []

    def leaf():
        read()
        rows.extend(line.split(b"\t") for line in text().splitlines())

    def through_c(k):
        leaf()
        return 0

    def middle():
        released.frames_call(CALLBACK(through_c), 1)

    def outer():
        list(map(lambda x: middle(), [1]))
    outer()
    names = [row[2].split(b".")[-1].decode() for row in rows]
    entries = [name for name, row in zip(names, rows) if row[3] == b"1"]
    markers = [int(row[4], 16) for row in rows if row[3] == b"1"]
    inlined = sys.version_info >= (3, 11)
    check("entries", entries, ["through_c", "<lambda>", "<module>"] if inlined else names)
    if sys.version_info >= (3, 10):
        check("markers rise outwards", all(a < b for a, b in zip(markers, markers[1:]))
              and min(markers) > 0, True)
        check("markers lie on the stack", all(abs(marker - held.frames_stack()) < 8 << 20
                                              for marker in markers), True)
    else:
        check("no markers", set(markers), {0})

    def site(function):
        return function()
    twice = [site(f) for f in (held.frames_hash, held.frames_hash, python_hash, python_hash,
                               functools.partial(python_hash))]
    check("zero never comes", all(twice), True)
    check("same stack, same number", twice[0] == twice[1] and twice[2] == twice[3], True)
    check("other frames, other number", twice[0] == twice[2], False)
    # through partial the same frames are at the same instructions, but the inner one entered the
    # evaluator anew
    check("other entries, other number", twice[2] == twice[4], not inlined)
    finish()


def python_hash():
    return held.frames_hash()


def case_errno():
    start()
    for _ in range(200):
        ctypes.set_errno(errno.EXDEV)
        read()
        check("errno", ctypes.get_errno(), errno.EXDEV)
    finish()


def case_reuse():
    """As the library does: what a number once meant is believed. Code objects come and go at the
    same addresses."""
    start()
    wrong = [0]

    def probe_last():
        """The last of many reads at one place must be right; before 3.12 the earlier ones may be
        wrong."""
        for i in range(130):
            claimed = parse(held.frames_recall()); wanted = expected()
            if i == 0:
                wrong[0] += claimed != wanted
        check("after 128 reads", claimed, wanted)
    scope = {"probe": probe_last}
    for i in range(300):
        exec(compile("\n" * (i % 7) + f"def f{i % 3}():\n  x = 1;{chr(10) * (i % 5)}"
                     f"  probe()\nf{i % 3}()\n", "<made>", "exec"), dict(scope))
    if sys.version_info >= (3, 12):
        check("never wrong", wrong[0], 0)
    finish("first reads wrong:", wrong[0])


def case_fork():
    start()
    read()  # while one thread verifies the first chain, the others have no frames
    stop = threading.Event()

    def busy(_):
        while not stop.is_set():
            made = compile("\n" * (time.time_ns() % 50) + "read()\n", "<busy>", "exec")
            exec(made, {"read": read})
    workers = [threading.Thread(target=busy, args=(i,), daemon=True) for i in range(2)]
    for worker in workers:
        worker.start()
    plain()
    for i in range(20):
        child = os.fork()
        if not child:
            status = 3
            try:
                if held.frames_start_in_child(FOLDER.encode(), DEPTH) == 0:
                    plain(), recursion(5)
                    check("info again", held.frames_info().decode(),
                          "%d.%d.%d" % sys.version_info[:3])
                    for line in failures:
                        print(line)
                    status = 1 if failures else 0
            finally:
                os._exit(status)
        check(f"child {i}", os.waitpid(child, 0)[1], 0)
    stop.set()
    for worker in workers:
        worker.join()
    plain()
    finish()


def case_atexit():
    """While the interpreter goes the main thread still has frames."""
    start()

    def bye():
        read()
        os.write(1, b"atexit: " + text().split(b"\t")[2] + b"\n")

    class Late:
        def __del__(self, read=read, text=text, write=os.write):
            read()
            write(1, b"late: " + text().split(b"\t")[2] + b"\n")
    atexit.register(bye)
    sys.kept = Late()
    read()


def case_daemon():
    """Threads that go on calling while the interpreter is taken down under them."""
    start()

    def body():
        while True:
            read(), held.frames_hash()
    for _ in range(8):
        threading.Thread(target=body, daemon=True).start()
    time.sleep(0.05)
    print("ok", flush=True)


def case_subinterpreter():
    try:
        import _interpreters as interpreters
    except ImportError:
        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            print("none")
            return
    start()
    source = f"""
import ctypes
library = ctypes.CDLL({LIBRARY!r})
library.frames_text.restype = ctypes.c_char_p
def inside():
    library.frames_read()
    print("inside:", library.frames_text().split(b"\\t")[2].decode(), flush=True)
inside()
"""
    run = getattr(interpreters, "run_string", None) or interpreters.exec
    try:
        run(interpreters.create(), source)
    except Exception as e:  # a module that cannot be had twice is no matter of ours
        print("inside: failed", type(e).__name__, e)
    plain()
    finish()


def case_stress():
    """Code objects that die, the collector, another thread that looks at all stacks."""
    start()
    read()  # while one thread verifies the first chain, the others have no frames
    end = time.monotonic() + 1.5

    def work(i):
        k = 0
        while time.monotonic() < end:
            k += 1
            name, filler = f"f{k % 50}", "  x = 1\n" * (k % 9)
            source = (f"def {name}(n):\n{filler}  return {name}(n - 1) if n else "
                      f"(read(), check('stress', got(), expected()))\n{name}({k % 60})\n")
            exec(compile(source, f"<stress {k % 7}>", "exec"), dict(SCOPE))
            if k % 100 == 0:
                gc.collect()
            if k % 37 == 0:
                sys._current_frames()
    run_threads(work, 4)
    finish(held.frames_codes())


def case_cap():
    """Equal code objects share a record however often they are made."""
    start()
    source = "def f():\n  read()\nf()\n"
    for _ in range(3):
        exec(compile(source, "<same>", "exec"), {"read": read})
    before = held.frames_codes()
    kept = [compile(source, "<same>", "exec") for _ in range(500)]
    for code in kept:
        exec(code, {"read": read})
    check("records", held.frames_codes(), before)
    finish()


def case_shift():
    """Shifts each offset of the layout by a few bytes, in a child process. Reading turns off or
    gives other text, and never crashes."""
    off = total = 0
    for field in range(19):
        for shift in (-64, -8, -4, -1, 1, 8, 16):
            child = os.fork()
            if not child:
                held.frames_shift(field, shift)
                sys.stderr.flush()
                os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
                held.frames_start_in_child(FOLDER.encode(), DEPTH)
                shifted_calls(30)
                os._exit(7 if b":" in held.frames_info() else 0)
            status = os.waitpid(child, 0)[1]
            total += 1
            off += status == 7 << 8
            check(f"status with field {field} off by {shift}", status,
                  status if status == 7 << 8 else 0)
    check("most are noticed", off > total // 3, True)
    finish("off:", off, "of", total)


def shifted_calls(n):
    if n:
        return shifted_calls(n - 1)
    list(map(lambda x: (read(), text()), range(3)))
    for _ in range(140):
        held.frames_recall()


def case_version():
    start()
    read()
    print(held.frames_info().decode(), len(got()))


if __name__ == "__main__":
    globals()[f"case_{CASE}"]()
