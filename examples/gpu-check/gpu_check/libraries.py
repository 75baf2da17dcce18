# SPDX-License-Identifier: Apache-2.0
"""Finds CUDA's libraries on this machine, and names those that are missing, broken or of another version."""

import dataclasses
import glob
import json
import os
import re
import subprocess
import sys
import typing

from gpu_check import elf

# Of the system, and the same everywhere.
SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|stdc\+\+|gcc_s|util)\.so\..*)")
# Found beside libtorch or in jars.
OWN = re.compile(r"lib(c10|torch|openblas|gomp|jni|leptonica|gfortran|quadmath).*")
RUNTIME = re.compile(r"libcudart\.so\.(\d+)")
OLDEST_NCCL = 22800  # of the presets' libtorch; a Python torch has that which it was built for
SYSTEM_FOLDERS = [
    "/usr/local/cuda/lib64", "/usr/local/cuda-13*/lib64", "/usr/local/cuda*/lib64",
    "/usr/local/cuda*/targets/x86_64-linux/lib", "/usr/local/nvidia/lib64", "/usr/lib/x86_64-linux-gnu",
    "/usr/lib64", "/usr/lib/wsl/lib", "/run/opengl-driver/lib", "/opt/cuda/lib64"]
HINTS = {"libcuda.so.1": "NVIDIA's driver brings it"}


@dataclasses.dataclass
class Found:
    """What was found of one library that libtorch needs."""

    name: str
    needed_by: str
    path: typing.Optional[str] = None
    source: typing.Optional[str] = None
    problem: typing.Optional[str] = None


def python_folders(python):
    """Returns the folders of CUDA's libraries that a Python interpreter has as packages."""
    program = ("import glob, importlib.util as u, json, os\n"
               "s = u.find_spec('nvidia')\n"
               "print(json.dumps([f for p in (s.submodule_search_locations if s else [])"
               " for f in sorted(glob.glob(os.path.join(p, '*', 'lib')))]))")
    try:
        result = subprocess.run([python, "-c", program], capture_output=True, text=True, timeout=30, check=True)
        return json.loads(result.stdout)
    except (OSError, subprocess.SubprocessError, ValueError):
        return []


def linker_folders():
    """Returns the folders of the dynamic linker's cache."""
    for program in ("ldconfig", "/sbin/ldconfig"):
        try:
            output = subprocess.run([program, "-p"], capture_output=True, text=True, timeout=30).stdout
        except (OSError, subprocess.SubprocessError):
            continue
        return sorted({os.path.dirname(line.split("=> ")[1]) for line in output.splitlines()
                       if "=> " in line and "x86-64" in line})
    return []


def search_folders(pythons, environment=None):
    """Returns the folders to search, each with the words for its source, in their order."""
    environment = os.environ if environment is None else environment
    folders = [(f, "LD_LIBRARY_PATH") for f in environment.get("LD_LIBRARY_PATH", "").split(":") if f]
    for python in pythons:
        folders += [(f, f"packages of {python}") for f in python_folders(python)]
    folders += [(f, "the system") for pattern in SYSTEM_FOLDERS for f in sorted(glob.glob(pattern))]
    folders += [(f, "the system") for f in linker_folders()]
    first = {}
    for folder, source in folders:
        first.setdefault(folder, source)
    return list(first.items())


def broken(path):
    """Returns why the file of this path cannot be a library, or None."""
    try:
        elf.needed(path)
    except (elf.ElfError, OSError) as error:
        return str(error)
    return None


def find(name, needed_by, folders):
    """Finds one library in the folders."""
    problems = []
    for folder, source in folders:
        path = os.path.join(folder, name)
        if os.path.lexists(path):
            reason = broken(path)
            if reason is None:
                return Found(name, needed_by, path, source)
            problems.append(f"broken: {path}: {reason}")
    if problems:
        return Found(name, needed_by, problem="; ".join(problems))
    stem = name.split(".so")[0] + ".so"
    others = [path for folder, _ in folders for path in sorted(glob.glob(os.path.join(folder, stem + ".[0-9]*")))]
    if others:
        return Found(name, needed_by, problem=f"wrong version: there is only {others[0]}")
    hint = HINTS.get(name)
    return Found(name, needed_by, problem="missing" + (f" ({hint})" if hint else ""))


def resolve(roots, folders, extra=()):
    """Returns what was found of each library that the root libraries need, and those need, in turn."""
    found = {}
    waiting = []

    def ask(path):
        for name in elf.needed(path):
            if not SYSTEM.fullmatch(name) and not OWN.match(name):
                waiting.append((name, os.path.basename(path)))

    for root in roots:
        ask(root)
    waiting += extra
    while waiting:
        name, needed_by = waiting.pop(0)
        if name in found:
            continue
        found[name] = find(name, needed_by, folders)
        if found[name].path:
            ask(found[name].path)
    return list(found.values())


def path_of(found):
    """Returns the value of LD_LIBRARY_PATH with which the linker finds these libraries."""
    standard = set(linker_folders())
    # Others of the same folder are loaded at run time by name, such as cuDNN's.
    folders = dict.fromkeys(os.path.dirname(f.path) for f in found if f.path)
    return ":".join(f for f in folders if f not in standard)


def run_python(program, path, limit=60):
    """Runs a Python program in a process of its own; returns its output, or its failure as an exception."""
    environment = dict(os.environ, LD_LIBRARY_PATH=path)
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True,
                            env=environment, timeout=limit)
    if result.returncode != 0:
        last = result.stderr.strip().splitlines()[-1:] or [f"exit status {result.returncode}"]
        raise RuntimeError(last[0])
    return result.stdout


def version(found, function, form):
    """Asks a library for its version, a number that a function returns or writes."""
    program = (f"import ctypes\nlibrary = ctypes.CDLL({found.path!r})\nf = library.{function}\n"
               + ("v = ctypes.c_int()\nf(ctypes.byref(v))\nprint(v.value)" if form == "writes"
                  else "f.restype = ctypes.c_size_t\nprint(f())"))
    return int(run_python(program, path_of([found])))


VERSIONS = {
    "libcuda.so.1": ("cuDriverGetVersion", "writes"),
    "libcudart.so.13": ("cudaRuntimeGetVersion", "writes"),
    "libcudart.so.12": ("cudaRuntimeGetVersion", "writes"),
    "libcudnn.so.9": ("cudnnGetVersion", "returns"),
    "libnccl.so.2": ("ncclGetVersion", "writes"),
}


def check_versions(found, oldest_nccl=0):
    """Returns the versions of those libraries that have a function for it; notes what is too old as a problem."""
    versions = {}
    for library in found:
        if library.path and library.name in VERSIONS:
            try:
                versions[library.name] = version(library, *VERSIONS[library.name])
            except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
                versions[library.name] = f"not known: {error}"
    nccl = versions.get("libnccl.so.2")
    if isinstance(nccl, int) and nccl < oldest_nccl:
        for library in found:
            if library.name == "libnccl.so.2":
                library.problem = f"wrong version: {library.path} is {nccl}, at least {oldest_nccl} is needed"
    check_driver(found, versions.get("libcuda.so.1"))
    return versions


def check_driver(found, version_of_driver):
    """Notes a driver for an older CUDA than that of the runtime as a problem; libtorch would see no device."""
    needed = max((int(match[1]) for match in (RUNTIME.fullmatch(library.name) for library in found) if match), default=0)
    for library in found:
        if library.name == "libcuda.so.1" and isinstance(version_of_driver, int) and version_of_driver // 1000 < needed:
            library.problem = (f"wrong version: {library.path} is a driver for CUDA {cuda(version_of_driver)},"
                               f" one for CUDA {needed} or later is needed")


def cuda(number):
    """Returns a version of CUDA as people write it."""
    return f"{number // 1000}.{number % 1000 // 10}"


def load(library, path):
    """Loads a library as a program would; returns the words of the dynamic linker, or None if it was loaded."""
    program = ("import ctypes, os\n"
               f"ctypes.CDLL({str(library)!r}, os.RTLD_NOW | os.RTLD_GLOBAL)")
    try:
        run_python(program, path)
        return None
    except (RuntimeError, OSError, subprocess.SubprocessError) as error:
        return str(error)


DEVICES = """
import ctypes
cuda = ctypes.CDLL("libcuda.so.1")

def call(function, *arguments):
    status = function(*arguments)
    if status:
        name = ctypes.c_char_p()
        cuda.cuGetErrorName(status, ctypes.byref(name))
        words = f" ({name.value.decode()})" if name.value else ""
        raise SystemExit(f"the driver's {function.__name__} failed with status {status}{words}")

def number(function, *arguments):
    value = ctypes.c_int()
    call(function, ctypes.byref(value), *arguments)
    return value.value

call(cuda.cuInit, 0)

for i in range(number(cuda.cuDeviceGetCount)):
    device = number(cuda.cuDeviceGet, i)
    name = ctypes.create_string_buffer(100)
    call(cuda.cuDeviceGetName, name, 100, device)
    # the attributes COMPUTE_CAPABILITY_MAJOR and COMPUTE_CAPABILITY_MINOR
    print(number(cuda.cuDeviceGetAttribute, 75, device), number(cuda.cuDeviceGetAttribute, 76, device), name.value.decode())
"""


class Gpu(typing.NamedTuple):
    """A GPU as the driver describes it."""

    name: str
    capability: typing.Tuple[int, int]

    def __str__(self):
        return f"{self.name}, compute capability {self.capability[0]}.{self.capability[1]}"


def devices(path):
    """Returns the GPUs that the driver reports, and as the second of a pair why there is none."""
    gpus = []
    try:
        for line in run_python(DEVICES, path).splitlines():
            major, minor, name = line.split(" ", 2)
            gpus.append(Gpu(name, (int(major), int(minor))))
    except (RuntimeError, ValueError, OSError, subprocess.SubprocessError) as error:
        return [], str(error)
    return gpus, None if gpus else "the driver reports no GPU"


def without_code(gpus, capabilities):
    """Returns a line for each GPU that a libtorch with code for these capabilities has none for."""
    known = ", ".join(f"{major}.{minor}" for major, minor in capabilities)
    return [f"{gpu}: libtorch has code for {known} and later ones of the same first number" for gpu in gpus
            if not any(gpu.capability[0] == major and gpu.capability[1] >= minor for major, minor in capabilities)]


def named(found):
    """Returns the problems of libraries as lines."""
    return [f"{f.name}, needed by {f.needed_by}: {f.problem}" for f in found if f.problem]
