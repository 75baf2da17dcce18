#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes golden/all_dtypes.safetensors and .txt: a tensor of each dtype, as Python's safetensors does.

Run with torch 2.10.0 and safetensors 0.8.0:
  python3 src/test/golden/python_safetensors.py src/test/resources/golden
"""

import pathlib
import sys

import torch
from safetensors.torch import save_file

DTYPES = ["bool", "uint8", "int8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float16",
          "bfloat16", "float32", "float64", "complex64", "float8_e4m3fn", "float8_e5m2",
          "float8_e8m0fnu"]


def tensors():
    all_tensors = {}
    for dtype in DTYPES:
        numbers = torch.tensor([[0, 1, 2], [5, 64, 127]]).to(torch.float32)
        if dtype.startswith(("float", "bfloat", "complex")) and dtype != "float8_e8m0fnu":
            numbers = -numbers / 8
        all_tensors["of." + dtype] = numbers.to(getattr(torch, dtype))
    all_tensors["number"] = torch.tensor(-3)
    all_tensors["empty"] = torch.zeros(3, 0, 2)
    all_tensors["näme \"quoted\" \\ 漢"] = torch.tensor([1.5])
    return all_tensors


def main(folder):
    all_tensors = tensors()
    save_file(all_tensors, folder / "all_dtypes.safetensors", metadata={"format": "pt"})
    with open(folder / "all_dtypes.txt", "w", encoding="utf-8") as out:
        for name, tensor in sorted(all_tensors.items()):
            data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
            print(name, list(tensor.shape), data.hex(), sep="\t", file=out)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
