"""The mechanical part of libprofsim_libs.so: the functions of cuBLAS, cuDNN, NCCL, cuSOLVER,
cuSPARSE, cuSPARSELt, cuFFT, cuRAND and cuFile that libs_*.c does not define. exports/torch_*.txt
has those that PyTorch imports, the other lists the rest of what NVIDIA's headers declare. A
function is one of a few kinds, determined from its name. One that fits no kind names itself on
stderr; it reports success if PyTorch imports it, and else that it is not supported."""
import os
import re

HERE = os.path.dirname(os.path.abspath(__file__))
LISTS = ("torch_cublas.txt", "torch_cudnn.txt", "torch_nccl.txt", "torch_cusolver.txt",
         "torch_cusparse.txt", "torch_cusparselt.txt", "torch_cufft.txt", "torch_cufile.txt")
# The rest of the public functions, with each library's status for "not supported".
OTHERS = (("cublas.txt", 15), ("cublaslt.txt", 15), ("cusolver.txt", 9), ("cusparse.txt", 10),
          ("cufft.txt", 16), ("curand.txt", 203))

# Descriptors and handles: made in the place that the first argument points at.
CREATES = re.compile(r"cudnn(Backend)?Create\w*Descriptor|cusolverDnCreate\w*"
                     r"|cusparseCreate(?!IdentityPermutation)\w*|cusparse\w+_createDescr")
DESTROYS = re.compile(r"cudnn(Backend)?Destroy\w*Descriptor|cusolverDnDestroy\w*|cusparseDestroy\w*"
                      r"|cusparse\w+_destroyDescr")
SETS_STREAM = re.compile(r"(cusolverDn|cusparse)SetStream")
QUIET = re.compile(r"cublas(Set|Get|Lt)\w+|cusolverDnXgesvdjSet\w+|cusparse(Csr|DnMat|SpMat)?Set\w+"
                   r"|cusparse\w+_zeroPivot|cudnn(Set|Restore)\w+|cudnnBackendFinalize"
                   r"|nccl(RedOpDestroy|CommDeregister|CommWindowDeregister)")
COMPUTES = re.compile(r"(cublas|cusolverDn|cusparse)\w+"
                      r"|cudnn(Convolution(Forward|Backward|Bias)"
                      r"|BatchNormalization(Forward|Backward)"
                      r"|Pooling(For|Back)|RNN(Forward|Backward)|CTCLoss|SpatialTf)\w*")

# The same for the functions that PyTorch does not import. These have the handle first, as the
# others do, and no result on the host.
OTHER_CREATES = re.compile(r"curandCreateGenerator")
OTHER_DESTROYS = re.compile(r"curandDestroyGenerator")
OTHER_SETS_STREAM = re.compile(r"curandSetStream")
OTHER_QUIET = re.compile(r"curandSet\w+|cublasSet(AtomicsMode|SmCountTarget|MathMode)"
                         r"|cublasLtLogger\w+")
OTHER_COMPUTES = re.compile(
    r"curandGenerate(LongLong|Seeds|Poisson|(Uniform|Normal|LogNormal)(Double)?)?"
    r"|cublas(?!Set|Get)([SDCZ][a-z0-9]\w*_v2(_64)?|\w*(gemm|gemv|trsm|trmm|geam|dgmm)\w*)")

# cuBLAS functions that return a number: how many arguments stand before its place, how many bytes
# it has, and what it is for zeros.
NUMBERS = [(re.compile(name), *row) for name, *row in (
    (r"cublas(S|Sc)(nrm2|asum)_v2", 4, 4, 0),
    (r"cublas(D|Dz)(nrm2|asum)_v2", 4, 8, 0),
    (r"cublasSdot_v2", 6, 4, 0),
    (r"cublas(Ddot|Cdot[uc])_v2", 6, 8, 0),
    (r"cublasZdot[uc]_v2", 6, 16, 0),
    (r"cublasI[sdcz]am(ax|in)_v2", 4, 4, 1))]

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
            done |= set(re.findall(r"^(?:GETTER|LIBS_CREATE|LIBS_MEMBER|FUNCTION|EXECUTE"
                                   r"|EXECUTE_ONE_WAY|MATRIX|MATRIX_ASYNC|VECTOR|VECTOR_ASYNC"
                                   r"|NAMES)\((\w+)", text, re.M))
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


def number(name):
    """(parameters, value) of a function that returns a number, or None."""
    for pattern, before, size, zero in NUMBERS:
        if pattern.fullmatch(name):
            unused = ["a%d" % i for i in range(1, before)]
            parameters = ["void *handle"] + ["void *" + a for a in unused] + ["void *result"]
            value = (["(void)" + a for a in unused]
                     + ['libs_number(handle, "%s", result, %d, %d)'
                        % (re.sub(r"_v\d+$", "", name), size, zero)])
            return ", ".join(parameters), "(" + ", ".join(value) + ")"
    return None


def other(name, not_supported):
    """(parameters, value) of a function that PyTorch does not import and that is not written
    out."""
    if OTHER_CREATES.fullmatch(name) or CREATES.fullmatch(name):
        return "void **out", "libs_create(out)"
    if OTHER_DESTROYS.fullmatch(name) or DESTROYS.fullmatch(name):
        return "void *object", "libs_destroy(object)"
    if OTHER_SETS_STREAM.fullmatch(name):
        return "void *handle, void *stream", "libs_set_stream(handle, stream)"
    if OTHER_QUIET.fullmatch(name):
        return "void", 'libs_nothing("%s")' % name
    written = size_question(name) or number(name)
    if written:
        return written
    if OTHER_COMPUTES.fullmatch(name):
        return "void *handle", 'libs_compute(handle, "%s")' % re.sub(r"_v\d+(_64)?$", "", name)
    return "void", 'libs_missing("%s", %d)' % (name, not_supported)


def stub(name):
    """(parameters, value) of a function that is not written out."""
    if CREATES.fullmatch(name):
        return "void **out", "libs_create(out)"
    if DESTROYS.fullmatch(name):
        return "void *object", "libs_destroy(object)"
    if SETS_STREAM.fullmatch(name):
        return "void *handle, void *stream", "libs_set_stream(handle, stream)"
    written = size_question(name) or host_info(name) or number(name)
    if written:
        return written
    if COMPUTES.fullmatch(name) and not QUIET.fullmatch(name):
        return "void *handle", 'libs_compute(handle, "%s")' % re.sub(r"_v\d+$", "", name)
    if QUIET.fullmatch(name):
        return "void", 'libs_nothing("%s")' % name
    return "void", 'libs_missing("%s", 0)' % name


def libraries():
    """The lines of libs_stubs.c."""
    done = written_out()
    out = ["/* Generated by test/sim/gen.py. */", '#include "test/sim/libs.h"', ""]
    for name in (name for path in LISTS for name in names(path) if name not in done):
        function(out, name, *stub(name))
        done.add(name)
    for path, not_supported in OTHERS:
        for name in names(path):
            if name not in done:
                function(out, name, *other(name, not_supported))
    return out


def function(out, name, parameters, value):
    out.append("SIM_EXPORT int %s(%s);" % (name, parameters))
    out.append("SIM_EXPORT int %s(%s)\n{\n\treturn %s;\n}\n" % (name, parameters, value))
