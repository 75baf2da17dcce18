#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files of torch.save.

Run with torch 2.10.0:
  python3 src/test/golden/python_torch_files.py write src/test/resources/golden
writes torch_files/*.pt and torch_files.txt, the bytes of their tensors.
  python3 src/test/golden/python_torch_files.py read FILE
prints the tensors of a file, read in each of the ways of torch.load.
"""

import collections
import io
import pathlib
import re
import struct
import sys
import tarfile

import torch
import torch.utils.serialization

DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "float8_e4m3fn",
          "float8_e4m3fnuz", "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu"]


def line(file, name, tensor):
    data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
    return "\t".join([file, name, str(tensor.dtype), str(list(tensor.shape)), data.hex()])


def all_dtypes():
    tensors = {}
    for dtype in DTYPES:
        numbers = torch.tensor([[0, 1, 2], [5, 64, 127]]).to(torch.float32)
        if dtype.startswith(("float", "bfloat", "complex")) and dtype != "float8_e8m0fnu":
            numbers = -numbers / 8
        tensors["of." + dtype] = numbers.to(getattr(torch, dtype))
    tensors["number"] = torch.tensor(-3)
    tensors["empty"] = torch.zeros(3, 0, 2)
    tensors["näme \"quoted\" \\ 漢"] = torch.tensor([1.5])
    return tensors


def net():
    torch.manual_seed(3)
    return torch.nn.Sequential(collections.OrderedDict(
        fc=torch.nn.Linear(3, 4), norm=torch.nn.BatchNorm1d(4), out=torch.nn.Linear(4, 2)))


def nested():
    model = net()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.125, betas=(0.5, 0.75))
    model(torch.ones(5, 3)).sum().backward()
    optimizer.step()
    return {
        "model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 7, "best": -0.5,
        "large": 2**70, "negative": -2**40, "name": "näme", "done": True, "nothing": None,
        "shape": torch.Size([2, 3]), "device": torch.device("cpu"), "dtype": torch.float16,
        "set": {4}, "pair": (1, torch.ones(2)), 5: torch.nn.Parameter(torch.full((2,), 5.0)),
    }


def views():
    base = torch.arange(24.0).view(2, 3, 4)
    return {"base": base, "transposed": base.permute(2, 0, 1), "part": base[1, :, 1:3],
            "expanded": torch.tensor([7.0]).expand(3, 2), "tied": base}


def named(prefix, value):
    if isinstance(value, torch.Tensor):
        yield prefix[1:], value.detach()
    elif isinstance(value, dict):
        for key, inner in value.items():
            yield from named(f"{prefix}/{key}", inner)
    elif isinstance(value, (list, tuple)):
        for index, inner in enumerate(value):
            yield from named(f"{prefix}/{index}", inner)


def python_2(saved):
    """The same in the legacy format, with texts and tensors as torch 0.3 wrote them under Python 2."""
    legacy = io.BytesIO()
    torch.save(saved, legacy, _use_new_zipfile_serialization=False)
    rest = legacy.getvalue()
    for key in map(str.encode, saved):
        rest = rest.replace(b"X" + struct.pack("<i", len(key)) + key, b"U" + struct.pack("B", len(key)) + key)
    rest = rest.replace(b"_rebuild_tensor_v2", b"_rebuild_tensor")
    # without requires_grad and backward hooks: ... stride tuple, NEWFALSE, OrderedDict(), memo, tuple
    return re.sub(rb"\x89(ccollections\nOrderedDict\nq.|h.)\)Rq.t", b"t", rest, flags=re.DOTALL)


def write(folder):
    files = {"all_dtypes": all_dtypes(), "net": net().state_dict(), "nested": nested(),
             "views": views(), "alone": torch.arange(3)}
    (folder / "torch_files").mkdir(exist_ok=True)
    with open(folder / "torch_files.txt", "w", encoding="utf-8") as out:
        for file, saved in files.items():
            torch.save(saved, folder / "torch_files" / f"{file}.pt")
            torch.save(saved, folder / "torch_files" / f"legacy_{file}.pt", _use_new_zipfile_serialization=False)
            for prefix in "", "legacy_":
                for name, tensor in named("", saved):
                    print(line(prefix + file, name, tensor), file=out)
        old = {"w": torch.arange(6.0).view(2, 3), "b": torch.ones(2, dtype=torch.int64)}
        (folder / "torch_files" / "legacy_python_2.pt").write_bytes(python_2(old))
        for name, tensor in torch.load(folder / "torch_files" / "legacy_python_2.pt").items():
            print(line("legacy_python_2", name, tensor), file=out)
    torch.save(nested(), folder / "torch_files" / "nested_protocol_4.pt", pickle_protocol=4)
    torch.save(net(), folder / "torch_files" / "whole_module.pt")
    torch.save(net(), folder / "torch_files" / "legacy_whole_module.pt", _use_new_zipfile_serialization=False)
    torch.save(nested(), folder / "torch_files" / "legacy_nested_protocol_4.pt", pickle_protocol=4,
               _use_new_zipfile_serialization=False)
    with tarfile.open(folder / "torch_files" / "legacy_tar.pt", "w") as tar:  # as torch 0.1 began
        for name in "sys_info", "pickle", "tensors", "storages":
            tar.addfile(tarfile.TarInfo(name))
    torch.save({"sparse": torch.eye(2).to_sparse()}, folder / "torch_files" / "sparse.pt")
    torch.utils.serialization.config.save.compute_crc32 = False
    torch.save({"x": torch.ones(2)}, folder / "torch_files" / "no_checksums.pt")


def read(path):
    for mode in ({}, {"weights_only": False}, {"mmap": True}):
        for name, tensor in torch.load(path, **mode).items():
            print(line(str(mode), name, tensor))


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]))
    else:
        read(sys.argv[2])
