"""A small reader of Perfetto traces: the tests' oracle for what export/ writes.

It uses only the protobuf wire format and the field numbers of Perfetto's own .proto files.
test_traces.py opens traces in the real Perfetto.
"""
import gzip
import struct

from journal import Record


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4
MONOTONIC = 3  # number of the clock


def fields(data):
    """Yields (number, value) of a message: integers for varint and fixed types, else bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        kind = key & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "cut off"
        else:
            size = {1: 8, 5: 4}[kind]
            value, at = int.from_bytes(data[at:at + size], "little"), at + size
        yield key >> 3, value


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def message(data):
    """Returns a message as {number: [values]}."""
    found = {}
    for number, value in fields(data):
        found.setdefault(number, []).append(value)
    return found


class Sequence:
    def __init__(self):
        self.names, self.categories, self.arg_names, self.arg_texts = {}, {}, {}, {}
        self.clock, self.now, self.delta, self.track = None, 0, None, 0


class Trace:
    """Slices, instants, counters, tracks and flows of one trace; times in ns of CLOCK_MONOTONIC."""

    def __init__(self, path=None, data=None):
        if data is None:
            with gzip.open(path) as file:
                data = file.read()
        self.slices, self.instants, self.counters, self.tracks = [], [], [], {}
        self.flows_out, self.flows_in = [], []
        self.open, self.sequences, self.first = {}, {}, None
        for number, packet in fields(data):
            assert number == 1, "not a TracePacket"
            self._packet(message(packet))
        assert not any(self.open.values()), "slices without an end"

    def _packet(self, p):
        kind = next((number for number in (6, 11, 60) if number in p), None)
        self.first = self.first or kind
        sequence = self.sequences.setdefault(p.get(10, [0])[0], Sequence())
        if 13 in p and p[13][0] & 1:
            sequence.__init__()
        if 59 in p:
            defaults = message(p[59][0])
            sequence.clock = defaults.get(58, [None])[0]
            sequence.track = message(defaults.get(11, [b""])[0]).get(11, [0])[0]
        for snapshot in p.get(6, []):
            clocks = {c[1][0]: c for c in map(message, message(snapshot).get(1, []))}
            for number, clock in clocks.items():
                if number >= 64 and clock.get(3):
                    sequence.delta, sequence.now = number, clocks.get(MONOTONIC, clock)[2][0]
        for interned in p.get(12, []):
            self._intern(sequence, message(interned))
        for descriptor in map(message, p.get(60, [])):
            self._track(descriptor)
        for event in map(message, p.get(11, [])):
            self._event(sequence, p, event)

    def _intern(self, sequence, interned):
        for number, table in ((1, sequence.categories), (2, sequence.names),
                              (3, sequence.arg_names), (29, sequence.arg_texts)):
            for entry in map(message, interned.get(number, [])):
                table[entry[1][0]] = entry[2][0].decode(errors="replace")

    def _track(self, d):
        thread, process = message(d.get(4, [b""])[0]), message(d.get(3, [b""])[0])
        name = (d.get(2) or thread.get(5) or process.get(6) or [b""])[0].decode()
        self.tracks[d[1][0]] = Record(
            name=name, parent=d.get(5, [None])[0], tid=thread.get(2, [None])[0],
            pid=(process.get(1) or thread.get(1) or [None])[0], counter=8 in d)

    def _time(self, sequence, packet):
        value = packet[8][0]
        clock = packet.get(58, [sequence.clock])[0]
        if clock is not None and clock == sequence.delta:
            sequence.now += value
            return sequence.now
        return value

    def _event(self, sequence, packet, e):
        time, track, kind = self._time(sequence, packet), e.get(11, [sequence.track])[0], e[9][0]
        if kind == END:
            self.open[track].pop().end = time
            return
        if kind == COUNTER:
            self.counters.append(Record(track=track, time=time,
                                        value=struct.unpack("<q", struct.pack("<Q", e[30][0]))[0]))
            return
        name = e[23][0].decode() if 23 in e else sequence.names[e[10][0]]
        entry = Slice(name=name, track=track, time=time,
                      args=dict(map(lambda a: self._argument(sequence, a), e.get(4, []))))
        for number, flows in ((47, self.flows_out), (48, self.flows_in)):
            for flow in e.get(number, []):
                flows.append((flow, entry))
        if kind == BEGIN:
            self.open.setdefault(track, []).append(entry)
            self.slices.append(entry)
        else:
            self.instants.append(entry)

    def _argument(self, sequence, data):
        a = message(data)
        name = sequence.arg_names[a[1][0]]
        if 17 in a:
            return name, sequence.arg_texts[a[17][0]]
        if 6 in a:
            return name, a[6][0].decode()
        if 5 in a:
            return name, struct.unpack("<d", struct.pack("<Q", a[5][0]))[0]
        if 12 in a:
            return name, tuple(message(item)[3][0] for item in a[12])
        return name, a.get(3, a.get(7, [None]))[0]

    def on(self, word):
        """Returns the slices of the tracks with this word in their names."""
        return [s for s in self.slices if word in self.tracks[s.track].name]


class Slice:
    def __init__(self, name, track, time, args):
        self.name, self.track, self.time, self.args, self.end = name, track, time, args, None
