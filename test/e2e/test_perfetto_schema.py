"""The numbers in export/perfetto_schema.h against Perfetto's own message descriptors.

They come from the package `perfetto` of PyPI, which `scripts/setup perfetto` (part of `make test`)
installs into build/perfetto-venv.
"""
import json
import os
import re
import subprocess
import unittest

from harness import BUILD, ROOT

PYTHON = os.path.join(BUILD, "perfetto-venv", "bin", "python")
HEADER = os.path.join(ROOT, "export", "perfetto_schema.h")

# Reads names such as "TrackEvent.type" (a field) or "TrackEvent.Type.TYPE_INSTANT" (a value of an
# enum), prints their numbers.
LOOK_UP = """
import json, sys
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as trace
found = {}
for name in json.load(sys.stdin):
    *owners, member = name.split(".")
    at = trace
    for owner in owners:
        at = getattr(at, owner)
    fields = getattr(at.DESCRIPTOR, "fields_by_name", {})
    found[name] = fields[member].number if member in fields else at.Value(member)
print(json.dumps(found))
"""

# Perfetto's name of each number; several if messages share a number.
WORDS = {
    "TRACE_PACKET": "Trace.packet",
    "PACKET_CLOCK_SNAPSHOT": "TracePacket.clock_snapshot",
    "PACKET_TIMESTAMP": "TracePacket.timestamp",
    "PACKET_SEQUENCE_ID": "TracePacket.trusted_packet_sequence_id",
    "PACKET_TRACK_EVENT": "TracePacket.track_event",
    "PACKET_INTERNED_DATA": "TracePacket.interned_data",
    "PACKET_SEQUENCE_FLAGS": "TracePacket.sequence_flags",
    "PACKET_TIMESTAMP_CLOCK_ID": "TracePacket.timestamp_clock_id",
    "PACKET_DEFAULTS": "TracePacket.trace_packet_defaults",
    "PACKET_TRACK_DESCRIPTOR": "TracePacket.track_descriptor",
    "SEQUENCE_STATE_CLEARED": "TracePacket.SequenceFlags.SEQ_INCREMENTAL_STATE_CLEARED",
    "SEQUENCE_NEEDS_STATE": "TracePacket.SequenceFlags.SEQ_NEEDS_INCREMENTAL_STATE",
    "SNAPSHOT_CLOCKS": "ClockSnapshot.clocks",
    "SNAPSHOT_PRIMARY": "ClockSnapshot.primary_trace_clock",
    "CLOCK_ID": "ClockSnapshot.Clock.clock_id",
    "CLOCK_TIMESTAMP": "ClockSnapshot.Clock.timestamp",
    "CLOCK_IS_INCREMENTAL": "ClockSnapshot.Clock.is_incremental",
    "CLOCK_REALTIME_ID": "BuiltinClock.BUILTIN_CLOCK_REALTIME",
    "CLOCK_MONOTONIC_ID": "BuiltinClock.BUILTIN_CLOCK_MONOTONIC",
    "CLOCK_BOOTTIME_ID": "BuiltinClock.BUILTIN_CLOCK_BOOTTIME",
    "DEFAULTS_TRACK_EVENT": "TracePacketDefaults.track_event_defaults",
    "DEFAULTS_TIMESTAMP_CLOCK_ID": "TracePacketDefaults.timestamp_clock_id",
    "INTERNED_CATEGORIES": "InternedData.event_categories",
    "INTERNED_EVENT_NAMES": "InternedData.event_names",
    "INTERNED_ARG_NAMES": "InternedData.debug_annotation_names",
    "INTERNED_ARG_STRINGS": "InternedData.debug_annotation_string_values",
    "INTERNED_IID": (
        "EventCategory.iid",
        "EventName.iid",
        "DebugAnnotationName.iid",
        "InternedString.iid",
    ),
    "INTERNED_TEXT": (
        "EventCategory.name",
        "EventName.name",
        "DebugAnnotationName.name",
        "InternedString.str",
    ),
    "TRACK_UUID": "TrackDescriptor.uuid",
    "TRACK_NAME": "TrackDescriptor.name",
    "TRACK_PROCESS": "TrackDescriptor.process",
    "TRACK_THREAD": "TrackDescriptor.thread",
    "TRACK_PARENT": "TrackDescriptor.parent_uuid",
    "TRACK_COUNTER": "TrackDescriptor.counter",
    "TRACK_CHILD_ORDERING": "TrackDescriptor.child_ordering",
    "TRACK_ORDER_RANK": "TrackDescriptor.sibling_order_rank",
    "TRACK_DESCRIPTION": "TrackDescriptor.description",
    "TRACK_MERGE": "TrackDescriptor.sibling_merge_behavior",
    "ORDER_EXPLICIT": "TrackDescriptor.ChildTracksOrdering.EXPLICIT",
    "MERGE_NONE": "TrackDescriptor.SiblingMergeBehavior.SIBLING_MERGE_BEHAVIOR_NONE",
    "PROCESS_PID": "ProcessDescriptor.pid",
    "PROCESS_NAME": "ProcessDescriptor.process_name",
    "THREAD_PID": "ThreadDescriptor.pid",
    "THREAD_TID": "ThreadDescriptor.tid",
    "THREAD_NAME": "ThreadDescriptor.thread_name",
    "COUNTER_UNIT": "CounterDescriptor.unit",
    "COUNTER_UNIT_COUNT": "CounterDescriptor.Unit.UNIT_COUNT",
    "COUNTER_UNIT_BYTES": "CounterDescriptor.Unit.UNIT_SIZE_BYTES",
    "EVENT_CATEGORY_IIDS": "TrackEvent.category_iids",
    "EVENT_ARGS": "TrackEvent.debug_annotations",
    "EVENT_TYPE": "TrackEvent.type",
    "EVENT_NAME_IID": "TrackEvent.name_iid",
    "EVENT_TRACK_UUID": "TrackEvent.track_uuid",
    "EVENT_NAME": "TrackEvent.name",
    "EVENT_COUNTER_VALUE": "TrackEvent.counter_value",
    "EVENT_FLOW_IDS": "TrackEvent.flow_ids",
    "EVENT_FLOW_ENDS": "TrackEvent.terminating_flow_ids",
    "TYPE_BEGIN": "TrackEvent.Type.TYPE_SLICE_BEGIN",
    "TYPE_END": "TrackEvent.Type.TYPE_SLICE_END",
    "TYPE_INSTANT": "TrackEvent.Type.TYPE_INSTANT",
    "TYPE_COUNTER": "TrackEvent.Type.TYPE_COUNTER",
    "ARG_NAME_IID": "DebugAnnotation.name_iid",
    "ARG_UINT": "DebugAnnotation.uint_value",
    "ARG_DOUBLE": "DebugAnnotation.double_value",
    "ARG_STRING": "DebugAnnotation.string_value",
    "ARG_POINTER": "DebugAnnotation.pointer_value",
    "ARG_ARRAY": "DebugAnnotation.array_values",
    "ARG_STRING_IID": "DebugAnnotation.string_value_iid",
}
# a sequence chooses the numbers of its own clocks
OWN = {"CLOCK_DELTA_FIRST": range(64, 128), "CLOCK_DELTA_LAST": range(64, 128)}


def header_numbers():
    with open(HEADER) as file:
        enum = file.read().split("enum {")[1].split("};")[0]
    return {
        name: int(number) for name, number in re.findall(r"^\t(\w+) = (\d+),", enum, re.MULTILINE)
    }


def names_of(word):
    return (word,) if isinstance(word, str) else word


@unittest.skipUnless(
    os.path.exists(PYTHON),
    "the package perfetto is not here: `scripts/setup perfetto` fetches it from PyPI",
)
class Schema(unittest.TestCase):
    def test_every_number_is_checked(self):
        self.assertEqual(set(header_numbers()), set(WORDS) | set(OWN))

    def test_numbers_are_those_of_perfetto(self):
        wanted = [name for word in WORDS.values() for name in names_of(word)]
        found = json.loads(
            subprocess.run(
                [PYTHON, "-c", LOOK_UP],
                input=json.dumps(wanted),
                stdout=subprocess.PIPE,
                text=True,
                check=True,
            ).stdout
        )
        ours = {name: number for name, number in header_numbers().items() if name in WORDS}
        self.assertEqual(
            [
                f"{word} = {number}, but {name} = {found[name]}"
                for word, number in ours.items()
                for name in names_of(WORDS[word])
                if found[name] != number
            ],
            [],
        )
        for name, numbers in OWN.items():
            self.assertIn(header_numbers()[name], numbers)


if __name__ == "__main__":
    unittest.main()
