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
    # The list of the report whose first row must name the line: sync, advice, line, gpu (lines by
    # GPU time), leak.
    row: str = ""
    # The figure that must equal what the fix saves: recoverable (without the wait), line (without
    # the line), advice, whatif (whatif --without with the line).
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

TIED = ("unclear", "sync", "gpu")  # equally true

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
    # what makes the batch is no data loader: it is CPU work
    Case("mix", ("unclear",), "advice", between=("host", "sync")),
    # CUDA graphs. The first line by GPU time is that of the captured work.
    Case("graph_extra_kernel", ("gpu",), "gpu", "whatif"),
    Case("graph_small_kernels", ("gpu",), "gpu", "whatif"),
    Case("graph_one_stream", ("gpu",), "gpu"),
    Case("graph_host_function", ("host",), "advice", "advice"),
    Case("graph_copy_out", ("copy",), "advice", "advice", environment=SLOW_COPIES,
         gpu_environment=(("COPY_KIB", "8192"),)),
    Case("graph_sync_each", ("sync", "gpu"), "sync", "line"),
    Case("graph_clean_decode", ("gpu",)),
    # nothing wrong
    Case("clean_gpu", ("gpu",)),
    Case("clean_prefetch", ("gpu",)),
    Case("clean_streams", ("gpu",)),
    Case("clean_graph", ("gpu",)),
    # PyTorch. In most of these programs the GPU is busy for two thirds of a step, so a GPU twice as
    # fast saves as much as the fix, or more. Measured with kernels of half the length, in ms per
    # step (the fix, the GPU): item 1.13, 1.09; log 1.06, 1.15; nonzero 1.09, 1.03; branch 1.18,
    # 1.42; clip 1.48, 1.24; numpy 1.11, 1.05; empty_cache 1.05, 0.99; pageable 1.13, 1.16; tolist
    # 1.12, 0.69; item_layer 0.98, 1.50; synchronize 0.26, 0.74; norms 0.35, 1.31; score 0.38, 1.17;
    # retry 0.21, 0.58. The line and the savings of the fix must be right in any case.
    Case("torch_item", TIED, "sync", "line", kernel_us=60, width=8192, between=("gpu", "sync")),
    Case("torch_item_layer", ("gpu", "unclear"), "sync", "line", kernel_us=40, width=6144,
         between=("gpu", "sync")),
    Case("torch_synchronize", ("gpu", "unclear"), "sync", "line", kernel_us=60, width=3072,
         between=("gpu", "sync")),
    Case("torch_log", TIED, "sync", "line", kernel_us=90, width=8192, between=("gpu", "sync")),
    Case("torch_nonzero", TIED, "sync", "line", kernel_us=40, width=6144, between=("gpu", "sync")),
    Case("torch_hook", ("gpu", "unclear"), "sync", "line", kernel_us=40, width=6144,
         between=("gpu", "sync")),
    Case("torch_pageable", ("unclear", "copy", "sync", "gpu"), "sync", "recoverable", kernel_us=60,
         width=6144, between=("copy",)),
    Case("torch_loader", ("input",), "advice", "advice", kernel_us=20),
    Case("torch_metric", ("host",), "advice", "advice", kernel_us=30),
    Case("torch_small_ops", ("launch",), "advice", kernel_us=2),
    Case("torch_retry", ("gpu", "unclear"), "advice", "advice", kernel_us=60, width=8192,
         between=("gpu", "memory")),
    Case("torch_empty_cache", ("unclear", "memory", "gpu"), "advice", "advice", kernel_us=60,
         between=("gpu", "memory")),
    Case("torch_clean", ("gpu",), kernel_us=120, width=11264),
    Case("torch_clean_loader", ("gpu",), kernel_us=120, width=11264),
    # the second set: other programs of the same kinds
    Case("polling", ("sync", "host"), "advice", "advice", folder="unseen"),
    Case("accumulate", ("sync", "copy"), "sync", "line", folder="unseen"),
    Case("layers", ("sync",), "sync", "line", folder="unseen"),
    Case("generators", ("input",), "advice", "advice", folder="unseen"),
    Case("starved", ("input",), "advice", "advice", folder="unseen"),
    # The verdict on typical steps has a low confidence, as they take a quarter of the time.
    Case("now_and_then", ("gpu",), "advice", "advice", folder="unseen"),
    Case("copy_out", ("copy",), "advice", folder="unseen", environment=SLOW_COPIES),
    # The memory costs 0.6 ms. Filling it with a batch takes nearly as long, 0.5 ms.
    Case("pinned_per_step", ("memory", "unclear"), "advice", "advice", folder="unseen",
         between=("input", "memory")),
    Case("clean_waits", ("gpu",), folder="unseen"),
    Case("torch_tolist", ("sync", "unclear"), "sync", "line", folder="unseen", kernel_us=60,
         width=4096, between=("sync",)),
    Case("torch_branch", TIED, "sync", "line", folder="unseen", kernel_us=40, width=6144,
         between=("gpu", "sync")),
    Case("torch_numpy", TIED, "sync", "line", folder="unseen", kernel_us=60,
         width=8192, between=("gpu", "sync")),
    Case("torch_clip", TIED, "sync", "recoverable", folder="unseen", kernel_us=60,
         width=6144, between=("gpu", "sync")),
    Case("torch_collate", ("input",), "advice", "advice", folder="unseen", kernel_us=20),
    Case("torch_norms", ("gpu", "unclear"), "sync", "recoverable", folder="unseen", kernel_us=60,
         width=4096, between=("gpu", "sync")),
    Case("torch_score", ("gpu", "unclear"), "sync", "line", folder="unseen", kernel_us=60,
         width=4096, between=("gpu", "sync")),
    Case("torch_between", ("host",), "advice", "advice", folder="unseen", kernel_us=30),
    Case("torch_clean_accumulate", ("gpu",), folder="unseen", kernel_us=120, width=11264),
]
