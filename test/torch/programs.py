"""What of PyTorch runs on the simulated GPU. Prints "ok NAME" or "not ok NAME: why" for each small
program.

usage: programs.py [NAME...]      exit status 1 if any failed
"""
import sys
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

DEVICE = "cuda"
cases = {}


def case(function):
    cases[function.__name__] = function
    return function


@case
def is_available():
    assert torch.cuda.is_available() and torch.cuda.device_count() >= 1
    assert torch.cuda.get_device_properties(0).major == 9


@case
def round_trip():
    host = torch.randn(1000, 77)
    assert torch.equal(host.to(DEVICE).cpu(), host)
    pinned = host.pin_memory()
    assert torch.equal(pinned.to(DEVICE, non_blocking=True).cpu(), host)


@case
def computed_is_zero():
    a = torch.ones(64, 64).to(DEVICE)
    assert not (a @ a).cpu().any()
    assert (a + a).sum().item() == 0


@case
def mlp_adam():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(DEVICE)
    optimizer = torch.optim.Adam(model.parameters())
    for _ in range(2):
        loss = F.cross_entropy(model(torch.randn(8, 64, device=DEVICE)),
                               torch.zeros(8, dtype=torch.long, device=DEVICE))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        loss.item()


@case
def adamw_fused():
    model = nn.Linear(64, 64).to(DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), fused=True)
    model(torch.randn(8, 64, device=DEVICE)).sum().backward()
    optimizer.step()


@case
def conv():
    model = nn.Conv2d(3, 16, 3, padding=1).to(DEVICE)
    model(torch.randn(2, 3, 32, 32, device=DEVICE)).sum().backward()


@case
def batch_norm():
    model = nn.BatchNorm2d(16).to(DEVICE)
    model(torch.randn(2, 16, 8, 8, device=DEVICE)).sum().backward()


@case
def convolutions_with_batch_norm():
    block = [nn.Conv2d(8, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)]
    model = nn.Sequential(nn.Conv2d(3, 8, 3), *block, nn.Flatten()).to(DEVICE)
    for _ in range(3):
        model(torch.randn(4, 3, 18, 18).pin_memory().to(DEVICE, non_blocking=True)).sum().backward()


@case
def transformer():
    model = nn.TransformerEncoderLayer(64, 4, batch_first=True).to(DEVICE)
    model(torch.randn(2, 10, 64, device=DEVICE)).sum().backward()


@case
def attention():
    q = torch.randn(2, 4, 16, 64, device=DEVICE, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q).sum().backward()


@case
def amp():
    model = nn.Linear(64, 64).to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler()
    with torch.autocast("cuda"):
        loss = model(torch.randn(8, 64, device=DEVICE)).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()


@case
def embedding():
    model = nn.Embedding(100, 32).to(DEVICE)
    model(torch.zeros(4, dtype=torch.long, device=DEVICE)).sum().backward()


@case
def nonzero():
    for _ in range(20):
        batch = torch.randn(64, 256).to(DEVICE)
        assert batch.nonzero().shape[0] == 0


@case
def print_tensor():
    str(torch.randn(10, device=DEVICE))


@case
def sort():
    torch.randn(1000, device=DEVICE).sort()


@case
def cuda_graph():
    graph = torch.cuda.CUDAGraph()
    x = torch.zeros(10, device=DEVICE)
    with torch.cuda.graph(graph):
        y = x + 1
        y = y * 2
    for _ in range(3):
        graph.replay()
    torch.cuda.synchronize()


@case
def make_graphed():
    model = nn.Linear(32, 32).to(DEVICE)
    sample = torch.randn(4, 32, device=DEVICE, requires_grad=True)
    graphed = torch.cuda.make_graphed_callables(model, (sample,))
    graphed(sample).sum().backward()


@case
def events():
    a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    a.record()
    x = torch.ones(10, device=DEVICE)
    for _ in range(50):
        x = x + 1
    b.record()
    torch.cuda.synchronize()
    assert a.elapsed_time(b) > 0.05


@case
def streams():
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x = torch.ones(3, device=DEVICE)
    torch.cuda.current_stream().wait_stream(stream)
    x.record_stream(torch.cuda.current_stream())
    stream.synchronize()
    assert stream.query()


@case
def data_loader_workers():
    from torch.utils.data import DataLoader, TensorDataset
    data = TensorDataset(torch.arange(128.0).reshape(32, 4))
    seen = [b.to(DEVICE, non_blocking=True).cpu() for b, in
            DataLoader(data, batch_size=8, num_workers=2, pin_memory=True)]
    assert torch.equal(torch.cat(seen), data.tensors[0])


@case
def out_of_memory():
    try:
        torch.empty(1 << 40, device=DEVICE)
    except torch.OutOfMemoryError:
        return
    raise AssertionError("no OutOfMemoryError")


@case
def memory_snapshot():
    torch.cuda.memory._record_memory_history()
    kept = torch.ones(10, device=DEVICE)
    assert kept.is_cuda and torch.cuda.memory_allocated() > 0
    assert torch.cuda.memory._snapshot()["segments"]
    torch.cuda.memory._record_memory_history(enabled=None)


@case
def profiler_cuda():
    import json
    from torch.profiler import ProfilerActivity, profile
    model = nn.Linear(64, 64).to(DEVICE)
    x = torch.randn(8, 64, device=DEVICE)
    model(x).relu().sum().item()
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as p:
        for _ in range(3):
            model(x).relu().sum().item()
    with tempfile.NamedTemporaryFile(suffix=".json") as f:
        p.export_chrome_trace(f.name)
        found = json.load(open(f.name))["traceEvents"]
    kernels = [e for e in found if e.get("cat") == "kernel"]
    launches = [e for e in found if e.get("cat") in ("cuda_runtime", "cuda_driver")
                and "aunchKernel" in e["name"]]
    assert len(kernels) == 9, (len(kernels), [k["name"] for k in kernels])
    assert ({k["args"]["correlation"] for k in kernels}
            <= {e["args"]["correlation"] for e in launches})
    assert all(5 < k["dur"] < 20 for k in kernels), [k["dur"] for k in kernels]
    assert [e for e in found if e.get("cat") == "gpu_memcpy"]
    arrows = [e for e in found if e.get("cat") == "ac2g"]
    assert len(arrows) >= 2 * len(kernels), len(arrows)


@case
def expandable_segments():
    import subprocess
    import os
    env = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF="expandable_segments:True")
    code = ("import torch; a = torch.randn(1000, 1000); b = a.to('cuda'); "
            "assert torch.equal(b.cpu(), a); del b; "
            "torch.cuda.empty_cache(); torch.ones(5 << 20, device='cuda')")
    subprocess.run([sys.executable, "-c", code], env=env, check=True)


def recurrent(layer, *state, inputs=None, **options):
    """Runs forward and backward. The output has the shape that PyTorch documents, which the
    weights' layout decides."""
    model = layer(32, 64, **options).to(DEVICE)
    out, _ = model(torch.randn(5, 2, 32, device=DEVICE) if inputs is None else inputs, *state)
    (out if torch.is_tensor(out) else out.data).sum().backward()
    assert all(p.grad is not None and p.grad.shape == p.shape for p in model.parameters())


@case
def lstm():
    recurrent(nn.LSTM)
    recurrent(nn.LSTM, num_layers=2, bidirectional=True, dropout=0.1)


@case
def lstm_with_projection():
    recurrent(nn.LSTM, proj_size=16)
    recurrent(nn.LSTM, proj_size=16, num_layers=2, bidirectional=True)


@case
def gru_and_rnn():
    recurrent(nn.GRU, num_layers=3)
    recurrent(nn.RNN, nonlinearity="relu")


@case
def packed_sequence():
    recurrent(nn.LSTM,
              inputs=nn.utils.rnn.pack_padded_sequence(torch.randn(5, 3, 32, device=DEVICE),
                                                       [5, 4, 2]))


@case
def convolutions():
    for layer, shape in ((nn.Conv1d, (2, 8, 20)), (nn.Conv2d, (2, 8, 9, 9)),
                         (nn.Conv3d, (2, 8, 9, 9, 9)), (nn.ConvTranspose2d, (2, 8, 9, 9))):
        x = torch.randn(shape, device=DEVICE, requires_grad=True)
        layer(8, 8, 3).to(DEVICE)(x).sum().backward()
        assert x.grad.shape == x.shape
    nn.Conv2d(8, 8, 3, groups=8).half().to(DEVICE)(torch.randn(2, 8, 9, 9, device=DEVICE)
                                                   .half()).sum().backward()


@case
def convolution_benchmark():
    torch.backends.cudnn.benchmark = True
    conv()
    torch.backends.cudnn.benchmark = False


@case
def attention_by_cudnn():
    q = torch.randn(2, 4, 64, 64, device=DEVICE, dtype=torch.half, requires_grad=True)
    F.scaled_dot_product_attention(q, q, q, is_causal=True).sum().backward()
    assert q.grad.shape == q.shape


@case
def ctc_loss():
    logits = torch.randn(50, 4, 20, device=DEVICE, requires_grad=True)
    lengths, targets = (torch.full((4,), 50, dtype=torch.int),
                        torch.randint(1, 20, (40,), dtype=torch.int))
    F.ctc_loss(logits.log_softmax(2), targets, lengths, torch.full((4,), 10, dtype=torch.int),
               reduction="sum").backward()


def square(*batch, n=8):
    return torch.randn(*batch, n, n, device=DEVICE)


@case
def linalg_solve():
    for batch in ((), (16,)):
        assert torch.linalg.solve(square(*batch), square(*batch)).shape == (*batch, 8, 8)
    torch.linalg.inv(square()), torch.linalg.det(square()), torch.linalg.lu(square())
    torch.linalg.lstsq(square(), square())
    torch.linalg.solve_triangular(square(), square(), upper=True)
    torch.linalg.ldl_factor(square())


@case
def linalg_cholesky():
    for batch in ((), (16,)):
        factor = torch.linalg.cholesky(square(*batch))
        assert torch.cholesky_solve(square(*batch), factor).shape == (*batch, 8, 8)
    torch.cholesky_inverse(square())


@case
def linalg_svd():
    for batch, n in (((), 8), ((16,), 8), ((), 600)):
        u, s, v = torch.linalg.svd(square(*batch, n=n))
        assert (u.shape, s.shape, v.shape) == ((*batch, n, n), (*batch, n), (*batch, n, n))
    torch.linalg.svdvals(square()), torch.linalg.pinv(square())


@case
def linalg_eigh():
    for batch, n in (((), 8), ((16,), 8), ((), 600)):
        values, vectors = torch.linalg.eigh(square(*batch, n=n))
        assert (values.shape, vectors.shape) == ((*batch, n), (*batch, n, n))


@case
def linalg_qr():
    torch.linalg.qr(square()), torch.ormqr(square(), square()[0], square())
    torch.linalg.householder_product(square(), square()[0])


@case
def sparse_products():
    coo, csr = torch.eye(8).to_sparse().to(DEVICE), torch.eye(8).to_sparse_csr().to(DEVICE)
    dense = torch.ones(8, 4, device=DEVICE, requires_grad=True)
    torch.sparse.mm(coo.requires_grad_(), dense).sum().backward()
    assert dense.grad.shape == (8, 4)
    assert ((csr @ dense.detach()).shape == (8, 4)
            and torch.mv(coo.detach(), torch.ones(8, device=DEVICE)).shape == (8,))
    torch.sparse.sampled_addmm(csr, dense.detach(), dense.detach().t())
    assert (csr @ csr).values().shape == (8,), "as many numbers as the denser factor"
    torch.eye(8).to_sparse_bsr((2, 2)).to(DEVICE) @ dense.detach()
    torch.triangular_solve(dense.detach(), csr)


@case
def fourier_transforms():
    assert torch.fft.irfft(torch.fft.rfft(torch.randn(4, 64, device=DEVICE))).shape == (4, 64)
    assert torch.fft.fftn(torch.randn(4, 16, 16, 16, device=DEVICE)).shape == (4, 16, 16, 16)
    torch.stft(torch.randn(1, 4000, device=DEVICE), 400,
               window=torch.hann_window(400, device=DEVICE), return_complex=True)


@case
def random_numbers():
    torch.rand(10, device=DEVICE), torch.randperm(10, device=DEVICE)
    torch.bernoulli(torch.zeros(10, device=DEVICE))
    F.dropout(torch.ones(10, device=DEVICE))


def main():
    failed = 0
    for name in sys.argv[1:] or cases:
        try:
            cases[name]()
            print("ok", name, flush=True)
        except Exception as error:
            failed += 1
            print("not ok %s: %s: %s" % (name, type(error).__name__,
                                         str(error).split("\n")[0][:300]), flush=True)
    sys.exit(failed != 0)


if __name__ == "__main__":
    main()
