#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the parameters that torchvision's random transforms draw.

python3 image_draws.py > ../../../java-api/src/test/resources/golden/image_draws.txt

Needs torch 2.10.0 and torchvision 0.25.0 on a processor with AVX2.
"""
import struct
import zlib

import torch
import torchvision
from torchvision.transforms import v2

GAMMA = 0x9E3779B97F4A7C15
WORD = 2**64
SCALE = (0.08, 1.0)
RATIO = (3 / 4, 4 / 3)


def mix(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def sample_words(seed, epoch, index, count):
    """The upper halves of the words of Java's SampleRandom."""
    state = mix((seed + GAMMA) % WORD)
    state = mix(state ^ (epoch + GAMMA) % WORD)
    state = mix(state ^ (index + GAMMA) % WORD)
    for _ in range(count):
        state = (state + GAMMA) % WORD
        yield mix(state) >> 32


def picture(height, width):
    return torch.zeros(3, 1, 1, dtype=torch.uint8).expand(3, height, width)


def crops(first, count, height, width, scale=SCALE, ratio=RATIO):
    transform = v2.RandomResizedCrop(1, scale=scale, ratio=ratio)
    for seed in range(first, first + count):
        torch.manual_seed(seed)
        box = transform.make_params([picture(height, width)])
        yield box["top"], box["left"], box["height"], box["width"]


def words():
    for seed, epoch, index in [(0, 0, 0), (42, 3, 1234), (-1, 2**63 - 1, 2**40), (2**62, 1, 0)]:
        print("words", seed, epoch, index, *sample_words(seed, epoch, index, 8))
    for low, high in [(0.0, 1.0), (0.6, 1.4), (-0.1, 0.1), (0.08, 1.0), (0.3, 0.3)]:
        for seed in range(50):
            torch.manual_seed(seed)
            numbers = [torch.empty(1).uniform_(low, high).item() for _ in range(4)]
            print("uniform", seed, low, high, *numbers)
    for seed in range(50):
        torch.manual_seed(seed)
        order = torch.randperm(4).tolist()
        print("integers", seed, *order, *(int(torch.randint(n, ())) for n in (1, 2, 31, 500, 2**28 - 1)))


def crop_lines():
    for count, height, width, scale, ratio in [
        (20_000, 375, 500, SCALE, RATIO),
        (2_000, 224, 224, SCALE, RATIO),
        (2_000, 1200, 1600, SCALE, RATIO),
        (1_000, 32, 32, SCALE, RATIO),
        (1_000, 40, 1000, SCALE, RATIO),
        (1_000, 1000, 40, (0.5, 1.0), RATIO),
        (1_000, 333, 500, (0.35, 1.0), (1.0, 1.0)),
        (1_000, 1, 7, SCALE, (0.5, 2.0)),
        (100, 2, 1000, (0.9, 1.0), (0.8, 1.25)),
        (100, 1000, 2, (0.9, 1.0), (0.8, 1.25)),
    ]:
        for first in range(0, count, 100):
            digest = 0
            for box in crops(first, 100, height, width, scale, ratio):
                digest = zlib.crc32(struct.pack("<4i", *box), digest)
            print("crops", first, height, width, *scale, *ratio, digest)
        for seed, box in enumerate(crops(0, 10, height, width, scale, ratio)):
            print("crop", seed, height, width, *scale, *ratio, *box)


def flips():
    torch.manual_seed(7)
    for p in (0.0, 0.1, 0.3, 0.5, 1.0, torch.rand(1).item()):
        for kind in (v2.RandomHorizontalFlip, v2.RandomVerticalFlip):
            transform = kind(p)
            flipped = []
            for seed in range(200):
                torch.manual_seed(seed)
                flipped.append(transform(torch.tensor([[[0, 1], [2, 3]]]))[0, 0, 0].item() != 0)
            print("events", p, "".join("01"[f] for f in flipped))


def jitters():
    for factors in [(0.4, 0.4, 0.4, 0.1), (0.8, 0.5, 1.0, 0.5), (0.4, 0, 0, 0), (0, 0.2, 0, 0.3), (0.1, 0.2, 0.3, 0)]:
        transform = v2.ColorJitter(*factors)
        for seed in range(100):
            torch.manual_seed(seed)
            drawn = transform.make_params([picture(8, 8)])
            kinds = ("brightness", "contrast", "saturation", "hue")
            ordered = [kinds[i] for i in drawn["fn_idx"].tolist()]
            ordered = [(kind, drawn[kind + "_factor"]) for kind in ordered]
            ranges = [getattr(transform, kind) or ("-", "-") for kind in kinds]
            print(
                "jitter", seed, *(bound for pair in ranges for bound in pair),
                *(field for pair in ordered if pair[1] is not None for field in pair),
            )


def erasings():
    for height, width, p, scale, ratio in [
        (32, 32, 0.5, (0.02, 0.33), (0.3, 3.3)),
        (20, 50, 0.9, (0.02, 0.33), (0.3, 3.3)),
        (50, 20, 1.0, (0.3, 0.9), (0.1, 10.0)),
        (3, 3, 1.0, (0.0, 1.0), (0.3, 3.3)),
    ]:
        transform = v2.RandomErasing(p, scale, ratio, value=0)
        for seed in range(100):
            torch.manual_seed(seed)
            erased = transform(torch.full((3, height, width), 255, dtype=torch.uint8))
            rows = (erased[0] == 0).any(1).nonzero().flatten().tolist()
            columns = (erased[0] == 0).any(0).nonzero().flatten().tolist()
            box = (rows[0], columns[0], len(rows), len(columns)) if rows else (0, 0, 0, 0)
            print("erasing", seed, height, width, p, *scale, *ratio, *box)


def parts():
    """RandomCrop with padding, then RandomHorizontalFlip, of a picture of different int64 numbers."""
    for height, width, size, padding, p in [
        (32, 32, (32, 32), 4, 0.5),
        (28, 28, (20, 24), 0, 0.3),
        (9, 30, (9, 30), 0, 0.5),
        (9, 30, (9, 20), 0, 1.0),
        (5, 6, (9, 7), 2, 0.0),
    ]:
        crop, flip = v2.RandomCrop(size, padding=padding), v2.RandomHorizontalFlip(p)
        marked = torch.arange(height * width).reshape(1, height, width) + 1
        for seed in range(100):
            torch.manual_seed(seed)
            made = flip(crop(marked))[0]
            digest = zlib.crc32(made.contiguous().numpy().tobytes())
            print("part", seed, height, width, *size, padding, p, digest)


class Recorded:
    """Notes the operations of an augmentation instead of applying them."""

    def _apply_image_or_video_transform(self, image, transform_id, magnitude, interpolation, fill):
        self.record += [transform_id, magnitude]
        return image


class RandAugment(Recorded, v2.RandAugment):
    pass


class TrivialAugmentWide(Recorded, v2.TrivialAugmentWide):
    pass


def augmentations():
    for ops, magnitude, bins in [(2, 9, 31), (3, 0, 31), (1, 30, 31), (2, 5, 10), (2, 3, 9), (4, 14, 31)]:
        transform = RandAugment(ops, magnitude, bins)
        for seed in range(120):
            height, width = (224, 224) if seed % 2 else (32 + seed, 500)
            torch.manual_seed(seed)
            transform.record = []
            transform(picture(height, width))
            print("rand_augment", seed, height, width, ops, magnitude, bins, *transform.record)
    for bins in (31, 10):
        transform = TrivialAugmentWide(bins)
        for seed in range(250):
            torch.manual_seed(seed)
            transform.record = []
            transform(picture(32, 40))
            print("trivial_augment", seed, bins, *transform.record)


def mixes():
    for alpha in (0.1, 0.2, 0.8, 1.0, 2.5):
        mixup = v2.MixUp(alpha=alpha, num_classes=10)
        cutmix = v2.CutMix(alpha=alpha, num_classes=10)
        for seed in range(100):
            height, width = (224, 224) if seed % 2 else (32 + seed, 50)
            torch.manual_seed(seed)
            print("mixup", seed, alpha, mixup.make_params([picture(height, width)])["lam"])
            torch.manual_seed(seed)
            drawn = cutmix.make_params([picture(height, width)])
            print("cutmix", seed, alpha, height, width, drawn["lam_adjusted"], *drawn["box"])


if __name__ == "__main__":
    versions = f"torch {torch.__version__}, torchvision {torchvision.__version__}"
    print(f"# program native/test/golden/image_draws.py; {versions}")
    words()
    crop_lines()
    flips()
    jitters()
    erasings()
    parts()
    augmentations()
    mixes()
