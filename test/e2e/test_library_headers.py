"""Compares libs.def's rows with NVIDIA's headers, those of the toolkit and of PyTorch's wheels.

Checks each argument's kind and position, and the constants that preload/ and core/ write out. A
library without a header on this machine is skipped, and the skip says so.
"""
import glob
import os
import re
import subprocess
import unittest

from harness import BUILD, ROOT, Case

FAMILIES = {"NCCL": "nccl.h", "BLAS": "cublas_v2.h", "BLASLT": "cublasLt.h", "DNN": "cudnn.h"}
# NCCL_VERSION_CODE of the first version with the function
SINCE = {"ncclAlltoAll": 22800, "ncclGather": 22800, "ncclScatter": 22800, "ncclCommSplit": 21800}

# The headers' names of the arguments that the rows use. Other arguments are only passed on, so
# their kind and position are enough.
NAMES = {"count": ("count", "sendcount", "recvcount"), "type": ("datatype",), "root": ("root",),
         "peer": ("peer",), "comm": ("comm", "newcomm"), "comms": ("comm",), "stream": ("stream",),
         "id": ("commId",), "rank": ("rank",), "n_ranks": ("nranks",), "n_devices": ("ndev",),
         "color": ("color",), "made": ("newcomm",), "m": ("m",), "n": ("n",), "k": ("k",),
         "batch": ("batchCount",), "a_type": ("Atype",), "compute": ("computeType",),
         "trans": ("trans",), "a_layout": ("Adesc",), "d_layout": ("Ddesc",)}
TYPE_OF_LETTER = {"S": "LIBRARY_F32", "D": "LIBRARY_F64", "C": "LIBRARY_C32", "Z": "LIBRARY_C64",
                  "H": "LIBRARY_F16"}

# (file of ours, its constant, NVIDIA's)
CONSTANTS = {
    "NCCL": [("preload/libs.c", "MISSING_NCCL", "ncclSystemError"),
             ("preload/comms.c", "IN_PROGRESS", "ncclInProgress")],
    "BLAS": [("preload/libs.c", "MISSING_BLAS", "CUBLAS_STATUS_NOT_INITIALIZED")] + [
        ("core/runtime/kinds.h", "LIBRARY_" + ours, "CUDA_" + theirs) for ours, theirs in (
            ("F32", "R_32F"), ("F64", "R_64F"), ("F16", "R_16F"), ("I8", "R_8I"), ("C32", "C_32F"),
            ("C64", "C_64F"), ("BF16", "R_16BF"), ("F8_E4M3", "R_8F_E4M3"),
            ("F8_E5M2", "R_8F_E5M2"))],
    "BLASLT": [("preload/libs.c", "MISSING_BLASLT", "CUBLAS_STATUS_NOT_INITIALIZED")] + [
        ("preload/libs_layouts.c", "LAYOUT_" + ours, "CUBLASLT_MATRIX_LAYOUT_" + theirs)
        for ours, theirs in (("TYPE", "TYPE"), ("ROWS", "ROWS"), ("COLUMNS", "COLS"),
                             ("BATCH", "BATCH_COUNT"))],
    "DNN": [("preload/libs.c", "MISSING_DNN", "CUDNN_STATUS_NOT_INITIALIZED")],
}
# core/model/library.c's names, by ncclDataType_t
NCCL_TYPES = {"i8": "Int8", "u8": "Uint8", "i32": "Int32", "u32": "Uint32", "i64": "Int64",
              "u64": "Uint64", "f16": "Float16", "f32": "Float32", "f64": "Float64",
              "bf16": "Bfloat16", "f8e4m3": "Float8e4m3", "f8e5m2": "Float8e5m2"}

# Prints a line for each argument whose kind differs from ours.
CHECK = """
#include <cstdint>
#include <cstdio>
#include <type_traits>
struct nccl_id { char bytes[128]; };
template <class Theirs, class Ours> constexpr bool fits()
{
	using namespace std;
	if (is_pointer_v<Theirs> || is_pointer_v<Ours>)
		return is_pointer_v<Theirs> && is_pointer_v<Ours>;
	constexpr bool numbers = (is_integral_v<Theirs> || is_enum_v<Theirs>) &&
				 is_integral_v<Ours>;
	constexpr bool floats = is_floating_point_v<Theirs> && is_floating_point_v<Ours>;
	constexpr bool classes = is_class_v<Theirs> && is_class_v<Ours>;
	return sizeof(Theirs) == sizeof(Ours) && (numbers || floats || classes);
}
template <class R, class... Theirs, class... Ours>
void check(const char *symbol, R (*)(Theirs...), int (*)(Ours...))
{
	if constexpr (sizeof...(Theirs) != sizeof...(Ours)) {
		printf("%s has %zu arguments, not %zu\\n", symbol, sizeof...(Theirs),
		       sizeof...(Ours));
	} else {
		const bool good[] = { fits<R, int>(), fits<Theirs, Ours>()... };
		for (size_t i = 0; i < sizeof(good); i++)
			if (!good[i])
				printf("%s: argument %zu is of another kind\\n", symbol, i);
	}
}
"""


def preprocess(source, *folders):
    """Preprocesses as C++: in C, cublas_v2.h hides the functions that take __half."""
    command = ["g++", "-E", "-P", "-I", ROOT, *[f"-I{folder}" for folder in folders], "-x", "c++",
               "-"]
    return subprocess.run(command, input=source, text=True, stdout=subprocess.PIPE,
                          check=True).stdout


def split(text):
    """Splits 'int a, const void *b'; no row's or header's parameter is a function."""
    return [part.strip() for part in text.split(",")] if text.strip() not in ("", "void") else []


def name_of(parameter):
    return re.search(r"(\w+)\s*(\[\s*\])?$", parameter).group(1)


def rows():
    """Returns {symbol: (family, parameters, arguments, statements that use the arguments)}."""
    text = preprocess("#define LIBRARY(symbol, family, facts, params, args, ...) @ symbol @ family "
                      "@ params @ args @ __VA_ARGS__ @@\n"
                      '#include "preload/libs.def"\n')
    found = {}
    for row in re.findall(r"@ (.*?) @@", re.sub(r"\s+", " ", text)):
        symbol, family, parameters, arguments, statements = [part.strip()
                                                             for part in row.split(" @ ")]
        found[symbol] = (family, split(parameters.strip("()")), split(arguments.strip("()")),
                         statements)
    return found


def include_sets():
    """Returns sets of include folders that belong together: the toolkit's and the wheels'."""
    home = subprocess.run([os.path.join(ROOT, "scripts", "cuda-home")], text=True,
                          stdout=subprocess.PIPE).stdout.strip()
    wheels = glob.glob(os.path.join(BUILD, "torch-venv", "lib", "python3*", "site-packages",
                                    "nvidia", "*", "include"))
    return [folders for folders in ([os.path.join(home, "include")] if home else [], sorted(wheels))
            if folders]


def constant(path, name):
    """Returns the value of an enumerator in one of our sources."""
    with open(os.path.join(ROOT, path)) as file:
        return int(re.search(rf"\b{name} = (\d+)", file.read()).group(1))


class Headers(Case):
    def sets_with(self, header):
        found = [folders for folders in include_sets()
                 if any(os.path.exists(os.path.join(f, header)) for f in folders)]
        if not found:
            self.skipTest(f"{header} is not on this machine: its rows of libs.def are not compared")
        return found

    def version(self, family, folders):
        if family != "NCCL":
            return 1 << 30
        return int(preprocess("#include <nccl.h>\nversion: NCCL_VERSION_CODE\n",
                              *folders).split("version:")[1])

    def declared(self, header, wanted, folders):
        """Returns {symbol: (result, parameters)} of the wanted symbols that the header declares."""
        text = re.sub(r"\s+", " ", preprocess(f"#include <{header}>\n", *folders))
        found = {}
        for result, symbol, parameters in re.findall(r"(\w+) (\w+) ?\(([^()]*)\) ?;", text):
            if symbol in wanted:
                found.setdefault(symbol, (result, split(parameters)))
        return found

    def compile_and_run(self, name, source, folders):
        path = os.path.join(self.base, name)
        os.makedirs(self.base, exist_ok=True)
        with open(path + ".cpp", "w") as file:
            file.write(source)
        subprocess.run(["g++", "-std=c++17", "-w", "-O0", "-I", ROOT, *[f"-I{f}" for f in folders],
                        path + ".cpp", "-o", path],
                       check=True)
        return subprocess.run([path], text=True, stdout=subprocess.PIPE,
                              check=True).stdout.splitlines()

    def check_kinds(self, family, ours, theirs, folders):
        """Compiles a check of kinds and constants. The header's functions are declared again in a
        namespace: in C++, some names also have inline overloads."""
        declarations = [f"{result} {symbol}({', '.join(parameters)});"
                        for symbol, (result, parameters) in theirs.items()]
        lines = [f"#include <{FAMILIES[family]}>", CHECK, "namespace theirs {", *declarations, "}",
                 "int main() {"]
        for symbol in theirs:
            wrapper = f"static_cast<int (*)({', '.join(ours[symbol][1])})>(nullptr)"
            lines.append(
                f'check("{symbol}", static_cast<decltype(&theirs::{symbol})>(nullptr), {wrapper});')
        for path, name, of_header in CONSTANTS[family]:
            value = constant(path, name)
            lines.append(f'if ({of_header} != {value}) printf("{name} is {value}, {of_header} is '
                         f'%d\\n", (int){of_header});')
        self.assertEqual(self.compile_and_run(family, "\n".join(lines + ["}", ""]), folders), [])

    def check_names(self, symbol, row, theirs):
        _, parameters, arguments, statements = row
        ours = [name_of(p) for p in parameters]
        self.assertEqual(ours, arguments, f"{symbol}: arguments must be passed on in order")
        for at, name in enumerate(ours):
            if re.search(rf"(?<![\w.]){name}\b", statements):
                self.assertIn(name_of(theirs[at]), NAMES[name], f"{symbol}: argument {at}")
        letter = re.match(r"cublas([SDCZH])gem", symbol)
        if letter and "take_gemm" in statements and "a_type" not in ours:
            self.assertIn(TYPE_OF_LETTER[letter.group(1)], statements, symbol)

    def check_family(self, family):
        header = FAMILIES[family]
        wanted = {symbol: row for symbol, row in rows().items() if row[0] == family}
        self.assertTrue(wanted)
        for folders in self.sets_with(header):
            declared, version = self.declared(header, wanted, folders), self.version(family,
                                                                                     folders)
            old = {symbol for symbol in wanted if SINCE.get(symbol, 0) > version}
            self.assertEqual(set(wanted) - set(declared) - old, set(), f"not in {folders}")
            for symbol, (_, parameters) in declared.items():
                self.check_names(symbol, wanted[symbol], parameters)
            self.check_kinds(family, wanted, declared, folders)

    def test_nccl(self):
        self.check_family("NCCL")

    def test_cublas(self):
        self.check_family("BLAS")

    def test_cublaslt(self):
        self.check_family("BLASLT")

    def test_cudnn(self):
        self.check_family("DNN")

    def test_types_of_nccl(self):
        """core/model/collective.c's table has the order of ncclDataType_t."""
        with open(os.path.join(ROOT, "core", "model", "collective.c")) as file:
            table = re.search(r" types\[\] = \{(.*?)\n\};", file.read(), re.S).group(1)
        ours = re.findall(r'"(\w+)", "\w+", (\d)', table)
        self.assertEqual(len(ours), len(NCCL_TYPES))
        for folders in self.sets_with("nccl.h"):
            lines = [f'printf("nccl{NCCL_TYPES[name]} %d\\n", (int)nccl{NCCL_TYPES[name]});'
                     for name, _ in ours]
            source = "\n".join(
                ["#include <nccl.h>", "#include <cstdio>", "int main() {", *lines, "}", ""])
            self.assertEqual(self.compile_and_run("types", source, folders),
                             [f"nccl{NCCL_TYPES[name]} {at}" for at, (name, _) in enumerate(ours)])
        for name, size in ours:
            self.assertEqual(int(size) * 8, int(re.search(r"[a-z](\d+)", name).group(1)), name)


if __name__ == "__main__":
    unittest.main()
