#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints check sums of pictures that torchvision's operations and random transforms make.

python3 image_steps.py > ../../../java-api/src/test/resources/golden/image_steps.txt

Needs torch 2.10.0 and torchvision 0.25.0 on a processor with AVX2. The pictures are computed here
and in image_pictures.h.
"""
import itertools
import random
import zlib

import numpy
import torch
import torchvision
from torchvision.transforms import InterpolationMode, v2
from torchvision.transforms.v2 import functional as F

SIZES = [(1, 1), (1, 9), (2, 5), (3, 3), (5, 64), (32, 32), (33, 47), (65, 64)]


def noise(count):
    z = (numpy.arange(1, count + 1, dtype=numpy.uint64) * 2654435761) % 2**32
    z = ((z ^ z >> 15) * 2246822519) % 2**32
    return (z >> 24).astype(numpy.int64)


def picture(kind, height, width):
    y, x, c = numpy.meshgrid(range(height), range(width), range(3), indexing="ij")
    random_bytes = noise(height * width * 3).reshape(height, width, 3)
    pixels = {
        "noise": random_bytes,
        "smooth": (x * (5 + c) + y * (3 + 2 * c)) // 4 + 60 * c,
        "dark": random_bytes // 5 + 20 + 9 * c,
        "few": random_bytes & 0xC0,
        "flat": 17 + 100 * c,
        "grey": random_bytes[:, :, :1] + 0 * c,
        "colours": ((y * width + x) >> (6 * c)) % 64 * 4 + (x + y) % 4,
    }[kind]
    return torch.from_numpy((pixels % 256).astype(numpy.uint8)).permute(2, 0, 1)


def check_sum(image):
    return zlib.crc32(image.permute(1, 2, 0).contiguous().numpy().tobytes())


def augmentation(name):
    def apply(image, value, fill, filter):
        transform = v2.RandAugment(fill=fill)
        return transform._apply_image_or_video_transform(
            image, name, value, InterpolationMode(filter), transform._fill
        )

    return apply


OPERATIONS = {
    "ShearX": augmentation("ShearX"),
    "ShearY": augmentation("ShearY"),
    "TranslateX": augmentation("TranslateX"),
    "TranslateY": augmentation("TranslateY"),
    "Rotate": augmentation("Rotate"),
    "Brightness": lambda image, value, *_: F.adjust_brightness(image, value),
    "Saturation": lambda image, value, *_: F.adjust_saturation(image, value),
    "Contrast": lambda image, value, *_: F.adjust_contrast(image, value),
    "Sharpness": lambda image, value, *_: F.adjust_sharpness(image, value),
    "Posterize": lambda image, value, *_: F.posterize(image, int(value)),
    "Solarize": lambda image, value, *_: F.solarize(image, value),
    "AutoContrast": lambda image, value, *_: F.autocontrast(image),
    "Equalize": lambda image, value, *_: F.equalize(image),
    "Invert": lambda image, value, *_: F.invert(image),
    "Hue": lambda image, value, *_: F.adjust_hue(image, value),
    "Grey": lambda image, value, *_: F.rgb_to_grayscale(image, 3),
}


def values(name, draw):
    def some(low, high, count=6):
        return [numpy.float32(draw.uniform(low, high)).item() for _ in range(count)]

    if name in ("Brightness", "Saturation", "Contrast", "Sharpness"):
        return [0.0, 0.3, 0.999, 1.0, 1.37, 2.5, *some(0.1, 2), 1.0 + some(-0.9, 0.9, 1)[0]]
    if name in ("ShearX", "ShearY"):
        return [0.0, 0.3, -0.5, 0.99, *some(-1, 1)]
    if name in ("TranslateX", "TranslateY"):
        return [0.0, 1.0, -2.0, 7.0, -31.0, 100.0]
    if name == "Rotate":
        return [0.0, 9.0, -9.0, 90.0, -90.0, 180.0, 45.0, 135.0, *some(-135, 135)]
    if name == "Hue":
        return [0.0, 0.1, -0.1, 0.5, -0.5, *some(-0.5, 0.5)]
    if name == "Posterize":
        return [float(bits) for bits in range(9)]
    if name == "Solarize":
        return [0.0, 127.5, 128.0, 254.9, 255.0]
    return [0.0]


def operations():
    draw = random.Random(1)
    pictures = list(itertools.product(("noise", "smooth", "dark", "few", "flat", "grey"), SIZES))
    pictures += [("colours", (512, 512)), ("noise", (224, 224)), ("smooth", (150, 300))]
    for name, apply in OPERATIONS.items():
        geometric = name in ("ShearX", "ShearY", "TranslateX", "TranslateY", "Rotate")
        for number, (kind, (height, width)) in enumerate(pictures):
            if name == "Contrast" and height * width % 16:
                continue  # torch does not fuse in the last bytes, whose number depends on threads
            all_values = values(name, draw)
            chosen = all_values if number >= len(pictures) - 3 else draw.sample(all_values, min(3, len(all_values)))
            for value in chosen:
                fill = (10, 200, 30) if geometric and draw.random() < 0.3 else None
                filter = draw.choice(("nearest", "nearest", "bilinear")) if geometric else "nearest"
                made = apply(picture(kind, height, width), value, fill, filter)
                colour = fill or (0, 0, 0)
                print("operation", name, value, filter, *colour, kind, height, width, check_sum(made))


def whole_turns():
    """Hues that end just below a whole turn, where float32 has no other number than 1."""
    image = picture("noise", 33, 47)
    for hue in F._color._rgb_to_hsv(F.to_dtype(image, torch.float32, scale=True))[0, 0, :12]:
        value = -numpy.nextafter(hue.numpy(), numpy.float32(1)).item()
        if value >= -0.5:
            made = F.adjust_hue(image, value)
            print("operation", "Hue", value, "nearest", 0, 0, 0, "noise", 33, 47, check_sum(made))


def centre_crops():
    for kind, (height, width) in [("smooth", (7, 12)), ("noise", (33, 47)), ("smooth", (64, 65))]:
        for crop in [(1, 1), (7, 12), (8, 8), (20, 5), (5, 21), (40, 48), (65, 65), (70, 101)]:
            made = F.center_crop(picture(kind, height, width), list(crop))
            print("centre_crop", kind, height, width, *crop, check_sum(made))


PLANS = {
    "rand": [v2.RandAugment()],
    "rand_filled": [v2.RandAugment(3, 20, 31, fill=(124, 116, 104))],
    "trivial": [v2.TrivialAugmentWide()],
    "trivial_filled": [v2.TrivialAugmentWide(fill=(124, 116, 104))],
    "rand_bilinear": [v2.RandAugment(2, 14, interpolation=InterpolationMode.BILINEAR)],
    "trivial_bilinear": [
        v2.TrivialAugmentWide(interpolation=InterpolationMode.BILINEAR, fill=(124, 116, 104))
    ],
    "jitter": [v2.RandomHorizontalFlip(), v2.ColorJitter(0.4, 0.4, 0.4, 0.1)],
    "many": [
        v2.RandomVerticalFlip(0.3),
        v2.RandomHorizontalFlip(0.7),
        v2.RandomGrayscale(0.2),
        v2.RandomInvert(0.3),
        v2.RandomSolarize(100.0, 0.3),
        v2.RandomAdjustSharpness(1.7, 0.5),
        v2.ColorJitter(0.8, 0.5, 0.2, 0.5),
        v2.RandAugment(1, 12),
        v2.RandomErasing(0.6, value=(9, 99, 199)),
        v2.RandomErasing(0.5),
    ],
    "simclr": [
        v2.RandomHorizontalFlip(),
        v2.RandomApply([v2.ColorJitter(0.8, 0.8, 0.8, 0.2)], 0.8),
        v2.RandomGrayscale(0.2),
        v2.RandomApply([v2.GaussianBlur(23)], 0.5),
    ],
    "any_order": [
        v2.ColorJitter(0.4),
        v2.RandomHorizontalFlip(),
        v2.RandomErasing(0.5, value=(9, 99, 199)),
        v2.GaussianBlur(5, (0.3, 0.9)),
        v2.RandomErasing(0.5, value=(250, 50, 5)),
        v2.RandomVerticalFlip(0.6),
        v2.RandomHorizontalFlip(0.3),
        v2.ColorJitter(0.2, 0.2),
        v2.GaussianBlur(9, 1.3),
        v2.TrivialAugmentWide(),
        v2.RandomErasing(0.3),
    ],
    "nested": [
        v2.RandomApply([v2.RandomVerticalFlip(), v2.RandomApply([v2.RandomHorizontalFlip()], 0.5)], 0.8),
        v2.RandomApply(
            [
                v2.RandomGrayscale(0.5),
                v2.RandomApply([v2.GaussianBlur(3, (0.5, 1)), v2.RandomVerticalFlip()], 0.6),
                v2.RandomApply([v2.RandomApply([v2.RandomApply([v2.RandAugment()], 0.7)], 0.8)], 0.9),
                v2.RandomErasing(0.5, value=(1, 2, 3)),
            ],
            0.7,
        ),
        v2.RandomApply([v2.Grayscale(3)], 0.3),
        v2.RandomApply([v2.ColorJitter(hue=0.3)], 0),
        v2.RandomHorizontalFlip(),
    ],
}


def blurs():
    draw = random.Random(2)
    sizes = [*SIZES, (64, 7), (224, 224)]
    for kind, (height, width) in itertools.product(("noise", "smooth", "few", "flat"), sizes):
        for kernel in (1, 3, 5, 7, 9, 15, 23, 63, 127):
            if kernel // 2 >= min(height, width) or (kernel > 63 and kind != "noise"):
                continue
            drawn = [numpy.float32(draw.uniform(*range)).item() for range in ((0.1, 2), (0.1, 2), (2, 9))]
            for sigma in (0.001, 0.1, 2.0, 1000.0, *drawn):
                made = F.gaussian_blur(picture(kind, height, width), [kernel, kernel], [sigma, sigma])
                print("blur", kernel, sigma, kind, height, width, check_sum(made))
    made = F.gaussian_blur(picture("noise", 150, 300), [255, 255], [40.0, 40.0])
    print("blur", 255, 40.0, "noise", 150, 300, check_sum(made))


def plans():
    for name, steps in PLANS.items():
        transform = v2.Compose(steps)
        for seed in range(250):
            kind = ("noise", "smooth", "dark")[seed % 3]
            height, width = ((64, 64), (48, 71), (224, 224))[seed // 3 % 3]
            image = picture(kind, height, width)
            torch.manual_seed(seed)
            print("plan", name, seed, kind, height, width, check_sum(transform(image)))


if __name__ == "__main__":
    versions = f"torch {torch.__version__}, torchvision {torchvision.__version__}"
    print(f"# program native/test/golden/image_steps.py; {versions}")
    operations()
    whole_turns()
    centre_crops()
    blurs()
    plans()
