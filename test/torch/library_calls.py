"""Calls what PyTorch uses of NVIDIA's libraries apart from products and convolutions: torch.linalg,
of one matrix and of many; sparse matrices; semi-structured sparsity; transforms. Each call has an
NVTX range with its name within "sweep", on a stream of its own. Prints one line per call: its name,
the libraries that it should call (a regular expression) and the shapes of the results.

usage: library_calls.py SWEEPS
"""
import sys

import torch
from torch import linalg
from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured

N, MANY = 8, 16
# name -> (function, libraries); one of the libraries' kernels is launched; "" where PyTorch has
# kernels of its own
calls = {}
SOLVER, BLAS, SPARSE, SEMI, FOURIER, EITHER = ("cusolver", "cublas", "cusparse", "cusparselt",
                                               "cufft", "cusolver|cublas")


def call(name, libraries, function):
    assert name not in calls
    calls[name] = function, libraries


def square(*batch, n=N, dtype=torch.float32):
    return torch.ones(*batch, n, n, dtype=dtype, device="cuda")


def matrices(name, libraries, function, dtype=torch.float32):
    call(name, libraries, lambda: function(square(dtype=dtype)))
    call(name + " of many", libraries, lambda: function(square(MANY, dtype=dtype)))


def of_every_type():
    for dtype in (torch.float32, torch.float64, torch.complex64, torch.complex128):
        for name, libraries, function in (
                ("eig", "cusolverDnXgeev", linalg.eig),
                ("eigvals", "cusolverDnXgeev", linalg.eigvals), ("eigh", SOLVER, linalg.eigh),
                ("svd", SOLVER, linalg.svd),
                ("svd by gesvd", SOLVER, lambda a: linalg.svd(a, driver="gesvd")),
                ("svd by gesvdj", SOLVER, lambda a: linalg.svd(a, driver="gesvdj")),
                ("svd by gesvda", SOLVER, lambda a: linalg.svd(a, driver="gesvda")),
                ("qr", EITHER, linalg.qr),
                ("qr complete", EITHER, lambda a: linalg.qr(a, mode="complete")),
                ("lu", EITHER, linalg.lu),
                ("ldl_factor", SOLVER, linalg.ldl_factor), ("cholesky", SOLVER, linalg.cholesky),
                ("inv", EITHER, linalg.inv),
                ("solve", EITHER, lambda a: linalg.solve(a, a)),
                ("lstsq", EITHER, lambda a: linalg.lstsq(a, a)),
                ("det", EITHER, linalg.det), ("geqrf", EITHER, torch.geqrf)):
            matrices(f"{name} {str(dtype)[6:]}", libraries, function, dtype)


def of_one_type():
    for name in ("eigvalsh", "svdvals", "slogdet", "pinv", "matrix_rank", "cond"):
        matrices(name, EITHER, getattr(linalg, name))
    matrices("pinv of symmetric", SOLVER, lambda a: linalg.pinv(a, hermitian=True))
    matrices("matrix_power", EITHER, lambda a: linalg.matrix_power(a, -3))
    matrices("norm 2", SOLVER, lambda a: linalg.matrix_norm(a, 2))
    matrices("solve_triangular", BLAS, lambda a: linalg.solve_triangular(a, a, upper=True))
    matrices("lu_solve", EITHER, lambda a: linalg.lu_solve(*linalg.lu_factor(a), a))
    matrices("ldl_solve", SOLVER, lambda a: linalg.ldl_solve(*linalg.ldl_factor(a), a))
    matrices("cholesky_solve", EITHER, lambda a: torch.cholesky_solve(a, a))
    matrices("cholesky_inverse", EITHER, torch.cholesky_inverse)
    matrices("householder_product", SOLVER, lambda a: linalg.householder_product(a, a[..., 0]))
    matrices("ormqr", SOLVER, lambda a: torch.ormqr(a, a[..., 0], a))
    matrices("svd_lowrank", EITHER, torch.svd_lowrank)
    matrices("matrix_exp", "", linalg.matrix_exp)
    call("tensorinv", EITHER, lambda: linalg.tensorinv(square(), ind=1))
    call("tensorsolve", EITHER, lambda: linalg.tensorsolve(square(), square()[:, 0]))
    for name in ("eig", "eigh", "svd", "qr", "lu", "cholesky", "inv"):  # PyTorch chooses by size
        for n in (600, 2100):
            call(f"{name} of {n}", EITHER,
                 lambda name=name, n=n: getattr(linalg, name)(square(n=n)))


def diagonal(layout):
    eye = torch.eye(N)
    made = {"coo": eye.to_sparse, "csr": eye.to_sparse_csr, "csc": eye.to_sparse_csc,
            "bsr": lambda: eye.to_sparse_bsr((2, 2))}
    return made[layout]().cuda()


def dense(columns=4):
    return torch.ones(N, columns, device="cuda")


def sparse():
    for layout in ("coo", "csr", "csc"):
        call(f"{layout} times dense", SPARSE, lambda layout=layout: diagonal(layout) @ dense())
        call(f"{layout} times vector", SPARSE,
             lambda layout=layout: diagonal(layout) @ dense()[:, 0])
        call(f"{layout} times itself", SPARSE,
             lambda layout=layout: diagonal(layout) @ diagonal(layout))
    call("bsr times dense", "", lambda: diagonal("bsr") @ dense())
    call("bsr times vector", SPARSE, lambda: diagonal("bsr") @ dense()[:, 0])
    call("csr and csr", SPARSE, lambda: diagonal("csr") + diagonal("csr"))
    call("coo backward", SPARSE,
         lambda: torch.sparse.mm(diagonal("coo").requires_grad_(),
                                 dense().requires_grad_()).sum().backward())
    call("many coo times dense", SPARSE,
         lambda: torch.bmm(torch.eye(N).expand(3, N, N).to_sparse().cuda(),
                           dense().expand(3, N, 4)))
    call("sampled_addmm", SPARSE,
         lambda: torch.sparse.sampled_addmm(diagonal("csr"), dense(), dense().t()))
    for layout in ("csr", "bsr"):
        for columns in (1, 4):
            call(f"{layout} triangular {columns}", SPARSE,
                 lambda layout=layout, columns=columns: torch.triangular_solve(dense(columns),
                                                                               diagonal(layout)))


def two_of_four(dtype):
    return torch.tensor([0, 0, 1, 1]).tile((128, 32)).to(dtype).cuda()


def semi_structured():
    SparseSemiStructuredTensor._FORCE_CUTLASS = False  # of compute capability 8 alone
    for dtype in (torch.half, torch.bfloat16, torch.int8):
        name = str(dtype)[6:]
        call(f"cslt_compress {name}", SEMI,
             lambda dtype=dtype: torch._cslt_compress(two_of_four(dtype)))
        call(f"cslt_sparse_mm {name}", "sparse_gemm.*cusparselt",
             lambda dtype=dtype: torch._cslt_sparse_mm(torch._cslt_compress(two_of_four(dtype)),
                                                       two_of_four(dtype).t()))
        call(f"to_sparse_semi_structured {name}", "sparse_gemm.*cusparselt",
             lambda dtype=dtype: to_sparse_semi_structured(two_of_four(dtype)) @ two_of_four(dtype))
    call("cslt_sparse_mm_search", "sparse_gemm.*cusparselt",
         lambda: torch._cslt_sparse_mm_search(torch._cslt_compress(two_of_four(torch.half)),
                                              two_of_four(torch.half).t()))


def transforms():
    for name in ("fft", "rfft", "hfft", "fft2", "fftn", "ifft"):
        call(name, FOURIER, lambda name=name: getattr(torch.fft, name)(square()))


of_every_type(), of_one_type(), sparse(), semi_structured(), transforms()


def shapes(result):
    if isinstance(result, torch.Tensor):
        return str(tuple(result.shape))
    if isinstance(result, (tuple, list)):
        return " ".join(map(shapes, result))
    return str(result)


@torch.cuda.nvtx.range("sweep")
def sweep():
    found = {}
    for name, (function, _) in calls.items():
        with torch.cuda.nvtx.range(name):
            found[name] = shapes(function())
            torch.cuda.synchronize()
    return found


def main():
    with torch.cuda.stream(torch.cuda.Stream()):
        for _ in range(int(sys.argv[1])):
            found = sweep()
    for name, (_, libraries) in calls.items():
        print(name, libraries, found[name], sep="\t")


if __name__ == "__main__":
    main()
