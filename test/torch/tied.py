"""Trains, with one NVTX range per step. With FILE, torch.profiler runs too, and its results are
written there as JSON.

usage: tied.py KIND                   KIND: a name of KINDS
       tied.py KIND truth FILE        adds steps with torch.profiler and anomaly mode
       tied.py KIND under FILE        the same steps, with the CPU half of torch.profiler

truth, for one step: {"operators": {name: [runs that launch, GPU us of their own]}, "lines": {line:
backward GPU us}, "backward_us"}. Anomaly mode notes for each autograd node the line that made it.
The node's launches lie in the profiler's event with its sequence number.
under: [{operator: [runs, CPU us]}], of each step.
"""
import collections
import json
import os
import re
import sys
import tempfile
import time

import torch
import torch.utils.checkpoint
from torch import nn
from torch.nn import functional as F
from torch.profiler import ProfilerActivity, profile, record_function

STEPS, SEEN, WIDTH = 30, 4, 64
STEP = "a step of the loop"
HERE = os.path.abspath(__file__)


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(6))
        self.scale = nn.Parameter(torch.ones(WIDTH))

    def forward(self, x):
        for layer in self.layers[:3]:
            x = torch.relu(layer(x))
        x = x * self.scale
        for layer in self.layers[3:]:
            x = layer(x)  # nothing in between: nodes of one kind in a row
        return x


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def attend(self, x):
        q, k, v = self.qkv(x).view(*x.shape[:2], 3, 4, WIDTH // 4).permute(2, 0, 3, 1, 4)
        scores = q @ k.transpose(-2, -1) / 4.0
        mixed = scores.softmax(-1) @ v
        mixed = mixed.transpose(1, 2).reshape(x.shape)
        return self.out(mixed)

    def forward(self, x):
        x = x + self.attend(self.before(x))
        hidden = F.gelu(self.up(self.between(x)))
        hidden = F.dropout(hidden, 0.1)
        return x + self.down(hidden)


class Transformer(nn.Module):
    def __init__(self, saves=None):
        super().__init__()
        self.words, self.places = nn.Embedding(100, WIDTH), nn.Parameter(torch.zeros(1, 8, WIDTH))
        self.blocks = nn.ModuleList(Block() for _ in range(3))
        self.saves = saves

    def forward(self, x):
        x = self.words(x) + self.places
        for block in self.blocks:
            if self.saves is None:
                x = block(x)
            else:
                x = torch.utils.checkpoint.checkpoint(block, x, use_reentrant=self.saves)
        return x.mean(1)


class Student(nn.Module):
    """A frozen teacher of the same layers, called behind the student."""

    def __init__(self):
        super().__init__()
        self.student, self.teacher = Mlp(), Mlp()

    def forward(self, x):
        taught = self.student(x)
        with torch.no_grad():
            teaching = self.teacher(x)
        return taught - teaching


class Adversary(nn.Module):
    """Layers that a second backward pass visits again, layers that no pass visits, and a function
    with a backward pass in Python."""

    def __init__(self):
        super().__init__()
        self.made, self.judge, self.other = (nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH),
                                             nn.Linear(WIDTH, WIDTH))

    def forward(self, x):
        made = torch.tanh(self.made(x))
        judged = self.judge(made.detach())
        F.cross_entropy(judged, torch.zeros(len(x), dtype=torch.long, device="cuda")).backward()
        self.other(x)  # nobody asks for its gradient
        return Doubled.apply(self.judge(made))


class Doubled(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, gradient):
        return gradient * 2


class Outer(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return Doubled.apply(x) + 1

    @staticmethod
    def backward(ctx, gradient):
        return Doubled.apply(gradient).neg()


def a_function():
    class Cast(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float32)
        def forward(ctx, x):
            return x.exp()

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return gradient.sin()

    return Cast


class Functions(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.cast = (nn.Linear(WIDTH, WIDTH), nn.Linear(WIDTH, WIDTH),
                                              a_function())

    def forward(self, x):
        x = Doubled.apply(self.first(x))
        x = Outer.apply(x)
        return self.cast.apply(self.second(x))


def resnet():
    import torchvision
    return (torchvision.models.resnet18(num_classes=WIDTH).cuda(),
            lambda: torch.randn(2, 3, 64, 64, device="cuda"))


def words():
    return torch.zeros(4, 8, dtype=torch.long, device="cuda")


KINDS = {
    "mlp": lambda: (Mlp().cuda(), lambda: torch.randn(8, WIDTH, device="cuda")),
    "block": lambda: (Transformer().cuda(), words),
    "checkpoint": lambda: (Transformer(False).cuda(), words),
    "reentrant": lambda: (Transformer(True).cuda(), words),
    "accumulation": lambda: (Transformer().cuda(), words),
    "teacher": lambda: (Student().cuda(), lambda: torch.randn(8, WIDTH, device="cuda")),
    "two_passes": lambda: (Adversary().cuda(), lambda: torch.randn(8, WIDTH, device="cuda")),
    "functions": lambda: (Functions().cuda(), lambda: torch.randn(8, WIDTH, device="cuda")),
    "resnet18": resnet,
}


class Trainer:
    def __init__(self, kind):
        self.model, self.batch = KINDS[kind]()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.01)
        self.passes = 2 if kind == "accumulation" else 1
        self.made_by = {}  # sequence number -> line
        self.is_asked = False

    def look(self, loss):
        todo, seen = [loss.grad_fn], set()
        while todo:
            node = todo.pop()
            if node is None or node in seen:
                continue
            seen.add(node)
            todo += [f for f, _ in node.next_functions]
            if "AccumulateGrad" not in node.name():
                notes = "".join(node.metadata.get("traceback_", ()))
                lines = [int(n) for file, n in re.findall(r'File "(.*?)", line (\d+)', notes)
                         if os.path.abspath(file) == HERE]
                self.made_by[node._sequence_nr()] = lines[-1] if lines else 0

    def step(self):
        target = torch.zeros(self.batch().shape[0], dtype=torch.long, device="cuda")
        for _ in range(self.passes):
            out = self.model(self.batch())
            loss = F.cross_entropy(out, target)
            if self.is_asked:
                self.look(loss)
            loss.backward()
        self.optimizer.step()
        self.optimizer.zero_grad()


def nested(events):
    """Each event with those that it lies in, outermost first."""
    by_thread = collections.defaultdict(list)
    for e in events:
        by_thread[e["tid"]].append(e)
    for of_thread in by_thread.values():
        around = []
        for e in sorted(of_thread, key=lambda e: (e["ts"], -e["dur"])):
            while around and around[-1]["ts"] + around[-1]["dur"] <= e["ts"]:
                around.pop()
            yield e, list(around)
            around.append(e)


NODE = "autograd::engine::evaluate_function: "


def is_operator(e):
    return e.get("cat") == "cpu_op" and not e["name"].startswith("autograd::engine")


def truth(path, made_by):
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    gpu_us = collections.Counter()
    for e in events:
        if e.get("cat") in ("kernel", "gpu_memcpy", "gpu_memset"):
            gpu_us[e["args"]["correlation"]] += e["dur"]
    operators, launching, lines = (collections.defaultdict(lambda: [0, 0.0]), {},
                                   collections.Counter())
    last = None  # what adds gradients up has no number: it is of the node before
    on_host = [e for e in events if e.get("cat") in ("cpu_op", "cuda_runtime", "cuda_driver")]
    for e, around in nested(on_host):
        # a launch may be listed twice
        us = gpu_us.pop(e.get("args", {}).get("correlation"), 0) if e["cat"] != "cpu_op" else 0
        if not us:
            continue
        own = [o for o in around if is_operator(o)]
        # an overload that calls another one
        own = [o for k, o in enumerate(own) if not k or o["name"] != own[k - 1]["name"]]
        for o in own:
            launching[id(o)] = o
        if own:
            operators[own[-1]["name"]][1] += us / SEEN
        nodes = [o for o in around if o["name"].startswith(NODE)]
        if nodes and "AccumulateGrad" not in nodes[-1]["name"]:
            last = nodes[-1]["args"].get("Sequence number")
        number = last if nodes else None
        # what is computed again makes new nodes, with numbers of their own
        is_again = (any("Sequence number" in o["args"] for o in around[around.index(nodes[-1]) + 1:]
                        if o["name"].startswith("aten::")) if nodes else False)
        if number in made_by and not is_again:
            lines[made_by[number]] += us / SEEN
    for o in launching.values():
        operators[o["name"]][0] += 1 / SEEN
    return {"operators": operators, "lines": lines, "backward_us": sum(lines.values())}


def watched(trainer, path):
    trainer.is_asked = True
    anomalies = torch.autograd.set_detect_anomaly(True, check_nan=False)
    with anomalies, tempfile.NamedTemporaryFile(suffix=".json") as trace:
        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as profiler:
            for _ in range(SEEN):
                trainer.step()
            torch.cuda.synchronize()
        profiler.export_chrome_trace(trace.name)
        found = truth(trace.name, trainer.made_by)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


def loop(trainer):
    for _ in range(STEPS):
        torch.cuda.nvtx.range_push("step")
        with record_function(STEP):
            trainer.step()
        torch.cuda.nvtx.range_pop()
    torch.cuda.synchronize()


def host_times(path):
    with open(path, encoding="utf-8") as file:
        events = [e for e in json.load(file)["traceEvents"] if e.get("ph") == "X"]
    steps = sorted((e["ts"], e["ts"] + e["dur"], {}) for e in events if e["name"] == STEP)
    for e, around in nested([e for e in events if is_operator(e)]):
        if around and around[-1]["name"] == e["name"]:
            continue  # an overload that calls another one
        for begin, end, operators in steps:
            if begin <= e["ts"] < end:
                sums = operators.setdefault(e["name"], [0, 0.0])
                sums[0] += 1
                sums[1] += e["dur"]
    return [operators for _, _, operators in steps]


def as_under_profrun(trainer, path):
    with profile(activities=[ProfilerActivity.CPU]) as profiler:
        loop(trainer)
    with tempfile.NamedTemporaryFile(suffix=".json") as trace:
        profiler.export_chrome_trace(trace.name)
        found = host_times(trace.name)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(found, file)


def main():
    kind, *ask = sys.argv[1:]
    trainer = Trainer(kind)
    if "under" in ask:
        as_under_profrun(trainer, ask[1])
    else:
        loop(trainer)
    if "truth" in ask:
        watched(trainer, ask[1])
    # An autograd thread that still wants the interpreter when it shuts down ends the process by
    # SIGABRT.
    time.sleep(0.3)


if __name__ == "__main__":
    main()
