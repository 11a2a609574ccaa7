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

    def collective(self, name, ts, start, end, group="0", ranks="[0, 1]", seq=None, nelems=1 << 20,
                   tid=PID, **args):
        """A collective as PyTorch's ProcessGroupNCCL records it, with its arguments on the operator
        and on the kernel."""
        size = len(json.loads(ranks))
        facts = {"Collective name": name, "dtype": "Float", "In msg nelems": nelems,
                 "Out msg nelems": nelems, "Group size": size, "Process Group Name": group,
                 "Process Group Description": "default_pg", "Process Group Ranks": ranks,
                 "Rank": self.rank, **({} if seq is None else {"Seq": seq}), **args}
        facts = {key: value for key, value in facts.items() if value is not None}
        self.operator("record_param_comms", ts, 40, tid, **facts)
        self.operator("nccl:" + name, ts + 5, 30, tid)
        self.call("cudaLaunchKernelExC", ts + 10, 5, tid)
        self.gpu("kernel", f"ncclDevKernel_{name}(ncclDevKernelArgsStorage<4096ul>)", start,
                 end - start, grid=[8, 1, 1], block=[544, 1, 1], **facts)

    def skew(self, offset_us, drift):
        """Lets the clock of the trace be ahead by an offset, and by `drift` of the time."""
        for event in self.events:
            end = event["ts"] + event.get("dur", 0)
            event["ts"] += offset_us + drift * event["ts"]
            if "dur" in event:
                event["dur"] = end + offset_us + drift * end - event["ts"]

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


def job(n_ranks=2, n_steps=20, late_rank=1, late_us=3000, numbered=True, skews=None, hosts=None,
        **args):
    """Ranks that meet in two all-reduces per step of 10 ms, one of all ranks and one of pairs. One
    rank comes to the first one `late_us` later. `skews`: offset in us and drift of each rank's
    clock. `hosts`: their names."""
    job_ranks = json.dumps(list(range(n_ranks)))
    traces = []
    for rank in range(n_ranks):
        head = {"host_name": hosts[rank]} if hosts else {}
        t = Trace(rank=rank, **head)
        pair = rank // 2 * 2
        for i in range(n_steps):
            at, late = 1000 + 10000 * i, late_us
            t.step(i + 5, at, 10000)
            t.python("train.py(10): main", at, 10000)
            own = late if rank == late_rank else 0
            if own:
                t.python("train.py(33): augment", at + 20, own, CallFrom="train.py:14")
            t.operator("aten::mm", at + 50 + own, 30)
            t.launch("gemm", at + 60 + own, at + 80 + own, 500)
            t.python("train.py(20): reduce", at + 200 + own, 300, CallFrom="train.py:15")
            t.collective("allreduce", at + 210 + own, at + 600 + own, at + 1100 + late, "0",
                         job_ranks, 2 * i + 1 if numbered else None, **args)
            t.collective("allreduce", at + 310 + own, at + 1150 + late, at + 1250 + late,
                         str(1 + pair // 2), json.dumps([pair, pair + 1]),
                         7 * i + 3 if numbered else None, nelems=1 << 10, **args)
            t.item(at + 600 + late, at + 1400 + late)
        if skews:
            t.skew(*skews[rank])
        traces.append(t)
    return traces
