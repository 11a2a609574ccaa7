"""Every row of hooks.def is called and recorded once, at the outermost layer, with its facts."""
import unittest

from harness import EVERYTHING, Case, hook_rows, prog

# The runtime looks up kernels in the driver outside of hooked calls, too (__cudaRegisterFunction,
# cudaGetKernel).
BY_ITSELF = {"cuModuleGetFunction", "cuLibraryGetKernel", "cuKernelGetFunction"}
PROGRAMS = ("every_driver", "every_runtime", "every_runtime12")


def expected_calls(out):
    """Yields the program's lines: symbol, whether it may fail, result, {key: expected value}."""
    for line in out.splitlines():
        symbol, status, *facts = line.split()
        yield symbol, status.startswith("?"), int(status.lstrip("?")), dict(fact.split("=", 1)
                                                                            for fact in facts)


class Rows(Case):
    def compare(self, journal, calls, expected):
        for at, (call, (symbol, may_fail, status, facts)) in enumerate(zip(calls, expected)):
            with self.subTest(row=symbol, call=at):
                self.assertEqual(call.name, symbol)
                self.assertEqual(call.status, status)
                if not may_fail:
                    self.assertEqual(status, 0, "the call itself failed")
                self.assertEqual(call.category, self.categories[symbol])
                self.assertLess(call.begin, call.end)
                self.check_facts(journal, call, facts)

    def check_facts(self, journal, call, facts):
        for key, value in facts.items():
            if key == "cat":
                self.assertEqual(call.category, value)
            elif key in ("grid", "block"):
                self.assertEqual(journal.launches[call.arg][key],
                                 tuple(int(n) for n in value.split(",")), key)
            elif key == "name":
                self.assertEqual(journal.launch_name(call), value)
            else:
                self.assertEqual(f"{call[key]:x}", value, f"{symbol_text(call)}: {key}")

    def test_every_row(self):
        self.categories = {symbol: category.lower() for symbol, _, category in hook_rows()}
        covered = set()
        for program in PROGRAMS:
            run = self.preloaded(prog(program), **EVERYTHING)
            self.assertEqual(run.status, 0, run.err)
            journal, expected = run.journal(), list(expected_calls(run.out))
            asked = {symbol for symbol, *_ in expected}
            calls = [c for c in journal.calls() if c.name in asked or c.name not in BY_ITSELF]
            self.assertEqual([c.name for c in calls], [symbol for symbol, *_ in expected], program)
            self.compare(journal, calls, expected)
            covered |= asked
        self.assertEqual(sorted(set(self.categories) - covered), [],
                         "rows of hooks.def that no program calls")

    def test_entry_points_and_categories_are_in_the_journal(self):
        journal = self.preloaded(prog("every_runtime12"), **EVERYTHING).journal()
        self.assertEqual({(h.name, h.door, h.category.upper()) for h in journal.hooks.values()},
                         set(hook_rows()))

    def test_get_proc_address_gives_the_wrapper_of_each_row(self):
        run = self.preloaded(prog("driver_rows"))
        self.assertEqual(run.status, 0, run.err)
        wanted = [f"{symbol} {symbol} libprofrun.so" for symbol, door, _ in hook_rows()
                  if door == "DRIVER"]
        self.assertEqual(sorted(run.out.splitlines()), sorted(wanted))


def symbol_text(call):
    return f"{call.name} (begin {call.begin})"


if __name__ == "__main__":
    unittest.main()
