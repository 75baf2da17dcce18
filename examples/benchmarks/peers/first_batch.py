#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The smallest Python program with a loader, for examples/benchmarks/startup: takes one batch and prints the age of its process."""

import os
import pathlib

import torch
from torch.utils.data import DataLoader, TensorDataset

batch = next(iter(DataLoader(TensorDataset(torch.ones(4096, 784)), batch_size=64)))[0]
assert batch.shape == (64, 784)
started = int(pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
print("first batch", float(pathlib.Path("/proc/uptime").read_text().split()[0]) - started)
print("torch", torch.__version__)
