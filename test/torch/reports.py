"""What the report must say of each script: the keys of test_reports.py. Lines are those with the comment PLANTED in the script's source;
the answer-key suite's programs in PyTorch are used where they do what is asked for."""
import dataclasses
import os

HERE = os.path.dirname(os.path.abspath(__file__))
ANSWERS = os.path.join(os.path.dirname(HERE), "answers")
SCRIPTS = os.path.join(HERE, "scripts")
TRAINING = ("forward", "backward", "optimizer")


@dataclasses.dataclass(frozen=True)
class Key:
    script: str
    verdicts: tuple  # (): it is not about time
    kernel_us: int  # where the device must bind so much that it does with a fifth of a core for the host, too
    row: str = ""  # the list whose first row names the line: sync, advice
    kind: str = ""  # of that wait
    per_step: float = 0.0  # waits there
    phases: tuple = TRAINING
    parts: tuple = ()  # of phases, with time in them
    folder: str = SCRIPTS
    environment: tuple = ()
    copies: tuple = ()  # (kind, memory) that must be among the copies
    waits: bool = True  # for the GPU, before its queue is full: else its own clock sees launches alone
    why: str = ""  # what the first advice's reason begins with
    not_yet: tuple = ()  # what of this the report gets wrong so far; what is right here fails the test

    @property
    def name(self):
        return self.script[:-3] + "".join("_" + name.lower() for name, _ in self.environment)

    @property
    def path(self):
        return os.path.join(self.folder, self.script)

    def planted(self):
        with open(self.path, encoding="utf-8") as file:
            return [number for number, text in enumerate(file, 1) if "PLANTED" in text]


PROGRAMS, UNSEEN = os.path.join(ANSWERS, "programs"), os.path.join(ANSWERS, "unseen")

KEYS = [
    Key("torch_item_layer.py", ("sync", "gpu"), 100, "sync", "item", 10, folder=PROGRAMS),
    Key("torch_clean_accumulate.py", ("gpu",), 400, folder=UNSEEN),
    Key("torch_empty_cache.py", ("memory",), 60, "advice", folder=PROGRAMS),
    Key("torch_pageable.py", ("copy", "sync", "gpu"), 200, "sync", "copy", 1, folder=PROGRAMS, copies=(("HtoD", "Pageable -> Device"),)),
    Key("torch_pageable.py", ("gpu",), 800, folder=PROGRAMS, environment=(("FIXED", "1"),), waits=False, copies=(("HtoD", "Pinned -> Device"),)),
    Key("cnn_loader.py", ("input",), 10, "advice", phases=("data", *TRAINING)),
    Key("accelerate_loader.py", ("input",), 10, "advice", phases=("data", *TRAINING)),
    Key("amp_block.py", ("gpu",), 800, "sync", "item", 1, parts=("gradient scaler",)),
    Key("boolean_index.py", ("gpu", "sync"), 600, "sync", "item", 1),
    Key("sparse.py", ("gpu", "sync"), 600, "sync", "library", 4, phases=("other", *TRAINING), why="aten::_coalesce synchronizes"),
    Key("evaluation.py", ("sync", "gpu"), 800, "sync", "item", 0.8, parts=("evaluation",)),
    Key("print_loss.py", ("gpu", "sync"), 600, "sync", "item", 2, phases=("other", *TRAINING), parts=("printing",)),
    Key("graph_replay.py", ("gpu", "sync"), 200, "sync", "item", 1, phases=()),
    Key("two_optimizers.py", ("gpu", "sync"), 600, "sync", "item", 1, phases=("other", *TRAINING)),
    Key("leak.py", (), 200, "leak"),
]
