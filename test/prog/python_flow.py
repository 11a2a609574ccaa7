"""Compares the instructions of this interpreter's bytecode, as core/flow/ decodes them, with `dis`.

Runs inside each CPython: python_flow.py PROGRAM CASE. Prints "ok", or the first difference.
"""
import dis
import glob
import opcode
import os
import struct
import subprocess
import sys
import types

PROGRAM, CASE = sys.argv[1:]
VERSION = sys.version_info[0] << 8 | sys.version_info[1]
FILES_MOST, CODES_MOST = 400, 20000
ENDS = {"RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD",
        "JUMP_BACKWARD_NO_INTERRUPT", "JUMP_ABSOLUTE", "INTERPRETER_EXIT"}
NO_EDGE = {"JUMP_BACKWARD_NO_INTERRUPT", "END_ASYNC_FOR"}


def codes_in(code):
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from codes_in(constant)


def library_codes():
    """Returns code objects of the standard library, compiled here."""
    found = []
    for path in sorted(glob.glob(os.path.join(os.path.dirname(os.__file__), "**/*.py"),
                                 recursive=True))[:FILES_MOST]:
        try:
            with open(path, "rb") as file:
                found.extend(codes_in(compile(file.read(), path, "exec")))
        except (SyntaxError, ValueError):
            pass
    return found[:CODES_MOST]


def large_code():
    """Returns code with jumps of more than 65,535 units, over several EXTENDED_ARG."""
    body = "\n".join(f"  x{i % 7}(a, {i})" for i in range(16000))
    return compile(f"for a in b:\n if a:\n{body}\n else:\n  c()\n", "large", "exec")


def expected(code):
    rows = []
    for i in dis.get_instructions(code):
        is_jump = ((i.opcode in dis.hasjrel or i.opcode in dis.hasjabs)
                   and i.opname not in NO_EDGE)
        rows.append((i.offset, i.argval if is_jump else 0xffffffff, i.opname not in ENDS))
    return rows


def decoded(codes):
    """Returns the program's rows for each piece of bytecode, an empty list where it refuses."""
    data = b"".join(struct.pack("<II", VERSION, len(c)) + c for c in codes)
    out = subprocess.run([PROGRAM], input=data, stdout=subprocess.PIPE, check=True).stdout
    answers, at = [], 0
    for _ in codes:
        n = struct.unpack_from("<I", out, at)[0]
        words = struct.unpack_from(f"<{3 * n}I", out, at + 4)
        answers.append([(words[i], words[i + 1], bool(words[i + 2]))
                        for i in range(0, 3 * n, 3)])
        at += 4 + 12 * n
    return answers


def compare(codes, bytecode_of):
    pieces = [bytecode_of(code) for code in codes]
    for code, got in zip(codes, decoded(pieces)):
        want = expected(code)
        if got != want:
            bad = [pair for pair in zip(got, want) if pair[0] != pair[1]][:1]
            sys.exit(f"{code}: {len(got)} instructions, not {len(want)}; first difference {bad}")
    return pieces


def names_in(codes):
    """Returns the names of the instructions in the running bytecode of the code objects."""
    names = {number: name
             for name, number in getattr(dis, "_all_opmap", opcode.opmap).items() if number < 256}
    rows = zip(codes, decoded([code._co_code_adaptive for code in codes]))
    return {names[code._co_code_adaptive[row[0]]] for code, found in rows for row in found}


def case_library():
    codes = library_codes() + [large_code()]
    compare(codes, lambda code: code.co_code)
    jumps = sum(row[1] != 0xffffffff for code in codes for row in expected(code))
    assert len(codes) > 3000 and jumps > 5000, (len(codes), jumps)
    print("ok", len(codes), jumps)


def work():
    """Runs loops of all kinds often enough to become specialized bytecode."""
    def generator(n):
        for i in range(n):
            yield i

    def delegating(n):
        yield from generator(n)

    class Point:
        def __init__(self, x):
            self.x = x

    def loops(rounds):
        total, points = 0, [Point(i) for i in range(8)]
        while rounds:
            rounds -= 1
            for p in points:
                total += p.x
            for i in (1, 2, 3):
                total = total + i if i % 2 else total - i
            for i in range(3):
                total += len(str(i))
            for i in generator(3):
                total += i
            for i in delegating(3):
                total += i
            for key, value in {"a": 1}.items():
                total += value if key == "a" and value else 0
            try:
                with memoryview(b"x") as view:
                    total += view[0]
                if total is None:
                    continue
            finally:
                total += 1
        return total
    for _ in range(40):
        loops(20)
    return [loops.__code__, generator.__code__, delegating.__code__, Point.__init__.__code__]


def all_functions():
    return [f.__code__ for m in list(sys.modules.values()) for f in list(vars(m).values())
            if isinstance(f, types.FunctionType)]


def case_specialized():
    codes = work()
    codes += all_functions()
    compare(codes, lambda code: code._co_code_adaptive)
    special = names_in(codes) & set(dis.deoptmap)
    assert len(special) >= 8, special
    if sys.version_info >= (3, 12):
        assert special >= {"FOR_ITER_LIST", "FOR_ITER_RANGE", "FOR_ITER_GEN"}, special
    print("ok", *sorted(special))


def case_instrumented():
    """All events of sys.monitoring but those that hide the instruction."""
    events, monitor = sys.monitoring.events, sys.monitoring
    codes = work()
    monitor.use_tool_id(0, "test")
    monitor.set_events(0, events.PY_START | events.PY_RETURN | events.PY_YIELD | events.CALL
                       | events.JUMP | events.PY_RESUME | events.STOP_ITERATION | events.RAISE
                       | getattr(events, "BRANCH", 0) | getattr(events, "BRANCH_LEFT", 0)
                       | getattr(events, "BRANCH_RIGHT", 0))
    codes = work()
    compare(codes, lambda code: code._co_code_adaptive)
    found = {name for name in names_in(codes) if name.startswith("INSTRUMENTED_")}
    assert {"INSTRUMENTED_FOR_ITER", "INSTRUMENTED_JUMP_BACKWARD", "INSTRUMENTED_RESUME",
            "INSTRUMENTED_CALL"} <= found, found
    monitor.set_events(0, events.LINE)
    codes = work()
    assert decoded([code._co_code_adaptive for code in codes]) == [[]] * len(codes)
    print("ok", *sorted(found))


globals()["case_" + CASE]()
