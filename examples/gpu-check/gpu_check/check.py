# SPDX-License-Identifier: Apache-2.0
"""Runs a check from an unpacked pack, and writes its report."""

import argparse
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import time
import zipfile

from gpu_check import libraries, parts, plan, report

SECONDS = 460  # for all parts; the report is written within 8 minutes, but for builds with fewer than 8 processors
MAX_GPUS = 8
PRESETS = [("libcuda.so.1", "libjnicudart.so"), ("libcusolverMg.so.12", "the presets of NCCL"),
           ("libnvjpeg.so.13", "libjninvjpeg.so"), ("libnvrtc.so.13", "libtorch_cuda.so, at run time")]
# For which the presets' libtorch has code.
CAPABILITIES = ((7, 5), (8, 0), (9, 0), (10, 0), (12, 0))
# Of libtorch's libraries, those that programs on the CPU load.
CPU_ROOTS = ("libc10.so", "libtorch_cpu.so")


def main(words):
    """Returns 0 if parts passed and the others were skipped, else 1."""
    parser = argparse.ArgumentParser(prog="run", description="Checks torchfeed on this machine.")
    parser.add_argument("--libtorch", metavar="PYTHON", help="build and run only the C++ half, for the torch of it")
    parser.add_argument("--python", metavar="PYTHON", help="has CUDA's libraries as packages (found if on PATH)")
    parser.add_argument("--gpus", metavar="N", type=gpu_count, help="try ranks on N GPUs, in [1, 8]; all of them by default")
    parser.add_argument("--out", default="report", help="the folder of the report and of all outputs")
    parser.add_argument("--root", required=True, help=argparse.SUPPRESS)
    parser.add_argument("--started", type=float, default=time.time(), help=argparse.SUPPRESS)
    options = parser.parse_args(words)
    out = pathlib.Path(options.out).absolute()
    out.mkdir(parents=True, exist_ok=True)
    check = Check(pathlib.Path(options.root), out, options.started)
    try:
        if options.libtorch:
            check.with_python(options.libtorch)
        else:
            check.with_java([options.python] if options.python else pythons(), options.gpus)
    except Refused as error:
        check.problems.append(str(error))
        check.write()
        print(f"run: {error}", file=sys.stderr)
        return 1
    print(f"run: {report.summary(check.results)}; see {out}/report.md")
    return 0 if parts.succeeded(check.results) else 1


def gpu_count(text):
    """Returns a number of GPUs for ranks."""
    if not text.isdigit() or not 1 <= int(text) <= MAX_GPUS:
        raise argparse.ArgumentTypeError(f"must be in [1, {MAX_GPUS}], got {text}")
    return int(text)


class Refused(Exception):
    """Why a check cannot begin."""


def pythons():
    """Returns the interpreters that may have CUDA's libraries as packages."""
    candidates = [f"{os.environ[name]}/bin/python" for name in ("VIRTUAL_ENV", "CONDA_PREFIX") if os.environ.get(name)]
    candidates += [shutil.which("python3"), shutil.which("python")]
    return list(dict.fromkeys(c for c in candidates if c and os.path.exists(c)))


class Check:
    """A check: the facts and results so far."""

    def __init__(self, root, out, started):
        self.root, self.out, self.started = root, out, started
        self.seconds = SECONDS
        self.facts, self.found, self.problems, self.results = machine(), [], [], []
        self.gpus = []
        self.facts.update(json.loads((root / "pack.json").read_text())["facts"])

    def with_java(self, interpreters, gpus=None):
        """Runs the parts on the packed Java, those of ranks on a number of GPUs; on all, up to 8, by default."""
        libtorch = self.root / "libtorch"
        unpack_libtorch(self.root, libtorch)
        self.look(libtorch, libraries.search_folders(interpreters), PRESETS, libraries.OLDEST_NCCL)
        path = libraries.path_of(self.found)
        cpu = [f for f in libraries.resolve([libtorch / name for name in CPU_ROOTS],
                                            libraries.search_folders(interpreters)) if f.problem]
        obstacle = "libtorch cannot be loaded: " + "; ".join(libraries.named(cpu)) if cpu else ""
        openblas = self.root / "libtorch/openblas"
        cuda = self.loading(libtorch, f"{openblas}:{path}")
        reason = self.count_gpus(path)
        self.problems += libraries.without_code(self.gpus, CAPABILITIES)
        gpu = "" if self.gpus and not cuda else "no usable GPU: " + (cuda or reason)
        if gpus and gpus > len(self.gpus):
            self.problems.append(f"--gpus {gpus}: the driver reports {len(self.gpus)}; ranks are tried on as many")
        tests = json.loads((self.root / "pack.json").read_text())["gpu tests"]
        made = plan.java_parts(self.root, path, obstacle, gpu, tests, max(1, min(gpus or MAX_GPUS, len(self.gpus))))
        made.insert(1, plan.packed_program(self.root, libtorch, f"{openblas}:{path}", obstacle or cuda))
        self.run(made)

    def with_python(self, python):
        """Builds the C++ half for the libtorch of a Python, and runs its tests."""
        torch, version = torch_of(python)
        self.facts["libtorch of Python"] = f"{version}, {torch}"
        plain = version.split("+")[0]
        if plain.rsplit(".", 1)[0] not in ("2.10", "2.11"):
            raise Refused(f"wrong version: the torch of {python} is {version}, 2.10 or 2.11 is needed")
        if not shutil.which("cmake"):
            raise Refused("cmake is missing; --libtorch builds with CMake 3.21 or later and a C++ compiler")
        folders = [(str(torch / "lib"), f"packages of {python}")] + libraries.search_folders([python])
        self.look(torch / "lib", folders, [("libcuda.so.1", "CUDA's runtime")])
        path = libraries.path_of(self.found)
        cuda = self.loading(torch / "lib", path)
        self.count_gpus(path)
        self.seconds *= plan.slowness(os.cpu_count())
        self.run(plan.cpp_parts(self.root, self.out, torch, plain, path, cuda))

    def look(self, libtorch, folders, extra, oldest_nccl=0):
        """Finds what libtorch needs."""
        roots = [str(path) for path in sorted(libtorch.glob("lib*.so")) if path.name in (
            "libc10.so", "libc10_cuda.so", "libtorch_cpu.so", "libtorch_cuda.so", "libtorch_cuda_linalg.so")]
        self.found = libraries.resolve(roots, folders, extra)
        versions = libraries.check_versions(self.found, oldest_nccl)
        self.facts.update({f"version of {name}": value for name, value in versions.items()})
        self.problems += libraries.named(self.found)
        for problem in self.problems:
            print(f"run: {problem}", flush=True)

    def count_gpus(self, path):
        """Asks the driver for GPUs; returns why there is none, a problem if there is a driver."""
        self.gpus, reason = libraries.devices(path)
        if reason and any(library.name == "libcuda.so.1" and library.path for library in self.found):
            self.problems.append(reason)
        self.facts["GPUs"] = "; ".join(map(str, self.gpus)) or f"none: {reason}"
        return reason

    def loading(self, libtorch, path):
        """Returns why libtorch's library for CUDA cannot be loaded, empty if it can; notes which it is."""
        library = libtorch / "libtorch_cuda.so"
        if not library.exists():
            obstacle = f"there is no {library.name} beside libtorch: it is one for the CPU"
        else:
            obstacle = libraries.load(library, f"{libtorch}:{path}") or ""
        self.facts["libtorch_cuda.so"] = obstacle or "can be loaded"
        return obstacle

    def run(self, made):
        """Runs the parts, and writes the report after each."""
        for part in made:
            left = self.seconds - (time.time() - self.started)
            part.skip = part.skip or parts.unmet(part, self.results)
            print(f"run: {part.name} ...", end=" ", flush=True)
            result = parts.run(part, self.out, left)
            if part.on_gpu and self.gpus:
                result = parts.on_a_machine_with_a_gpu(result)
            print(f"{result.status}{': ' if result.reason else ''}{result.reason}", flush=True)
            self.results.append((part.name, result))
            self.write()

    def write(self):
        """Writes the report so far."""
        self.facts["seconds in all"] = round(time.time() - self.started)
        report.write(self.out, report.as_json(self.facts, self.found, self.problems, self.results))


def machine():
    """Returns facts of this machine."""
    facts = {"system": platform.platform(), "C library": " ".join(platform.libc_ver()),
             "processors": os.cpu_count(), "Python": platform.python_version()}
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version,memory.total,compute_cap", "--format=csv,noheader"]
        facts["nvidia-smi"] = subprocess.run(query, capture_output=True, text=True, timeout=30).stdout.strip()
    except (OSError, subprocess.SubprocessError) as error:
        facts["nvidia-smi"] = f"cannot be run: {error}"
    return facts


def torch_of(python):
    """Returns the folder of a Python's torch and its version, without importing it."""
    program = ("import importlib.util as u, importlib.metadata as m\ns = u.find_spec('torch')\n"
               "print(s.submodule_search_locations[0] if s else '')\nprint(m.version('torch') if s else '')")
    try:
        result = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    except (OSError, subprocess.SubprocessError) as error:
        raise Refused(f"{python} cannot be run: {error}") from error
    folder, version = result.stdout.split("\n")[:2]
    if not folder:
        raise Refused(f"{python} has no torch")
    version_file = pathlib.Path(folder) / "version.py"  # has the suffix +cu130, which metadata may lack
    if version_file.exists():
        for line in version_file.read_text().splitlines():
            if line.startswith("__version__"):
                version = line.split("'")[1] if "'" in line else version
    return pathlib.Path(folder), version


def unpack_libtorch(root, folder):
    """Unpacks libtorch and OpenBLAS from their jars, for C++ programs and to see what they need."""
    done = folder / ".done"
    if done.exists():
        return
    for pattern, into in (("pytorch-*-gpu.jar", folder), ("openblas-*-linux-x86_64.jar", folder / "openblas")):
        into.mkdir(parents=True, exist_ok=True)
        for jar in (root / "lib").glob(pattern):
            with zipfile.ZipFile(jar) as archive:
                for name in archive.namelist():
                    base = name.rsplit("/", 1)[-1]
                    if ".so" in base and "libjni" not in base:
                        with archive.open(name) as source, open(into / base, "wb") as target:
                            shutil.copyfileobj(source, target, 1 << 20)
    done.touch()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
