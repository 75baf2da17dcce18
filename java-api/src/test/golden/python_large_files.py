#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Reads files with a tensor "large" of torchfeed, or writes such files.

  python_large_files.py read FILE PLACE...         prints the tensor's size and its bytes at the places
  python_large_files.py write FILE BYTES PLACE...  writes a tensor with 1, 2, 3, ... at the places

FILE ends in .pt or .safetensors.
"""

import sys

import torch
from safetensors import safe_open
from safetensors.torch import save_file


def main() -> None:
    mode, path, *numbers = sys.argv[1:]
    if mode == "read":
        places = [int(number) for number in numbers]
        if path.endswith(".pt"):
            large = torch.load(path, weights_only=True, mmap=True)["large"]
        else:
            with safe_open(path, framework="pt") as file:
                large = file.get_tensor("large")
        print(large.numel(), *[int(large[place]) for place in places])
    else:
        size, *places = [int(number) for number in numbers]
        large = torch.zeros(size, dtype=torch.uint8)
        for i, place in enumerate(places):
            large[place] = i + 1
        if path.endswith(".pt"):
            torch.save({"large": large}, path)
        else:
            save_file({"large": large}, path)


main()
