"""All that the tool prints is cleaned of escape sequences: it goes through export/print.h."""
import glob
import os
import re
import unittest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
PRINTS = re.compile(r"\b(v?printf|v?fprintf|fputs|puts|putchar|fputc|putc|perror|fwrite)\s*\(")
# The two that clean, and those that print the tool's own tables.
CLEANERS = {"print.c", "textout.c"}
HELP = {"command.c": {"printf", "putchar", "puts"}, "main.c": {"printf"}, "listing.c": {"printf"}}


class Prints(unittest.TestCase):
    def test_all_output_is_cleaned(self):
        found = []
        for path in sorted(glob.glob(os.path.join(ROOT, "export", "*.c"))):
            name = os.path.basename(path)
            with open(path, encoding="utf-8") as file:
                used = {match.group(1) for match in PRINTS.finditer(file.read())}
            if name not in CLEANERS:
                found += [f"{name}: {one}" for one in used - HELP.get(name, set())]
        self.assertEqual(found, [], "use export/print.h")
