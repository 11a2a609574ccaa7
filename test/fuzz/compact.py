#!/usr/bin/env python3
"""Writes a small copy of a journal, for the fuzzers' corpus: test/fuzz/compact.py JOURNAL COPY

A journal is sparse and has megabytes of unused room. The copy is a valid journal that has only the
used chunks, each as long as the longest of them, and the used part of the dictionary, without the
functions that were not called. It does not name the machine.
"""
import os
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "e2e"))

import journal as format_of_journals  # noqa: E402 (the path is set above)

LAYOUT_AT, LAYOUT = 16, struct.Struct("<2I5Q")  # chunk_bytes ... file_bytes of the header
DICTIONARY_USED_AT = format_of_journals.HEADER.size
CHUNK, CHUNK_ENTRY_BYTES = format_of_journals.CHUNK, format_of_journals.CHUNK_ENTRY_BYTES
LEAST_CHUNK_BYTES = 1024
INFO, HOOK = 1, 2  # kinds of dictionary records
HOST = b"host\0"


def rounded(value, to):
    return -(-value // to) * to


def nameless(record):
    """Overwrites the name of the machine, at the same length."""
    if not record[8:].startswith(HOST):
        return record
    begin = 8 + len(HOST)
    end = record.index(b"\0", begin)
    return record[:begin] + b"h" * (end - begin) + record[end:]


def small_dictionary(journal):
    out, data, at = b"", journal.data, journal.dictionary
    called = {struct.unpack_from("<H", data, r.at + 2)[0]
              for r in journal.records if r.kind == format_of_journals.CALL}
    while at < journal.dictionary + journal.dictionary_used:
        _, kind, size = struct.unpack_from("<HHI", data, at)
        record = data[at:at + size]
        if kind != HOOK or struct.unpack_from("<H", record, 8)[0] in called:
            out += nameless(record) if kind == INFO else record
        at += size
    return out


def compact(journal):
    data, small = journal.data, small_dictionary(journal)
    entries = [CHUNK.unpack_from(data, journal.directory + i * CHUNK_ENTRY_BYTES)
               for i in range(journal.n_chunks)]
    used = [i for i, entry in enumerate(entries) if entry[0]]
    chunk_bytes = max([LEAST_CHUNK_BYTES, *(entries[i][1] for i in used)])
    directory = rounded(journal.header_bytes, CHUNK_ENTRY_BYTES)
    dictionary = directory + len(used) * CHUNK_ENTRY_BYTES
    chunks = dictionary + len(small)
    out = bytearray(chunks + len(used) * chunk_bytes)
    out[:journal.header_bytes] = data[:journal.header_bytes]
    LAYOUT.pack_into(out, LAYOUT_AT, chunk_bytes, len(used), directory, dictionary, len(small),
                     chunks, len(out))
    struct.pack_into("<Q", out, DICTIONARY_USED_AT, len(small))
    out[dictionary:chunks] = small
    for place, i in enumerate(used):
        entry, to = journal.directory + i * CHUNK_ENTRY_BYTES, directory + place * CHUNK_ENTRY_BYTES
        out[to:to + CHUNK_ENTRY_BYTES] = data[entry:entry + CHUNK_ENTRY_BYTES]
        records, to = journal.chunks + i * journal.chunk_bytes, chunks + place * chunk_bytes
        out[to:to + entries[i][1]] = data[records:records + entries[i][1]]
    return bytes(out)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: test/fuzz/compact.py JOURNAL COPY")
    copy = compact(format_of_journals.Journal(sys.argv[1]))
    with open(sys.argv[2], "wb") as file:
        file.write(copy)


if __name__ == "__main__":
    main()
