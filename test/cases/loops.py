"""Loops of Python programs without a framework, one kind each: loops.py KIND. loops.cu has the same
for C++. `step` marks the line of the loop whose iterations are the steps, of which there are 60.
`step of KIND` marks a function that is called in each step.
"""
import asyncio
import concurrent.futures
import contextlib
import ctypes
import functools
import socket
import socketserver
import sys
import threading
import time

STEPS, BYTES = 60, 256
cuda = ctypes.CDLL("libcudart.so.13")
device, host = ctypes.c_void_p(), (ctypes.c_ubyte * BYTES)()
n_runs = 0


class Failed(Exception):
    pass


def upload():
    cuda.cudaMemcpy(device, host, ctypes.c_size_t(BYTES), 1)


def read():
    cuda.cudaMemcpy(host, device, ctypes.c_size_t(BYTES), 2)


def clear(n=BYTES):
    cuda.cudaMemsetAsync(device, 0, ctypes.c_size_t(n), None)


def model():
    clear(64)
    clear(32)


def flaky_model():
    """Fails in every fifth call."""
    global n_runs
    n_runs += 1
    clear(64)
    if n_runs % 5 == 0:
        raise Failed
    clear(32)


# ---- Exceptions ----

def retries():
    for _ in range(STEPS):  # step
        upload()
        while True:
            try:
                flaky_model()
                break
            except Failed:
                continue
        read()


def attempts():
    """Nothing but the loop of attempts: whether one failed cannot be seen."""
    for _ in range(STEPS):  # step
        for _ in range(3):
            try:
                flaky_model()
                break
            except Failed:
                pass


def robust(function):
    while True:
        try:
            return function()
        except Failed:
            cuda.cudaDeviceSynchronize()


def guarded():
    for _ in range(STEPS):  # step
        robust(model)


def guarded_failing():
    for _ in range(STEPS):  # step
        robust(flaky_model)


def skipped():
    for _ in range(STEPS):  # step
        try:
            upload()
            flaky_model()
        except Failed:
            clear(16)
            continue
        read()


def halved():
    """Runs out of memory until the parts of a batch are small enough."""
    for batch in range(STEPS):  # step
        upload()
        size = 8
        while True:
            try:
                for part in range(8 // size):
                    clear(64)
                    if size > 2 and batch % 3 == 0:
                        raise Failed
                    clear(size)
                break
            except Failed:
                size //= 2


def suppressed():
    for _ in range(STEPS):  # step
        with contextlib.suppress(Failed):
            upload()
            flaky_model()
            read()


def inside_handler():
    """The loop itself is in a handler."""
    try:
        raise Failed
    except Failed:
        for _ in range(STEPS):  # step
            upload()
            model()


# ---- Loops that begin with their body ----

def while_true():
    n = 0
    while True:  # step
        n += 1
        request()
        if n == STEPS:
            break


def while_condition():
    queue = list(range(STEPS + 9))
    while queue:  # step
        queue.pop()
        request()
        while queue and len(queue) % 7 == 0:
            queue.pop()
            request()
            request()


def while_lines():
    n = 0
    while (n < STEPS and  # step
           n >= 0):
        n += 1
        request()


def while_with():
    """The body begins with another loop, and an exception leads out of both."""
    n = 0
    with threading.Lock():
        while n < STEPS:  # step
            for _ in range(4):
                model()
            n += 1
            read()


# ---- Loops of the standard library: the name is that of the function they call ----

def served(_):  # step of pool
    request()


def pool():
    with concurrent.futures.ThreadPoolExecutor(3) as workers:
        list(workers.map(served, range(STEPS)))


class Handler(socketserver.BaseRequestHandler):
    def handle(self):  # step of server
        self.request.recv(1)
        request()
        self.request.sendall(b"x")


def server():
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Handler) as it:
        threading.Thread(target=it.serve_forever).start()
        for _ in range(STEPS):
            with socket.create_connection(it.server_address) as client:
                client.sendall(b"x")
                client.recv(1)
        it.shutdown()


async def answered(queue, reader, writer):  # step of coroutines
    await reader.read(1)
    request()
    writer.write(b"x")
    await writer.drain()
    writer.close()


async def clients():
    queue = asyncio.Queue()
    it = await asyncio.start_server(functools.partial(answered, queue), "127.0.0.1", 0)
    for _ in range(STEPS):
        reader, writer = await asyncio.open_connection(*it.sockets[0].getsockname())
        writer.write(b"x")
        await reader.read(1)
        writer.close()
    it.close()


def coroutines():
    asyncio.run(clients())


# ---- Threads that live for a step ----

def request():
    upload()
    model()
    read()


def thread_each():
    for _ in range(STEPS):  # step
        thread = threading.Thread(target=request)
        thread.start()
        thread.join()


def threads_each():
    """Since 3.13, join() calls pthread_join()."""
    for _ in range(STEPS):  # step
        threads = [threading.Thread(target=request) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def pool_each():
    for _ in range(STEPS):  # step
        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            list(pool.map(lambda _: request(), range(5)))


def prefetched():
    """A thread loads the next batch while the step runs."""
    for _ in range(STEPS):  # step
        loader = threading.Thread(target=upload)
        loader.start()
        model()
        read()
        loader.join()


def pool_for_all():
    """The threads live on, and each of their iterations is a request."""
    with concurrent.futures.ThreadPoolExecutor(3) as pool:
        for _ in range(STEPS):
            pool.submit(request).result()


# ---- Calls that not all iterations make ----

def log_now_and_then(i):
    if i % 10 == 0:
        cuda.cudaDeviceSynchronize()


def logged():
    """All calls but those of the log are made at one place, and the log is called each time."""
    for i in range(STEPS):  # step
        request()
        log_now_and_then(i)


def logged_late():
    for i in range(2 * STEPS):  # step
        if i >= STEPS:
            request()
            log_now_and_then(i)


def mapped_late():
    """A function in C calls again, in the iterations that make calls at all."""
    for i in range(2 * STEPS):  # step
        if i >= STEPS:
            list(map(clear, (8, 16, 24, 32)))
            upload()
            read()


# ---- The last look ----

def batches(n):
    """Makes a call also after the last batch, as a loader does that gives memory back."""
    for _ in range(n):
        upload()
        yield
    cuda.cudaStreamQuery(None)


def last_look():
    for _ in range(2):
        for _ in batches(STEPS // 2):  # step
            model()
            read()


def last_look_then_more():
    for _ in range(3):
        for _ in batches(STEPS // 3):  # step
            model()
            read()
        clear(16)


def last_test():
    n = 0

    def is_busy():
        read()
        return n < STEPS

    while is_busy():  # step
        upload()
        model()
        n += 1
    clear(16)


# ---- Loops of built-in functions ----

class Part:
    def __radd__(self, _):
        clear()
        return 0


def all_at_first():
    """The step begins in a function; built-in functions call from one place of it each."""
    sum([Part()] * 3)
    list(map(clear, [16] * 4))
    max([1, 2, 3], key=lambda _: clear() or 1)


def built_ins_first():
    for _ in range(STEPS):  # step
        all_at_first()
        model()
        read()


def one_built_in_first():
    for _ in range(2):
        for _ in range(STEPS // 2):  # step
            sum([Part()] * 5)
            read()


def built_in_alone():
    """The loop has one place of calls; what shows its iterations is in the function."""
    def step():
        max([1, 2, 3], key=lambda _: clear() or 1)
        read()

    for _ in range(STEPS):  # step
        step()


def built_in_or_not():
    """One call in each iteration, and another one now and then: or max() calls several times."""
    for n in range(STEPS):  # step
        clear()
        log_now_and_then(n)


# ---- Time outside of loops ----

def after_a_short_loop():
    """The set-up takes long after its loop, not in it."""
    for _ in range(6):
        upload()
    time.sleep(0.5)
    for _ in range(STEPS):  # step
        upload()
        model()
        read()
        time.sleep(0.001)


cuda.cudaMalloc(ctypes.byref(device), ctypes.c_size_t(BYTES))
globals()[sys.argv[1]]()
