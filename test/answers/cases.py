"""The keys: what each program does wrong, and on which line.

The comment PLANTED marks the line in the program's source.
"""
import dataclasses
import os

HERE = os.path.dirname(os.path.abspath(__file__))


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    verdicts: tuple  # the first is the key; the others are accepted, too
    # An unclear verdict must name these (in bound.between); others may be named, too.
    between: tuple = dataclasses.field(default=(), kw_only=True)
    # The list of the report whose first row must name the line: sync, advice, line, leak.
    row: str = ""
    # The figure that must equal what the fix saves: recoverable (without the wait), line (without
    # the line), advice.
    gain: str = ""
    folder: str = "programs"
    kernel_us: int = 0  # duration of each kernel, in PyTorch on the simulated GPU
    # Width of the model's layers on a real GPU, so that its work takes as long as the host's.
    width: int = 256
    environment: tuple = ()  # on the simulated GPU
    gpu_environment: tuple = ()  # on a real GPU

    @property
    def is_torch(self):
        return self.name.startswith("torch_")

    @property
    def is_clean(self):
        return not self.row

    @property
    def source(self):
        for ending in (".py", ".cpp"):
            path = os.path.join(HERE, self.folder, self.name + ending)
            if os.path.exists(path):
                return path
        raise FileNotFoundError(self.name)

    def planted(self):
        """Returns the numbers of the planted lines. If the cause itself makes no CUDA call, the
        calls before and after it are marked, too."""
        with open(self.source) as file:
            return [number for number, text in enumerate(file, 1) if "PLANTED" in text]


SLOW_COPIES = (("PROFSIM_H2D_GBPS", "1"), ("PROFSIM_D2H_GBPS", "1"))

CASES = [
    # waits
    Case("explicit_sync", ("sync",), "sync", "line"),
    Case("read_per_layer", ("sync",), "sync", "line"),
    Case("two_syncs", ("sync",), "sync", "recoverable"),
    Case("second_thread", ("sync",), "sync", "line"),
    # Every third step waits: a GPU twice as fast saves 0.2 ms, no wait 0.3 ms.
    Case("log_copy", ("sync", "copy", "unclear"), "sync", "line", between=("gpu", "sync")),
    Case("engine", ("sync",), "sync", "line"),
    Case("copy_back", ("sync", "copy"), "sync", "line"),
    Case("pageable_copy", ("copy", "sync"), "sync", "recoverable",
         gpu_environment=(("BATCH_MIB", "16"),)),
    Case("malloc_per_step", ("memory",), "advice", "advice"),
    # waits that cost nothing
    Case("sync_busy", ("gpu",), "", "recoverable"),
    Case("sync_idle", ("host",), "", "recoverable"),
    # the host
    Case("slow_input", ("input",), "advice", "advice"),
    Case("slow_disk", ("input",), "advice", "advice"),
    Case("host_compute", ("host",), "advice", "advice"),
    Case("small_kernels", ("launch",), "advice"),
    Case("tiny_kernels", ("launch",), "advice", "advice"),
    # the device
    Case("long_kernel", ("gpu",), "line"),
    Case("matrix", ("gpu",), "line"),
    Case("one_stream", ("gpu",), "line"),
    Case("default_stream", ("gpu",), "line"),
    Case("copy_bound", ("copy",), "advice", environment=SLOW_COPIES),
    Case("wrong_event", ("copy", "gpu", "unclear"), "advice", "advice", environment=SLOW_COPIES),
    Case("leak", ("gpu",), "leak"),
    Case("mix", ("unclear",), "advice", between=("input", "sync")),
    # nothing wrong
    Case("clean_gpu", ("gpu",)),
    Case("clean_prefetch", ("gpu",)),
    Case("clean_streams", ("gpu",)),
    Case("clean_graph", ("gpu",)),
    # PyTorch
    Case("torch_item", ("sync",), "sync", "line", kernel_us=60, width=8192),
    Case("torch_item_layer", ("sync",), "sync", "line", kernel_us=40, width=6144),
    Case("torch_synchronize", ("sync",), "sync", "line", kernel_us=60, width=3072),
    Case("torch_log", ("sync",), "sync", "line", kernel_us=90, width=8192),
    Case("torch_nonzero", ("sync",), "sync", "line", kernel_us=40, width=6144),
    Case("torch_hook", ("sync",), "sync", "line", kernel_us=40, width=6144),
    Case("torch_pageable", ("copy", "sync"), "sync", "recoverable", kernel_us=60, width=6144),
    Case("torch_loader", ("input",), "advice", "advice", kernel_us=20),
    Case("torch_metric", ("host",), "advice", "advice", kernel_us=30),
    Case("torch_small_ops", ("launch",), "advice", kernel_us=2),
    Case("torch_retry", ("memory",), "advice", "advice", kernel_us=60, width=8192),
    Case("torch_empty_cache", ("memory",), "advice", "advice", kernel_us=60),
    Case("torch_clean", ("gpu",), kernel_us=120, width=11264),
    Case("torch_clean_loader", ("gpu",), kernel_us=120, width=11264),
    # the second set: other programs of the same kinds
    Case("polling", ("sync", "host"), "advice", "advice", folder="unseen"),
    Case("accumulate", ("sync", "copy"), "sync", "line", folder="unseen"),
    Case("layers", ("sync",), "sync", "line", folder="unseen"),
    Case("generators", ("input",), "advice", "advice", folder="unseen"),
    Case("starved", ("input",), "advice", "advice", folder="unseen"),
    Case("copy_out", ("copy",), "advice", folder="unseen", environment=SLOW_COPIES),
    # The memory costs 0.6 ms. Filling it with a batch takes nearly as long, 0.5 ms.
    Case("pinned_per_step", ("memory", "unclear"), "advice", "advice", folder="unseen",
         between=("input", "memory")),
    Case("clean_waits", ("gpu",), folder="unseen"),
    Case("torch_tolist", ("sync",), "sync", "line", folder="unseen", kernel_us=60, width=4096),
    Case("torch_branch", ("sync",), "sync", "line", folder="unseen", kernel_us=40, width=6144),
    Case("torch_numpy", ("sync", "copy"), "sync", "line", folder="unseen", kernel_us=60,
         width=8192),
    Case("torch_clip", ("sync",), "sync", "recoverable", folder="unseen", kernel_us=60, width=6144),
    Case("torch_collate", ("input",), "advice", "advice", folder="unseen", kernel_us=20),
    Case("torch_norms", ("sync",), "sync", "recoverable", folder="unseen", kernel_us=60,
         width=4096),
    Case("torch_score", ("sync", "copy"), "sync", "line", folder="unseen", kernel_us=60,
         width=4096),
    Case("torch_between", ("host",), "advice", "advice", folder="unseen", kernel_us=30),
    Case("torch_clean_accumulate", ("gpu",), folder="unseen", kernel_us=120, width=11264),
]
