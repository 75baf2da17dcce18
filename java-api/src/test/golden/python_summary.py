# SPDX-License-Identifier: Apache-2.0
"""Writes the records of PyTorch's SummaryWriter as hexadecimal numbers, and pictures as their pixels.

Usage: python_summary.py > ../resources/golden/python_summary.txt
Needs torch, tensorboard, numpy and Pillow. Sums of the histograms' values are exact in any order.
"""

import io
import struct
import tempfile
from pathlib import Path

import numpy
import PIL.Image
import torch
from tensorboard.compat.proto import event_pb2
from torch.utils.tensorboard import SummaryWriter

TIME = 1764288000.25  # of each record

# The tensors of the Java test
TENSORS = {
    "eighths": torch.arange(-20, 44, dtype=torch.float32) / 8,
    "one": torch.tensor([0.5], dtype=torch.float64),
    "zeros": torch.zeros(3, 2),
    "large": torch.tensor([2.0**40, -(2.0**20), 0.0, 1.0]),
    "integers": torch.arange(-3, 9, dtype=torch.int64).reshape(3, 4),
    "half": torch.tensor([0.25, -0.25, 1.5], dtype=torch.float16),
}


def records(folder):
    (path,) = Path(folder).iterdir()
    data = path.read_bytes()
    at = 0
    while at < len(data):
        (length,) = struct.unpack_from("<Q", data, at)
        yield data[at : at + length + 16]
        at += length + 16


def write(add, **options):
    """Returns the last record of a file."""
    with tempfile.TemporaryDirectory() as folder:
        writer = SummaryWriter(folder, **options)
        add(writer)
        writer.close()
        return list(records(folder))[-1]


def line(name, record):
    print(name, record.hex())


print("# python_summary.py, torch", torch.__version__.split("+")[0])
for value in [0.0, -0.0, 0.1, 1e300, float("nan"), float("inf"), -2.5]:
    line(f"scalar:{value}", write(lambda w: w.add_scalar("loss/train", value, 7, walltime=TIME)))
for step in [0, 1, 127, 128, 2**31, 2**63 - 1]:
    line(f"step:{step}", write(lambda w: w.add_scalar("Genauigkeit in ‰", 1, step, walltime=TIME)))
for name, tensor in TENSORS.items():
    line(f"histogram:{name}", write(lambda w: w.add_histogram(name, tensor, 3, walltime=TIME)))


def pixels(add):
    event = event_pb2.Event.FromString(write(add)[12:-4])
    (value,) = event.summary.value
    image = numpy.asarray(PIL.Image.open(io.BytesIO(value.image.encoded_image_string)))
    shape = f"{value.image.height}x{value.image.width}x{value.image.colorspace}"
    return shape, image.tobytes().hex()


for channels in [1, 3, 4]:
    ints = (torch.arange(channels * 6) * 17 % 256).to(torch.uint8).reshape(channels, 2, 3)
    floats = (torch.arange(channels * 6, dtype=torch.float32) / 8 - 0.25).reshape(channels, 2, 3)
    print(f"uint8:{channels}", *pixels(lambda w: w.add_image("a", ints)))
    print(f"float:{channels}", *pixels(lambda w: w.add_image("a", floats)))
