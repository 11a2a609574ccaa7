"""Decodes traces with Perfetto's own message descriptors, not with a decoder of profrun.

Runs in build/perfetto-venv, which has the package `perfetto` of PyPI. Each line of standard input
is a JSON list of paths of traces. The answer to it is a line with a JSON list of what is wrong.
"""
import gzip
import json
import sys
import zlib

from google.protobuf.message import DecodeError
from google.protobuf.unknown_fields import UnknownFieldSet
from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace

INTERNED = {"event_names": "name_iid", "event_categories": "category_iids"}


def visit(message):
    """Reads every field. Raises UnicodeError for a text that is not UTF-8."""
    if len(UnknownFieldSet(message)):
        raise DecodeError(f"unknown field in {message.DESCRIPTOR.name}")
    for field, value in message.ListFields():
        if field.type == field.TYPE_MESSAGE:
            for inner in value if field.is_repeated else [value]:
                visit(inner)
        elif field.type == field.TYPE_STRING:
            for text in value if field.is_repeated else [value]:
                if isinstance(text, bytes):  # protobuf's answer for text that is not UTF-8
                    text.decode()


def check_names(trace):
    """Returns the numbers of names that events use and that no packet before them defines."""
    known, unknown = set(), set()
    for packet in trace.packet:
        sequence = packet.trusted_packet_sequence_id
        for word, used in INTERNED.items():
            known |= {(sequence, word, row.iid) for row in getattr(packet.interned_data, word)}
            numbers = getattr(packet.track_event, used)
            for number in [numbers] if isinstance(numbers, int) else numbers:
                if number:
                    unknown |= {(sequence, word, number)} - known
    return unknown


def fault(path):
    """Returns what is wrong with a trace, or None."""
    try:
        with gzip.open(path) as file:
            trace = Trace.FromString(file.read())
        visit(trace)
    except (DecodeError, UnicodeError, EOFError, OSError, zlib.error) as error:
        return f"{path}: {type(error).__name__}: {error}"
    if not trace.packet:
        return f"{path}: no packet"
    unknown = check_names(trace)
    return f"{path}: undefined names {sorted(unknown)[:5]}" if unknown else None


def main():
    for line in sys.stdin:
        print(json.dumps([found for found in map(fault, json.loads(line)) if found]), flush=True)


if __name__ == "__main__":
    main()
