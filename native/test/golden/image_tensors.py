#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints pixels that torchvision's flips, color operations and normalization make of float tensors.

python3 image_tensors.py > ../../../java-api/src/test/resources/golden/image_tensors.txt

Needs torch 2.10.0 and torchvision 0.25.0. A line has the number of a picture, the steps and some
pixels, for different draws in one batch. The pictures are computed here and in
Pictures.
"""
import random

import torch
import torchvision
from torchvision.transforms.v2 import functional as F

HEIGHT, WIDTH = 23, 31
OPERATIONS = {
    "BRIGHTNESS": F.adjust_brightness,
    "CONTRAST": F.adjust_contrast,
    "SATURATION": F.adjust_saturation,
}
MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def picture(number):
    size = 3 * HEIGHT * WIDTH
    numbers = (torch.arange(size) + number * size) * 2654435761 % 2**32
    return (numbers >> 24).to(torch.uint8).reshape(3, HEIGHT, WIDTH)


def pixels(image):
    return ",".join(repr(x) for x in image.flatten()[::97].tolist())


if __name__ == "__main__":
    versions = f"torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}"
    print(f"# program native/test/golden/image_tensors.py; {versions}")
    draw = random.Random(1)
    for number in range(24):
        image = F.to_dtype(picture(number), torch.float32, scale=True)
        flips = number % 3 == 1
        if flips:
            image = F.horizontal_flip(image)
        steps = []
        for name in draw.sample(list(OPERATIONS), 3):
            factor = draw.choice([0.0, 1.0, draw.uniform(0, 1), draw.uniform(1, 2), draw.uniform(2, 9)])
            image = OPERATIONS[name](image, factor)
            steps.append(f"{name}:{factor!r}")
        normalized = F.normalize(image, MEAN, STD)
        print(f"image number={number} flips={int(flips)} steps={','.join(steps)} "
              f"normalized={pixels(normalized)}")
