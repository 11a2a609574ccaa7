"""The wheel: what it contains, which machines it loads on, and that it works after `pip install`.

`make test` builds build/portable, from which the wheel is packed.
"""
import base64
import glob
import hashlib
import importlib.util
import os
import re
import subprocess
import sys
import unittest
import zipfile

from harness import BUILD, ROOT, Case, environment, script

PORTABLE = os.path.join(BUILD, "portable")
GLIBC = (2, 28)  # of the tag manylinux_2_28
# Libraries that every Linux machine with glibc has; PEP 600 allows some more.
SYSTEM = {"libc.so.6", "libm.so.6", "libdl.so.2", "libpthread.so.0", "librt.so.1",
          "ld-linux-x86-64.so.2"}
SIMULATED = re.compile(r"lib(cuda|cudart|cupti|nvidia-ml)\.so\.\d+")  # the wheel has them


def elf(*command):
    return subprocess.run(command, check=True, text=True, stdout=subprocess.PIPE).stdout


@unittest.skipUnless(os.path.exists(os.path.join(PORTABLE, "stamp")),
                     "build/portable is not built: make wheel says why")
class Wheel(Case):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        dist = os.path.join(cls.base, "dist")
        subprocess.run([os.path.join(ROOT, "scripts", "wheel"), PORTABLE, dist], check=True,
                       stdout=subprocess.DEVNULL)
        (cls.wheel,) = glob.glob(os.path.join(dist, "*"))
        cls.place = os.path.basename(cls.wheel).split("-py3-")[0]

    def test_record(self):
        with zipfile.ZipFile(self.wheel) as file:
            self.assertIsNone(file.testzip())
            names = file.namelist()
            record = f"{self.place}.dist-info/RECORD"
            lines = file.read(record).decode().splitlines()
            found = {name: (digest, size) for name, digest, size in
                     (line.rsplit(",", 2) for line in lines)}
            self.assertEqual(sorted(found), sorted(names))
            self.assertEqual(found.pop(record), ("", ""))
            for name, (digest, size) in found.items():
                content = file.read(name)
                own = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=")
                self.assertEqual((digest, size), (f"sha256={own.decode()}", str(len(content))))

    def test_metadata(self):
        version = self.place.rpartition("-")[2]
        with zipfile.ZipFile(self.wheel) as file:
            metadata = file.read(f"{self.place}.dist-info/METADATA").decode()
            tag = file.read(f"{self.place}.dist-info/WHEEL").decode()
        self.assertRegex(metadata, rf"(?m)^Name: profrun\nVersion: {re.escape(version)}$")
        self.assertIn(re.search(r"(?m)^Tag: (.*)$", tag)[1], os.path.basename(self.wheel))
        self.assertIn("Root-Is-Purelib: false", tag)

    def test_licences_of_the_libraries_in_it(self):
        with zipfile.ZipFile(self.wheel) as file:
            names = {os.path.basename(name) for name in file.namelist() if "/licenses/" in name}
        for library in ("libjansson", "libdw", "libelf", "libcapstone", "zlib1g", "liblzma",
                        "libbz2", "libsqlite3", "libc6", "libstdc++", "libunwind"):
            self.assertTrue([name for name in names if name.startswith(library)], library)
        self.assertIn("LICENSE", names)

    def test_it_loads_where_the_tag_says(self):
        objects = 0
        with zipfile.ZipFile(self.wheel) as file:
            for name in file.namelist():
                content = file.read(name)
                if content[:4] != b"\x7fELF":
                    continue
                path = os.path.join(self.base, "object")
                with open(path, "wb") as copy:
                    copy.write(content)
                objects += 1
                needed = set(re.findall(r"NEEDED\).*\[(.*)\]", elf("readelf", "-dW", path)))
                self.assertEqual({n for n in needed - SYSTEM if not SIMULATED.fullmatch(n)}, set(),
                                 name)
                versions = {tuple(map(int, v.split("."))) for v in
                            re.findall(r"GLIBC_([\d.]+)", elf("readelf", "-VW", path))}
                self.assertLessEqual(max(versions, default=GLIBC), GLIBC, name)
        self.assertGreater(objects, 8)

    def test_install_and_profile(self):
        venv = os.path.join(self.base, "venv")
        python = os.path.join(venv, "bin", "python")
        has_pip = importlib.util.find_spec("pip")  # then the environment needs none: quicker
        subprocess.run([sys.executable, "-m", "venv", venv, *["--without-pip"] * bool(has_pip)],
                       check=True)
        pip = [sys.executable, "-m", "pip", "--python", python]
        pip = pip if has_pip else [python, "-m", "pip"]
        clean = {**environment(), "PATH": f"{venv}/bin:/usr/bin:/bin"}
        clean.pop("LD_LIBRARY_PATH", None)
        for command in (["install", "-q", "--no-index", "--no-deps", self.wheel], ["check"]):
            run = self.execute([*pip, *command], self.base, clean)
            self.assertEqual(run.status, 0, run.err)
        folder, (demo,) = self.folder(), script("demo.py")[1:]
        program = ("import runpy, sys; del sys.argv[0];"
                   "runpy.run_path(sys.argv[0], run_name='__main__');"
                   "print(open('/proc/self/maps').read())")
        run = self.execute(["profrun", "--sim", "-o", folder, "python", "-c", program, demo],
                           folder, clean)
        self.assertEqual(run.status, 0, run.err)
        for name in ("libprofrun.so", "libunwind-x86_64.so.8", "sim/libcuda.so.1"):
            self.assertIn(f"{venv}/lib/profrun/{name}", run.out)
        self.assertRegex(run.err, r"synchronization at \S*demo\.py:168")
        self.assertEqual(len(run.traces()), 3)
        self.assertNotIn("without native stacks", run.err)
        run = self.execute(["profrun", "export", folder, "--format", "sqlite"], folder, clean)
        self.assertEqual((run.status, len(run.paths("*/*/*.sqlite"))), (0, 1), run.err)
        run = self.execute([*pip, "uninstall", "-q", "-y", "profrun"], self.base, clean)
        self.assertEqual(run.status, 0, run.err)
        self.assertFalse(os.path.exists(os.path.join(venv, "lib", "profrun")))


if __name__ == "__main__":
    unittest.main()
