"""Writes traces as torch.profiler does, with known content."""
import gzip
import json

PID, GPU_STREAM = 4242, 7
BACKWARD_TID = PID + 1
ENGINE = "autograd::engine::evaluate_function: "


class Trace:
    """Events of one rank. Times are microseconds."""

    def __init__(self, rank=0, device=0, **head):
        self.events, self.correlation, self.external = [], 0, 0
        self.rank, self.device = rank, device
        self.head = {"schemaVersion": 1,
                     "deviceProperties": [{"id": device, "name": "NVIDIA H100",
                                           "totalGlobalMem": 80 << 30, "computeMajor": 9,
                                           "computeMinor": 0, "numSms": 132}],
                     "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": 2},
                     "baseTimeNanoseconds": 1775078550000000000, **head}

    def span(self, cat, name, ts, dur, tid=PID, pid=PID, **args):
        event = {"ph": "X", "cat": cat, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur,
                 "args": args}
        self.events.append(event)
        return event

    def operator(self, name, ts, dur, tid=PID, **args):
        self.external += 1
        return self.span("cpu_op", name, ts, dur, tid, **{"External id": self.external, **args})

    def step(self, number, ts, dur):
        return self.span("user_annotation", f"ProfilerStep#{number}", ts, dur)

    def python(self, name, ts, dur, **args):
        return self.span("python_function", name, ts, dur, **args)

    def call(self, name, ts, dur, tid=PID):
        self.correlation += 1
        return self.span("cuda_runtime", name, ts, dur, tid, correlation=self.correlation)

    def gpu(self, cat, name, ts, dur, correlation=None, **args):
        """GPU work of the last call."""
        return self.span(cat, name, ts, dur, GPU_STREAM, self.device, device=self.device,
                         context=1, stream=GPU_STREAM,
                         correlation=correlation or self.correlation, **args)

    def launch(self, name, ts, start, dur, tid=PID):
        self.call("cudaLaunchKernel", ts, 5, tid)
        self.gpu("kernel", name, start, dur, grid=[8, 1, 1], block=[128, 1, 1],
                 **{"registers per thread": 32, "shared memory": 0})

    def memory(self, ts, address, size, allocated=None, tid=PID):
        """A block of the GPU's memory; a negative size frees it."""
        totals = {"Total Allocated": allocated, "Total Reserved": 1 << 20}
        event = {"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": PID,
                 "tid": tid, "ts": ts,
                 "args": {"Device Type": 1, "Device Id": self.device, "Addr": address,
                          "Bytes": size, **(totals if allocated is not None else {})}}
        self.events.append(event)

    def item(self, ts, until):
        """loss.item(): a copy to the host, and the wait for it, until a time."""
        self.call("cudaMemcpyAsync", ts, 4)
        self.gpu("gpu_memcpy", "Memcpy DtoH (Device -> Pageable)", until - 3, 2, bytes=4)
        self.call("cudaStreamSynchronize", ts + 5, until - ts - 5)

    def text(self):
        return json.dumps({**self.head, "traceEvents": self.events, "traceName": "t"})

    def write(self, path):
        opened = gzip.open(path, "wt") if path.endswith(".gz") else open(path, "w",
                                                                         encoding="utf-8")
        with opened as file:
            file.write(self.text())
        return path


def training(n_steps=4, stacks=True, load_us=3000, step_us=10000, **head):
    """Steps of 10 ms, or of `step_us`: a batch is loaded, then two kernels of 2 ms forward, one of
    1 ms backward on the engine's thread, one of 100 us in the optimizer, and loss.item() waits for
    the GPU."""
    t = Trace(**head)
    for i in range(n_steps):
        at = 1000 + step_us * i
        t.step(i + 5, at, step_us)
        if stacks:
            t.python("train.py(10): main", at, step_us)
        if load_us:
            t.span("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__",
                   at + 10, load_us)
        begin = at + 100 + load_us
        if stacks:
            t.python("nn.Module: Net_0", begin, 300, CallFrom="train.py:14")
            t.python("nn.Module: Linear_0", begin + 10, 100)
        t.operator("aten::linear", begin + 20, 80)
        t.operator("aten::addmm", begin + 25, 70)
        t.launch("gemm", begin + 30, begin + 50, 2000)
        t.operator("aten::relu", begin + 150, 50)
        t.launch("relu", begin + 160, begin + 2050, 2000)
        t.operator(ENGINE + "AddmmBackward0", begin + 500, 100, BACKWARD_TID)
        t.operator("AddmmBackward0", begin + 510, 80, BACKWARD_TID)
        t.operator("aten::mm", begin + 520, 60, BACKWARD_TID)
        t.launch("gemm_backward", begin + 530, begin + 4050, 1000, BACKWARD_TID)
        t.span("user_annotation", "Optimizer.step#SGD.step", begin + 700, 200)
        t.operator("aten::_foreach_add_", begin + 710, 100)
        t.launch("multi_tensor_apply", begin + 720, begin + 5050, 100)
        if stacks:
            t.python("train.py(30): log_loss", begin + 1000, 4500, CallFrom="train.py:20")
        t.operator("aten::item", begin + 1010, 4400)
        t.operator("aten::_local_scalar_dense", begin + 1015, 4390)
        t.item(begin + 1020, begin + 5400)
    return t
