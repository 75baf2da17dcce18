#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Models that torch.export and AOTInductor package as .pt2 files, and their outputs.

Run with torch 2.10.0, and again with 2.13.0:
  python3 src/test/golden/python_packages.py write src/test/resources/golden
writes packages/VERSION.pt2 and packages/VERSION.txt: inputs and outputs, a tensor a line. All sums are exact in float32,
so each library for matrix products has the same bits. The machine code runs on each x86-64 processor: no vectors, and a
compiler in place of g++ that takes x86-64-v2 for the processor at hand. The sources, which the package holds beside its
library, are emptied.
  python3 src/test/golden/python_packages.py make FOLDER
writes random.pt2, for the processor at hand, with random.txt; and exported.pt2, traced.pt and saved.pt, which are no
packages of a compiled model.
"""

import os
import pathlib
import shutil
import stat
import struct
import sys
import tempfile
import warnings
import zipfile

import torch

VERSION = ".".join(torch.__version__.split(".")[:2])
COMPILER = """#!/bin/bash
arguments=()
for each in "$@"; do
  case $each in
    -march=*) arguments+=(-march=x86-64-v2) ;;
    *) arguments+=("$each") ;;
  esac
done
exec {compiler} -ffile-prefix-map={site}=. -ffile-prefix-map={cache}=. "${{arguments[@]}}" -s
"""


class Net(torch.nn.Module):
    """Scores of an item with a kind, of 3 numbers; and the best of 4."""

    def __init__(self):
        super().__init__()
        self.kinds = torch.nn.Embedding(5, 3)
        self.a = torch.nn.Linear(3, 8)
        self.b = torch.nn.Linear(8, 4)

    def forward(self, x, kind):
        scores = self.b(torch.relu(self.a(x + self.kinds(kind))))
        return scores, scores.argmax(1)


class Probabilities(Net):
    """The same in numbers that depend on the order of sums."""

    def forward(self, x, kind):
        scores = torch.tanh(x + self.kinds(kind))
        return scores.softmax(1), scores.sum(1)


def net(kind):
    torch.manual_seed(7)
    model = kind().eval()
    if kind is Net:
        for parameter in model.parameters():
            eighths = torch.randint(-8, 9, parameter.shape) / 8
            parameter.data.copy_(eighths)
    return model


def inputs(rows, exact=True):
    torch.manual_seed(rows)
    x = torch.randint(-16, 17, (rows, 3)) / 8 if exact else torch.randn(rows, 3)
    return x, torch.randint(0, 5, (rows,))


def export(model):
    batch = torch.export.Dim("batch", min=1, max=4096)
    return torch.export.export(model, inputs(4), dynamic_shapes=({0: batch}, {0: batch}))


def package(model, path, portable):
    configs = {"aot_inductor.metadata": {"classes": "a,b,c,d"}}
    if portable:
        configs["cpp.simdlen"] = 1
    torch._inductor.aoti_compile_and_package(
        export(model), package_path=str(path), inductor_configs=configs)


def line(name, tensor):
    data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
    return "\t".join([name, str(tensor.dtype), str(list(tensor.shape)), data.hex()])


def outputs(path, exact):
    model = torch._inductor.aoti_load_package(str(path))
    lines = []
    for rows in (2, 3, 64):
        given = inputs(rows, exact)
        for name, tensor in zip(("x", "kind", "scores", "best"), (*given, *model(*given))):
            lines.append(line(name, tensor))
    return "\n".join(lines) + "\n"


def without_sources(path):
    """Empties what names the folders of this machine, and compresses the rest."""
    whole = path.with_suffix(".whole")
    path.rename(whole)
    with zipfile.ZipFile(whole) as source, zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for entry in source.infolist():
            kept = zipfile.ZipInfo(entry.filename, date_time=(1980, 1, 1, 0, 0, 0))
            content = b"" if entry.filename.endswith(".cpp") else source.read(entry)
            target.writestr(kept, content, zipfile.ZIP_DEFLATED)
    whole.unlink()


def write(folder):
    folder = pathlib.Path(folder) / "packages"
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = cache
        compiler = pathlib.Path(cache) / "g++"
        site = pathlib.Path(torch.__file__).parent.parent
        compiler.write_text(COMPILER.format(compiler=shutil.which("g++"), site=site, cache=cache))
        compiler.chmod(compiler.stat().st_mode | stat.S_IXUSR)
        torch._inductor.config.cpp.cxx = (str(compiler),)
        path = folder / f"{VERSION}.pt2"
        package(net(Net), path, portable=True)
    without_sources(path)
    model = net(Net)
    found = torch._inductor.aoti_load_package(str(path))(*inputs(64))
    assert all(torch.equal(a, b) for a, b in zip(found, model(*inputs(64))))
    path.with_suffix(".txt").write_text(outputs(path, exact=True))


def make(folder):
    folder = pathlib.Path(folder)
    model = net(Probabilities)
    package(model, folder / "random.pt2", portable=False)
    (folder / "random.txt").write_text(outputs(folder / "random.pt2", exact=False))
    torch.export.save(export(model), folder / "exported.pt2")
    torch.jit.trace(model, inputs(4)).save(str(folder / "traced.pt"))
    torch.save(model.state_dict(), folder / "saved.pt")


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    with torch.no_grad():
        {"write": write, "make": make}[sys.argv[1]](sys.argv[2])
