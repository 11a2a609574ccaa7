"""Traces and report of a PyTorch training, rebuilt from its journal, including autograd's lines."""
import os

from sim_case import SimCase
from test_export import Export
from test_torch import HERE, SCHEDULE
from trace import Trace


class Exported(SimCase):
    exported, report, check_traces, check_report = (Export.exported, Export.report,
                                                    Export.check_traces, Export.check_report)

    def test_training_with_autograd(self):
        run = self.under_profrun([os.path.join(HERE, "train.py"), "--steps", "40"], SCHEDULE)
        self.assertEqual(run.status, 0, run.err)
        exported = self.exported(run.folder)
        self.check_traces(run.folder, exported)
        self.check_report(run.folder)
        # calls of autograd's threads carry the line of the forward pass they belong to
        for path in exported.values():
            lines = [s.args.get("line", "") for s in Trace(path).slices if "api" in s.args]
            self.assertGreater(sum(line.startswith("train.py") for line in lines), 0.9 * len(lines),
                               path)
