"""The mechanical part of libprofsim_libs.so: what PyTorch imports of cuBLAS, cuDNN, NCCL, cuSOLVER,
cuSPARSE, cuSPARSELt, cuFFT and cuFile (exports/torch_*.txt) and libs_*.c does not define. A
function is one of a few kinds, determined from its name. Functions that fit no kind do nothing."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
LISTS = ("torch_cublas.txt", "torch_cudnn.txt", "torch_nccl.txt", "torch_cusolver.txt",
         "torch_cusparse.txt", "torch_cusparselt.txt", "torch_cufft.txt", "torch_cufile.txt")

# Descriptors and handles: made in the place that the first argument points at.
CREATES = re.compile(r"cudnn(Backend)?Create\w*Descriptor|cusolverDnCreate\w*"
                     r"|cusparseCreate(?!IdentityPermutation)\w*|cusparse\w+_createDescr")
DESTROYS = re.compile(r"cudnn(Backend)?Destroy\w*Descriptor|cusolverDnDestroy\w*|cusparseDestroy\w*"
                      r"|cusparse\w+_destroyDescr")
SETS_STREAM = re.compile(r"(cusolverDn|cusparse)SetStream")
QUIET = re.compile(r"cublas(Set|Get|Lt)\w+|cusolverDnXgesvdjSet\w+|cusparse(Csr|DnMat|SpMat)?Set\w+"
                   r"|cusparse\w+_zeroPivot")
COMPUTES = re.compile(r"(cublas|cusolverDn|cusparse)\w+"
                      r"|cudnn(Convolution(Forward|Backward|Bias)"
                      r"|BatchNormalization(Forward|Backward)"
                      r"|Pooling(For|Back)|RNN(Forward|Backward)|CTCLoss|SpatialTf)\w*")

# Queries of a buffer's size: (name, number of arguments before the place for the answer, its C
# type, how many such places follow, the answer). The answer counts bytes or elements; nothing is
# computed in the buffer. Only pointers and integers come before the places, so that each argument
# may be declared as a pointer.
ELEMENTS, BYTES = 4096, 16384
SIZES = [(re.compile(name), *row) for name, *row in (
    (r"cusolverDn[SDCZ](geqrf|getrf|potrf)_bufferSize", 5, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ]gesvd_bufferSize", 3, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ]gesvdaStridedBatched_bufferSize", 16, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ]gesvdjBatched_bufferSize", 11, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ]gesvdj_bufferSize", 12, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ](or|un)gqr_bufferSize", 7, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ](or|un)mqr_bufferSize", 11, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ](sy|he)ev(d|jBatched)_bufferSize", 7, "int", 1, ELEMENTS),
    (r"cusolverDn[SDCZ]sytrf_bufferSize", 4, "int", 1, ELEMENTS),
    (r"cusolverDnXgeev_bufferSize", 17, "size_t", 2, BYTES),
    (r"cusolverDnXgeqrf_bufferSize", 10, "size_t", 2, BYTES),
    (r"cusolverDnXpotrf_bufferSize", 8, "size_t", 2, BYTES),
    (r"cusolverDnX(syevBatched|syevd|sytrs)_bufferSize", 11, "size_t", 2, BYTES),
    (r"cusparse(SDDMM|SpMM|SpSM)_bufferSize", 10, "size_t", 1, BYTES),
    (r"cusparse(SpMV|SpSV)_bufferSize", 9, "size_t", 1, BYTES),
    (r"cusparse[SDCZ]bsrsm2_bufferSize", 13, "int", 1, BYTES),
    (r"cusparse[SDCZ]bsrsv2_bufferSize", 11, "int", 1, BYTES),
    (r"cusparse[SDCZ]csrgeam2_bufferSizeExt", 19, "size_t", 1, BYTES),
    (r"cusparseX(coo|csr)sort_bufferSizeExt", 6, "size_t", 1, BYTES))]

# What they say on the host of the arguments, by how many arguments stand before it.
HOST_INFO = [(re.compile(name), before)
             for name, before in ((r"cublas[SDCZ]geqrfBatched", 6),
                                  (r"cublas[SDCZ]gelsBatched", 9))]


def names(path):
    with open(os.path.join(HERE, "exports", path)) as f:
        return [line.strip() for line in f if line.strip()]


def written_out():
    done = set()
    for name in os.listdir(HERE):
        if name.startswith("libs_") and name.endswith(".c"):
            with open(os.path.join(HERE, name)) as f:
                text = f.read()
            done |= set(re.findall(r"^SIM_EXPORT [^(]*?(\w+)\(", text, re.M))
            done |= set(re.findall(r"^(?:GETTER|LIBS_CREATE|LIBS_MEMBER)\((\w+)", text, re.M))
            done |= set(re.findall(r"^LIBS_MEMBER\(\w+, (\w+)", text, re.M))
            for letter in re.findall(r"^GEMM\((\w)", text, re.M):
                done |= {"cublas%sgemm%s" % (letter, end)
                         for end in ("_v2", "Batched", "StridedBatched")}
    return done


def size_question(name):
    """(parameters, value) of a question for a size, or None."""
    for pattern, before, kind, places, answer in SIZES:
        if pattern.fullmatch(name):
            unused = ["a%d" % i for i in range(before)]
            out = ["out%d" % i for i in range(places)]
            parameters = ["void *" + a for a in unused] + ["%s *%s" % (kind, o) for o in out]
            value = ["(void)" + a for a in unused] + ["*%s = %d" % (o, answer) for o in out] + ["0"]
            return ", ".join(parameters), "(" + ", ".join(value) + ")"
    return None


def host_info(name):
    """Returns (parameters, value) of a function that computes and reports at once that its
    arguments are right, or None."""
    for pattern, before in HOST_INFO:
        if pattern.fullmatch(name):
            unused = ["a%d" % i for i in range(1, before)]
            parameters = ["void *handle"] + ["void *" + a for a in unused] + ["int *info"]
            value = (["(void)" + a for a in unused]
                     + ["*info = 0", 'libs_compute(handle, "%s")' % name])
            return ", ".join(parameters), "(" + ", ".join(value) + ")"
    return None


def stub(name):
    """(parameters, value) of a function that is not written out."""
    if CREATES.fullmatch(name):
        return "void **out", "libs_create(out)"
    if DESTROYS.fullmatch(name):
        return "void *object", "libs_destroy(object)"
    if SETS_STREAM.fullmatch(name):
        return "void *handle, void *stream", "libs_set_stream(handle, stream)"
    written = size_question(name) or host_info(name)
    if written:
        return written
    if COMPUTES.fullmatch(name) and not QUIET.fullmatch(name):
        return "void *handle", 'libs_compute(handle, "%s")' % re.sub(r"_v\d+$", "", name)
    return "void", 'libs_nothing("%s")' % name


def libraries():
    """The lines of libs_stubs.c."""
    done = written_out()
    out = ["/* Generated by test/sim/gen.py. */", '#include "test/sim/libs.h"', ""]
    for name in (name for path in LISTS for name in names(path) if name not in done):
        parameters, value = stub(name)
        out.append("SIM_EXPORT int %s(%s);" % (name, parameters))
        out.append("SIM_EXPORT int %s(%s)\n{\n\treturn %s;\n}\n" % (name, parameters, value))
    return out
