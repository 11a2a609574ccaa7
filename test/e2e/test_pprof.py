"""pprof profiles, decoded from the wire format: they hold what the folded stacks hold."""
import collections
import glob
import gzip
import json
import os

from harness import KEEPS_UP, Case, script, unsanitized
from trace import fields, message

SETTINGS = {"PROF_OPENING": "off",
            "PROF_SCHEDULE": "skip_first=20,wait=0,warmup=0,active=4,repeat=1"}
WORDS = {"host": "CPU", "blocked": "blocked", "gpu": "GPU"}


class Profile:
    """types: (type, unit); samples: ([(function, file, line)], values), outermost frame first."""

    def __init__(self, path):
        with gzip.open(path) as file:
            data = file.read()
        found = collections.defaultdict(list)
        for number, value in fields(data):
            found[number].append(value)
        self.strings = [text.decode() for text in found[6]]
        self.types = [tuple(self.strings[message(t)[n][0]] for n in (1, 2)) for t in found[1]]
        functions = {f[1][0]: (self.strings[f[2][0]], self.strings[f[4][0]])
                     for f in map(message, found[5])}
        locations = {}
        for location in map(message, found[4]):
            (line,) = map(message, location[4])
            locations[location[1][0]] = (*functions[line[1][0]], line[2][0])
        self.samples = [([locations[i] for i in reversed(s[1])], s[2])
                        for s in map(message, found[2])]
        self.time_ns, self.duration_ns = found[9][0], found[10][0]
        self.default = self.strings[found[14][0]]

    def folded(self):
        """Returns {line of a folded file without its number: ns}."""
        lines = collections.Counter()
        for frames, values in self.samples:
            words = [f"{function} ({os.path.basename(file)}:{line})" if line else function
                     for function, file, line in frames if function != "[unknown]"]
            for (kind, _), value in zip(self.types, values):
                if value and kind in WORDS:
                    lines[";".join([WORDS[kind], *(w.replace(";", ",") for w in words)])] += value
        return lines


@unsanitized(KEEPS_UP)
class Pprof(Case):
    def exported(self, options=()):
        run = self.profiled_on_schedule(script("demo.py"), **SETTINGS)
        into = self.folder()
        made = self.tool("export", run.folder, "--format", "pprof,folded", *options, "-o", into)
        self.assertEqual(made.status, 0, made.err)
        return run, {os.path.basename(path): path for path in glob.glob(f"{into}/*/*")}

    def check_folded(self, profile, path):
        with open(path) as file:
            lines = dict(line.rstrip("\n").rsplit(" ", 1) for line in file)
        ours = {line: ns for line, ns in profile.folded().items() if (ns + 500) // 1000}
        self.assertEqual({line: (ns + 500) // 1000 for line, ns in ours.items()},
                         {line: int(us) for line, us in lines.items()})

    def test_a_step_equals_its_folded_stacks(self):
        _, files = self.exported()
        self.assertEqual(len(files), 8)
        for step in range(20, 24):
            profile = Profile(files[f"step-{step}.pb.gz"])
            self.assertEqual(profile.strings[0], "")
            self.assertEqual(profile.types, [("host", "nanoseconds"), ("blocked", "nanoseconds"),
                                             ("gpu", "nanoseconds"), ("allocated", "bytes")])
            self.assertEqual(profile.default, "gpu")
            for _, values in profile.samples:
                self.assertEqual(len(values), 4)
                self.assertTrue(any(values))
            self.check_folded(profile, files[f"step-{step}.folded"])

    def test_several_steps(self):
        run, files = self.exported(("--steps", "20-23"))
        profile = Profile(files["steps-20-23.pb.gz"])
        self.check_folded(profile, files["steps-20-23.folded"])
        report = json.loads(self.tool("report", "--json", run.folder).out)["processes"][0]
        kernels_ns = sum(k["gpu_ms_per_step"] for k in report["kernels"]) * 4e6
        names = {k["name"] for k in report["kernels"]}
        gpu_ns = sum(values[2] for frames, values in profile.samples if frames[-1][0] in names)
        self.assertAlmostEqual(gpu_ns, kernels_ns, delta=1000)
        allocated = sum(values[3] for _, values in profile.samples)
        self.assertGreater(allocated, 0)
        lines = {frame[2] for frames, values in profile.samples if values[2]
                 for frame in frames if frame[1].endswith("demo.py")}
        self.assertTrue(lines)
