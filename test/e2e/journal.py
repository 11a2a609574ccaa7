"""A second reader of journals: the tests' oracle for core/source/journal/reader.c.

It was written from core/runtime/record.h and kinds.h alone. It reads whole files, trusts them, and
returns plain lists and dictionaries.
"""
import bisect
import mmap
import struct

CATEGORIES = ("launch graph memcpy memset prefetch hostfunc alloc free sync query event stream "
              "capture control profiler node").split()
GPU_WORK = {"launch", "graph", "memcpy", "memset", "prefetch"}
CAPTURED = {"launch", "graph", "memcpy", "memset", "hostfunc"}
WITH_SEQ = GPU_WORK | {"query"}  # their records hold seq and detail where others hold bytes
(CALL, STEP, DROPPED, GPU_STATE, EXTERNAL, API, KERNEL, MEMCPY, MEMSET, GPU_SYNC, OVERHEAD, POOL,
 RANGE, LIBRARY, BLOCK, MEMORY, SAMPLE, THREAD, CPU_WAIT, NODE, GRAPH) = range(1, 22)
GPU_KINDS = {KERNEL: "kernel", MEMCPY: "memcpy", MEMSET: "memset", GPU_SYNC: "sync"}
GPU_STATES = "off on flushed unavailable lost yielded on_but_copies dropped".split()
STEP_EVENTS = ("begin outside counted triggered numbered backup cut corrected opening_ended "
               "every").split()
RANGE_EVENTS = "push pop start end mark".split()
SAMPLE_STATES = "unknown running lock gil poll io sleep blocked child".split()
LIBRARIES = "nccl cublas cublasLt cudnn".split()
NODE_TYPES = "other kernel memcpy memset child".split()
GRAPH_EVENTS = ("made cloned gone instantiated updated exec_gone node_gone node_changed "
                "exec_changed").split()
BLOCK_EVENTS = "made freed known live oom".split()
HEADER = struct.Struct("<8s4I5Q4IQ2I6QQ")
CHUNK = struct.Struct("<4IQ")
CHUNK_ENTRY_BYTES = 64


class Record(dict):
    """A record whose fields are attributes, too."""

    __getattr__ = dict.__getitem__


class Journal:
    def __init__(self, path, header_only=False):
        with open(path, "rb") as file:
            # The file is sparse: read() would return 256 MiB of zeros.
            self.data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        self.hooks, self.strings, self.threads, self.info, self.launches = {}, {}, {}, {}, {}
        self.kernels, self.devices = {}, {}
        self.modules, self.codes, self.stacks, self.libraries = {}, {}, {}, {}
        self.records = []  # by thread, then in order; `slot` is the thread's
        self._read_header()
        if header_only:
            return
        self._read_dictionary()
        self._read_chunks()

    def _read_header(self):
        (magic, self.version, self.header_bytes, self.chunk_bytes, self.n_chunks, self.directory,
         self.dictionary, self.dictionary_bytes, self.chunks, self.file_bytes, call_bytes,
         gpu_bytes, self.pid, self.ppid, self.process_start, self.clock_kind, _, *points,
         self.ended_ticks) = HEADER.unpack_from(self.data)
        assert (magic == b"PROFRUN\n" and self.version == 4
                and (call_bytes, gpu_bytes) == (48, 64)), "not a journal"
        self.first_point, self.last_point = points[:3], points[3:]
        (self.dictionary_used, self.backed, self.collector, self.claims, self.dropped_records,
         self.dropped_dictionary) = struct.unpack_from("<QIIQQQ", self.data, HEADER.size)
        (self.anchor_generation, self.base_generation, self.anchor, self.base, self.calls_per_step,
         self.confidence, self.step_mode, self.step_state, self.current_step, self.schedule_shift,
         _, _, _, _, self.lost, _, _, self.backup, _, _, self.slices, _, self.sure_generation,
         self.void_generation, _, _, self.overdue_ticks, self.by_optimizer, _,
         self.looked_ticks) = struct.unpack_from("<IIQQIIIIQQIIQIIIIQIIIIIIIIQIIQ", self.data,
                                                 HEADER.size + 40)

    def ns_per_tick(self):
        (t0, m0, _), (t1, m1, _) = self.first_point, self.last_point
        return (m1 - m0) / (t1 - t0)

    def ns(self, ticks):
        """Converts ticks to ns of CLOCK_MONOTONIC. Only an orderly end writes the second clock
        point that this needs."""
        (t0, m0, _), (t1, m1, _) = self.first_point, self.last_point
        return m0 + (ticks - t0) * (m1 - m0) / (t1 - t0)

    def ticks(self, ns):
        """Converts ns of CLOCK_MONOTONIC to ticks: the inverse of ns()."""
        (t0, m0, _), (t1, m1, _) = self.first_point, self.last_point
        return t0 + (ns - m0) * (t1 - t0) / (m1 - m0)

    def _text(self, at):
        return self.data[at:self.data.find(b"\0", at)].decode(errors="replace")

    def _read_dictionary(self):
        at, end = self.dictionary, self.dictionary + self.dictionary_used
        while at < end:
            mark, kind, size = struct.unpack_from("<HHI", self.data, at)
            assert mark == 0xD1C7 and size >= 8, "torn dictionary"
            if kind == 1:
                key = self._text(at + 8)
                self.info[key] = self._text(at + 8 + len(key.encode()) + 1)
            elif kind == 2:
                number, category, door, space = struct.unpack_from("<HBBB", self.data, at + 8)
                self.hooks[number] = Record(name=self._text(at + 16), category=CATEGORIES[category],
                                            door=("RUNTIME", "DRIVER")[door], space=space)
            elif kind == 3:
                slot, tid, name, handle = struct.unpack_from("<II16sI", self.data, at + 8)
                self.threads[slot] = Record(tid=tid, name=name.split(b"\0")[0].decode(),
                                            handle=handle)
            elif kind == 4:
                self.strings[struct.unpack_from("<I", self.data, at + 8)[0]] = self._text(at + 12)
            elif kind == 5:
                token, function, name, gx, gy, gz, bx, by, bz, shared = struct.unpack_from(
                    "<QQ8I", self.data, at + 8)
                self.launches[token] = Record(function=function, name=name, grid=(gx, gy, gz),
                                              block=(bx, by, bz), shared=shared)
            elif kind == 6:
                number, name, bx, by, bz, registers = struct.unpack_from("<6I", self.data, at + 8)
                self.kernels[number] = Record(name=name, block=(bx, by, bz), registers=registers)
            elif kind == 7:
                number, units = struct.unpack_from("<II", self.data, at + 8)
                self.devices[number] = Record(multiprocessors=units, name=self._text(at + 32))
            elif kind == 8:
                number, id_bytes, build_id, base = struct.unpack_from("<II32sQ", self.data, at + 8)
                self.modules[number] = Record(build_id=build_id[:id_bytes].hex(), base=base,
                                              path=self._text(at + 72))
            elif kind == 9:
                number, file, name, line, lines, table_bytes, bytecode_bytes, python = (
                    struct.unpack_from("<8I", self.data, at + 8))
                end_of_table = at + 40 + table_bytes
                self.codes[number] = Record(
                    file=file, name=name, line=line, lines=lines, python=python,
                    table=self.data[at + 40:end_of_table],
                    bytecode=self.data[end_of_table:end_of_table + bytecode_bytes])
            elif kind == 10:
                number, base, shared, n, flags = struct.unpack_from("<IIHHI", self.data, at + 8)
                self.stacks[number] = Record(base=base, shared=shared, flags=flags,
                                             own=struct.unpack_from(f"<{n}Q", self.data, at + 24))
            elif kind == 11:
                number, family, facts = struct.unpack_from("<HBB", self.data, at + 8)
                self.libraries[number] = Record(name=self._text(at + 16), family=LIBRARIES[family],
                                                facts=facts)
            at += size

    def _read_chunks(self):
        rows = []
        for i in range(self.n_chunks):
            state, committed, thread, _, claim = CHUNK.unpack_from(
                self.data, self.directory + i * CHUNK_ENTRY_BYTES)
            if claim:
                rows.append((thread, claim, self.chunks + i * self.chunk_bytes, committed, state))
        self.chunk_states = [row[4] for row in rows]
        for thread, _, at, committed, _ in sorted(rows):
            end = at + committed
            while at < end:
                self.records.append(self._record(at, thread))
                at += self.data[at + 1] * 8

    def _record(self, at, slot):
        kind = self.data[at]
        r = Record(kind=kind, slot=slot, at=at)
        if kind == CALL:
            hook, stack, begin, packed, union, stream, arg = struct.unpack_from("<HI5Q", self.data,
                                                                                at + 2)
            duration = packed & (1 << 40) - 1
            duration = (duration & (1 << 39) - 1) << 12 if duration >> 39 else duration
            row = self.hooks[hook]
            r.update(name=row.name, category=row.category, door=row.door, begin=begin,
                     end=begin + duration, stack=stack, status=packed >> 40 & 0x3ff,
                     context=packed >> 50 & 0x3f,
                     device=packed >> 56, stream=stream, arg=arg, bytes=union,
                     seq=union & 0xffffffff, detail=union >> 32)
            r["is_captured"] = row.category in CAPTURED and bool(r.detail >> 31)
            r["detail"] &= 0x7fffffff if r.is_captured else 0xffffffff
        elif kind == STEP:
            event, action, generation, ticks, number, detail = struct.unpack_from("<BBIQQQ",
                                                                                  self.data, at + 2)
            r.update(event=STEP_EVENTS[event], action=action, generation=generation, ticks=ticks,
                     number=number, detail=detail)
        elif kind == DROPPED:
            lost, count, first, last = struct.unpack_from("<IQQQ", self.data, at + 4)
            r.update(lost=lost, count=count, first=first, last=last)
        elif kind == GPU_STATE:
            state, first_id, ticks, detail = struct.unpack_from("<HIQQ", self.data, at + 2)
            r.update(state=GPU_STATES[state], first_id=first_id, ticks=ticks, detail=detail)
        elif kind == EXTERNAL:
            correlation, seq, thread = struct.unpack_from("<III", self.data, at + 4)
            r.update(correlation=correlation, seq=seq, thread=thread)
        elif kind == API:
            driver, correlation, begin, end, tid, cbid = struct.unpack_from("<HIQQII", self.data,
                                                                            at + 2)
            r.update(driver=driver, correlation=correlation, begin=begin, end=end, tid=tid,
                     cbid=cbid)
        elif kind == SAMPLE:
            state, flags, stack, ticks, thread, system_call = struct.unpack_from(
                "<BBIQII", self.data, at + 2)
            r.update(state=SAMPLE_STATES[state], is_collecting=bool(flags & 1), stack=stack,
                     ticks=ticks, thread=thread, system_call=system_call)
        elif kind == NODE:
            (hook, stack, begin, ticks, local, graph, node, stream, arg, of, flags, device,
             copy) = struct.unpack_from("<HIQIIQQQQBBBB", self.data, at + 2)
            row = self.hooks[hook]
            r.update(name=row.name, category=row.category, stack=stack, begin=begin,
                     end=begin + ticks, local=local, graph=graph, node=node, stream=stream, arg=arg,
                     type=NODE_TYPES[of], is_exact=bool(flags & 1), device=device, copy=copy)
        elif kind == GRAPH:
            event, number, ticks, graph, of = struct.unpack_from("<HIQQQ", self.data, at + 2)
            r.update(event=GRAPH_EVENTS[event], id=number, ticks=ticks, graph=graph, of=of)
        elif kind == RANGE:
            event, name, ticks, number, domain, color = struct.unpack_from("<HIQQII", self.data,
                                                                           at + 2)
            r.update(event=RANGE_EVENTS[event], name=self.strings.get(name), ticks=ticks, id=number,
                     domain=self.strings.get(domain), color=color)
        elif kind == LIBRARY:
            function, status, of, compute, begin, end, stream = struct.unpack_from(
                "<HHBBQQQ", self.data, at + 2)
            row = self.libraries[function]
            r.update(name=row.name, family=row.family, status=status, type=of, begin=begin, end=end,
                     stream=stream)
            if row.facts == 1:
                r.update(zip("m n k batch shape".split(),
                             struct.unpack_from("<QQQII", self.data, at + 32)))
            elif row.facts in (2, 3):
                r.update(zip("count comm sequence peer rank ranks".split(),
                             struct.unpack_from("<QQIiHH", self.data, at + 32)))
        elif kind == BLOCK:
            event, device, stack, ticks, address, size, allocated, reserved = struct.unpack_from(
                "<BBIQQQQQ", self.data, at + 2)
            r.update(event=BLOCK_EVENTS[event], device=device, stack=stack, ticks=ticks,
                     address=address, bytes=size, allocated=allocated, reserved=reserved)
        elif kind == MEMORY:
            device, _, lost, ticks, allocated, reserved, peak, peak_reserved = struct.unpack_from(
                "<BBIQQQQQ", self.data, at + 2)
            r.update(device=device, lost=lost, ticks=ticks, allocated=allocated, reserved=reserved,
                     peak=peak, peak_reserved=peak_reserved)
        elif kind in GPU_KINDS:
            (device, flags, name, begin, end, correlation, stream, x, y, z, context, node, graph,
             peer) = struct.unpack_from("<BBIQQIIIIIIQII", self.data, at + 2)
            r.update(device=device, flags=flags, name=name, begin=begin, end=end,
                     correlation=correlation, stream=stream, grid=(x, y, z), bytes=x | y << 32,
                     extra=z, context=context, node=node, graph=graph, peer=peer,
                     work=GPU_KINDS[kind])
        return r

    def _words(self, stack):
        row = self.stacks[stack]
        return [*row.own, *(self._words(row.base)[-row.shared:] if row.shared else ())]

    def frames(self, stack):
        """Returns the stack's frames, innermost first: native ones with `module` (0: none) and
        `offset`, Python ones with `code` and `lasti`."""
        return [Record(kind="python", code=word >> 32 & 0x7fffffff, lasti=word & 0xffffffff)
                if word >> 63
                else Record(kind="native", module=word >> 48, offset=word & 0xffffffffffff)
                for word in self._words(stack)]

    def of(self, kind):
        return [r for r in self.records if r.kind == kind]

    def calls(self, slot=None):
        """Returns the hooked calls of one thread, or of all ordered by time."""
        found = [r for r in self.of(CALL) if slot in (None, r.slot)]
        return found if slot else sorted(found, key=lambda r: r.begin)

    def names(self):
        return [r.name for r in self.calls()]

    def gpu(self):
        return [r for r in self.records if r.kind in GPU_KINDS]

    def kernel_name(self, record):
        return self.strings[self.kernels[record.name].name]

    def launch_name(self, call):
        shape = self.launches.get(call.arg)
        return self.strings.get(shape.name) if shape else None

    def pairs(self):
        """Returns {correlation: the call that made the work}, from the pushed ids if there are any,
        else from CUPTI's own records of calls."""
        work = [r for r in self.of(CALL) if r.category in GPU_WORK]
        external = self.of(EXTERNAL)
        if external:
            by_seq = {(r.slot, r.seq): r for r in work}
            return {r.correlation: by_seq.get((r.thread, r.seq)) for r in external}
        slots = {t.handle: slot for slot, t in self.threads.items()}
        slots.update({t.tid: slot for slot, t in self.threads.items()})
        by_slot = {slot: sorted((c for c in work if c.slot == slot), key=lambda c: c.begin)
                   for slot in self.threads}
        begins = {slot: [c.begin for c in calls] for slot, calls in by_slot.items()}
        found = {}
        for api in self.of(API):
            slot = slots.get(api.tid)
            # The call around the record; for a library with its own runtime the driver call inside.
            at = bisect.bisect_right(begins.get(slot, []), api.begin) - 1
            near = by_slot.get(slot, [])[max(at, 0):at + 2]
            around = [c for c in near if c.begin <= api.begin and api.end <= c.end]
            within = [c for c in near if api.begin <= c.begin and c.end <= api.end]
            if around or within:
                found[api.correlation] = (around or within)[0]
        return found
