#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints check sums of batches that torchvision's MixUp and CutMix make with given parameters.

python3 batch_mixes.py > ../../../java-api/src/test/resources/golden/batch_mixes.txt

Needs torch 2.10.0 and torchvision 0.25.0. The batches are computed here and in BatchMixTest.
"""
import random
import zlib

import torch
import torchvision
from torchvision.transforms import v2

CLASSES = 7


def images(shape):
    numbers = torch.arange(torch.Size(shape).numel(), dtype=torch.int64) * 2654435761 % 2**32
    return ((numbers >> 8).to(torch.float32) * 2.0**-23 - 1).reshape(shape)


def check_sum(tensor):
    return zlib.crc32(tensor.contiguous().numpy().tobytes())


def mixed(transform, shape, **params):
    transform.make_params = lambda flat: params
    labels = torch.arange(shape[0]) * 3 % CLASSES
    made, weights = transform(images(shape), labels)
    return f"{check_sum(made)} {check_sum(weights)}"


if __name__ == "__main__":
    versions = f"torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}"
    print(f"# program native/test/golden/batch_mixes.py; {versions}")
    draw = random.Random(1)
    for shape in [(1, 3, 4, 5), (2, 1, 6, 6), (5, 3, 17, 23), (64, 3, 32, 32)]:
        sizes = " ".join(map(str, shape))
        for share in [0.5, 1e-8, 1 - 2**-24, *(draw.random() for _ in range(6))]:
            print("mixup", sizes, repr(share), mixed(v2.MixUp(num_classes=CLASSES), shape, lam=share))
        height, width = shape[2:]
        for _ in range(8):
            top, left = draw.randrange(height), draw.randrange(width)
            h, w = draw.randrange(height - top + 1), draw.randrange(width - left + 1)
            share = 1 - h * w / (height * width)
            box = (left, top, left + w, top + h)
            print(
                "cutmix", sizes, top, left, h, w, repr(share),
                mixed(v2.CutMix(num_classes=CLASSES), shape, box=box, lam_adjusted=share),
            )
