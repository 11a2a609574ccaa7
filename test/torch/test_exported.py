"""A PyTorch training's traces and report, made again from its journal: autograd's lines included."""
import os

from sim_case import SimCase
from test_export import Export
from test_torch import HERE, SCHEDULE
from trace import Trace


class Exported(SimCase):
    exported, report = Export.exported, Export.report
    check_traces, check_report = Export.check_traces, Export.check_report

    def test_training_with_autograd(self):
        command = [os.path.join(HERE, "train.py"), "--steps", "40"]
        run = self.under_profrun(command, SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        exported = self.exported(run.folder)
        self.check_traces(run.folder, exported)
        self.check_report(run.folder)
        for path in exported.values():
            trace = Trace(path)
            autograd = [s.args.get("line", "") for s in trace.slices
                        if "api" in s.args and trace.tracks[s.track].name.startswith("pt_autograd")]
            with_line = sum(line.startswith("train.py") for line in autograd)
            self.assertGreater(with_line, len(autograd) / 2, path)
