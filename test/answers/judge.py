"""Compares a report with a key. Nothing here runs a program."""
import dataclasses
import os
import re

NEAR = 0.20  # a predicted gain may differ from the measured one by this part
NOISE = 0.02  # or by this part of the step
STEPS_OFF = 1  # a first or last iteration that differs from the others need not be a step
ALARM = 0.03  # the report may promise a clean program at most this part of the step


@dataclasses.dataclass
class Outcome:
    name: str
    key: str  # the class that the key says
    said: str  # the report's class; the key's if the report's is accepted, too
    has_line: bool  # the key names a line
    steps_right: bool
    where: str = ""
    file_right: bool = False
    line_right: bool = False
    slow_ms: float = 0.0
    gain_ms: float = 0.0
    predicted_ms: float = None  # None: the key asks for none
    near: bool = False
    alarms: tuple = ()
    replay_pct: float = None
    problem: str = ""
    repeated: int = 0  # runs under profrun that were made again

    @property
    def verdict_right(self):
        return self.said == self.key

    @property
    def right(self):
        return not self.problem and self.verdict_right and self.steps_right and (
            self.line_right
            or not self.has_line) and (self.near or self.predicted_ms is None) and not self.alarms


def place(row):
    """Returns (file, line) of a row; advice has both in one text."""
    if "file" in row:
        return row["file"] or "", row.get("line") or 0
    found = re.match(r"(.*?):(\d+)(?:\D|$)", row.get("where") or "")
    return (found.group(1), int(found.group(2))) if found else (row.get("where") or "", 0)


def rows(process, kind):
    return {"sync": process.get("syncs"), "advice": process.get("advice"),
            "line": process.get("lines"),
            "gpu": sorted(process.get("lines") or [],
                          key=lambda row: -(row["gpu_ms_per_step"] or 0)),
            "leak": (process.get("memory") or {}).get("leaks")}[kind] or []


def same_file(one, other):
    return bool(one) and os.path.realpath(one) == os.path.realpath(other)


FIGURES = {  # of a key: list of the report, member
    "recoverable": ("sync", "recoverable_ms_per_step"),
    "line": ("sync", "line_ms_per_step"),
    "advice": ("advice", "expected_ms_per_step"),
}


KIT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kit.py")


def is_planted(process, row, file, lines):
    """Returns whether the row names a planted line. Work of the kit's spin() is that of the line
    that calls it: the report may name the line in spin() if its samples show the planted line among
    the callers."""
    if same_file(place(row)[0], KIT) and row.get("function") == "spin":
        spent = [host["total_ms_per_step"] for host in process.get("host") or []
                 if same_file(host["file"], file) and host["line"] in lines]
        in_spin = [host["self_ms_per_step"] for host in process.get("host") or []
                   if same_file(host["file"], KIT) and host["function"] == "spin"]
        return max(spent, default=0) > sum(in_spin) / 2 > 0
    return same_file(place(row)[0], file) and place(row)[1] in lines


def predicted(process, figure, file, lines):
    """Returns what the report promises for fixing a planted line: the maximum of its rows for the
    line, or 0 without one."""
    kind, member = FIGURES[figure]
    found = [row.get(member) or 0 for row in rows(process, kind)
             if is_planted(process, row, file, lines)]
    return max(found, default=0.0)


def alarms(process, step_ms):
    """Returns what the report of a clean program promises."""
    found = [f"{row['expected_ms_per_step']:.2f} ms: {row.get('what')}"
             for row in rows(process, "advice")
             if (row.get("expected_ms_per_step") or 0) >= ALARM * step_ms]
    return tuple(found + [f"{row['recoverable_ms_per_step']:.2f} ms: wait at "
                          f"{os.path.basename(place(row)[0])}:{place(row)[1]}"
                          for row in rows(process, "sync")
                          if (row.get("recoverable_ms_per_step") or 0) >= ALARM * step_ms])


def main_process(report):
    return max(report["processes"], key=lambda process: process["steps"]["count"])


def verdict_of(case, bound):
    """Returns the verdict; of an unclear one that does not name what the key requires, the list of
    what it names."""
    between = bound.get("between") or []
    if bound["verdict"] == "unclear" and not set(case.between) <= set(between):
        return "/".join(between)
    return bound["verdict"]


def judge(case, report, steps, slow_ms, fixed_ms, promised_ms=None):
    """Returns the Outcome. case: of cases.py; steps: the number of steps that the program ran;
    slow_ms, fixed_ms: per step, measured without profrun; promised_ms: the case's gain, if it is
    not in the report."""
    process = main_process(report)
    verdict, gain, lines = verdict_of(case, process["bound"]), slow_ms - fixed_ms, case.planted()
    outcome = Outcome(case.name, case.verdicts[0],
                      case.verdicts[0] if verdict in case.verdicts else verdict, bool(case.row),
                      abs(process["steps"]["count"] - steps) <= STEPS_OFF, slow_ms=slow_ms,
                      gain_ms=gain)
    outcome.replay_pct = (process.get("replay") or {}).get("error_pct")
    if case.row:
        top = rows(process, case.row)[:1]
        file, line = place(top[0]) if top else ("", 0)
        outcome.where = f"{os.path.basename(file)}:{line}" if top else "nothing"
        outcome.line_right = bool(top) and is_planted(process, top[0], case.source, lines)
        outcome.file_right = outcome.line_right or same_file(file, case.source)
    if case.gain:
        outcome.predicted_ms = (promised_ms if case.gain == "whatif" else
                                predicted(process, case.gain, case.source, lines))
        outcome.near = abs(outcome.predicted_ms - gain) <= max(NEAR * abs(gain), NOISE * slow_ms)
    if case.is_clean and not {"host", "launch"} & set(case.verdicts):
        outcome.alarms = alarms(process, slow_ms)
    return outcome


def f1(outcomes):
    """Returns the mean over the classes of the harmonic mean of precision and recall."""
    scores = []
    for name in {o.key for o in outcomes}:
        hits = sum(o.key == name == o.said for o in outcomes)
        scores.append(2 * hits / (sum(o.key == name for o in outcomes)
                                  + sum(o.said == name for o in outcomes)))
    return sum(scores) / len(scores) if scores else 0.0


def share(values):
    values = list(values)
    return sum(values) / len(values) if values else 1.0


GOALS = {"verdict_f1": 0.9, "line_exact": 0.95, "gain_near": 0.8, "steps_right": 0.95}


def summary(outcomes):
    replays = sorted(abs(o.replay_pct) for o in outcomes if o.replay_pct is not None)
    return {
        "programs": len(outcomes),
        "verdict_f1": f1(outcomes),
        "line_exact": share(o.line_right for o in outcomes if o.has_line),
        "steps_right": share(o.steps_right for o in outcomes),
        "false_alarms": sum(len(o.alarms) for o in outcomes),
        "gain_near": share(o.near for o in outcomes if o.predicted_ms is not None),
        "replay_error_pct_p50": replays[len(replays) // 2] if replays else None,
        "replay_error_pct_max": replays[-1] if replays else None,
        "runs_repeated": sum(o.repeated for o in outcomes),
        "without_report": sum(bool(o.problem) for o in outcomes),
    }


def missed(result):
    """Returns the goals that a summary misses, as texts."""
    found = [f"{name} {result[name]:.2f}, goal {goal}" for name, goal in GOALS.items()
             if result[name] < goal]
    found += [f"{name} {result[name]}, goal 0" for name in ("false_alarms", "without_report")
              if result[name]]
    return found
