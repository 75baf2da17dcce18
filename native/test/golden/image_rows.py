#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small pictures of every kind, and the pixels that Pillow and torchvision make of them.

python3 image_rows.py ../../../java-api/src/test/resources/golden/images

Needs torch 2.10, torchvision 0.25, Pillow 13, numpy and simplejpeg (for the samplings 4:4:0 and 4:1:1), on
a processor with AVX2. What Pillow 12.0 makes is computed with a call of resize for each axis. Each line of cases.txt is one of

  pass FILE DIALECT FILTER CROP SIZE WINDOW FLIPS CRC   the CRC-32 of the bytes, by row, column, channel
  plan FILE CRC SEED STEP...                            the CRC-32 of the row, by channel, row, column
  draw FILE CRC SEED STEP...                            the same, of random steps

with the crop and the window as left, top, width, height, the size as width, height, flips as left-right,
top-bottom, the seed of torch's generator, and the steps as numbers as in torchfeed/image_plan.h.
"""
import io
import pathlib
import platform
import struct
import sys
import zlib

import numpy as np
import PIL
import simplejpeg
import torch
import torchvision
from PIL import Image, ImageCms, ImageOps
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional

FILTERS = ["BOX", "BILINEAR", "BICUBIC", "LANCZOS"]
MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
NORMAL = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
NORMAL_STEP = [4, *(float(np.float32(value)) for value in MEAN + STD)]


def picture(height, width, seed):
    """Smooth areas, edges and noise."""
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:height, 0:width]
    waves = [128 + 120 * np.sin(x / a + y / b + c) for a, b, c in random.uniform(3, 20, (3, 3))]
    pixels = np.stack(waves, axis=2)
    for _ in range(6):
        left, top = random.integers(0, width), random.integers(0, height)
        area = pixels[top : top + height // 3 + 1, left : left + width // 3 + 1]
        area[:] = random.integers(0, 256, 3)
    noisy = pixels[height // 2 :, width // 2 :]
    noisy += random.normal(0, 40, noisy.shape)
    return np.clip(pixels, 0, 255).astype(np.uint8)


def encoded(image, kind="JPEG", **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def with_adobe_transform(jpeg, transform):
    at = jpeg.index(b"Adobe")
    return jpeg[: at + 11] + bytes([transform]) + jpeg[at + 12 :]


def png(rows, depth, colour, extra=b"", interlaced=False):
    """A PNG with unfiltered rows; `rows` are arrays of samples [height, width, channels]."""

    def chunk(name, content):
        return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))

    def packed(part):
        if depth == 16:
            return part.astype(">u2").tobytes()
        if depth == 8:
            return part.astype(np.uint8).tobytes()
        bits = (part.reshape(-1)[:, None] >> np.arange(depth - 1, -1, -1)) & 1
        return np.packbits(bits.astype(np.uint8).reshape(-1)).tobytes()

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    data = b""
    for top, left, down, right in passes if interlaced else [(0, 0, 1, 1)]:
        part = rows[top::down, left::right]
        if part.size:
            data += b"".join(b"\0" + packed(row) for row in part)
    height, width = rows.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, depth, colour, 0, 0, interlaced)
    chunks = chunk(b"IHDR", header) + extra + chunk(b"IDAT", zlib.compress(data, 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + chunks


def jpegs():
    large, odd = Image.fromarray(picture(118, 150, 1)), Image.fromarray(picture(61, 47, 2))
    for name, sampling in (("444", 0), ("422", 1), ("420", 2)):
        yield name, encoded(large, quality=85, subsampling=sampling)
        yield f"{name}_odd", encoded(odd, quality=92, subsampling=sampling)
        yield f"{name}_progressive", encoded(large, quality=75, subsampling=sampling, progressive=True)
    for name in ("440", "411"):
        for size, image in (("", large), ("_odd", odd)):
            yield name + size, simplejpeg.encode_jpeg(
                np.ascontiguousarray(np.asarray(image)), quality=85, colorsubsampling=name
            )
    yield "restart_rows", encoded(large, quality=80, subsampling=2, restart_marker_rows=1)
    yield "restart_blocks", encoded(odd, quality=80, subsampling=1, restart_marker_blocks=2)
    yield "optimized", encoded(odd, quality=30, optimize=True)
    yield "grey", encoded(large.convert("L"), quality=85)
    yield "grey_progressive", encoded(odd.convert("L"), quality=85, progressive=True)
    yield "rgb", encoded(odd, quality=90, keep_rgb=True)
    cmyk = Image.merge("CMYK", [*large.split(), large.convert("L").rotate(180)])
    yield "cmyk", encoded(cmyk, quality=85)
    yield "ycck", with_adobe_transform(encoded(cmyk, quality=85), 2)
    yield "ycck_420", with_adobe_transform(encoded(cmyk, quality=80, subsampling=2, progressive=True), 2)
    exif = Image.Exif()
    exif[0x0112] = 6
    yield "turned", encoded(odd, quality=85, exif=exif)
    profile = ImageCms.ImageCmsProfile(ImageCms.createProfile("XYZ")).tobytes()
    undated = profile[:24] + bytes(12) + profile[36:]
    yield "profile", encoded(odd, quality=85, icc_profile=undated)
    plain = encoded(odd, quality=85)
    yield "extraneous_bytes", plain[:2] + b"\xff" * 5 + plain[2:-2] + b"\x12" * 40 + plain[-2:]
    yield "one_pixel", encoded(odd.crop((3, 3, 4, 4)))
    yield "tall", encoded(Image.fromarray(picture(404, 4, 3)), quality=85)
    yield "wide", encoded(Image.fromarray(picture(5, 700, 4)), quality=85)


def others():
    pixels = picture(29, 37, 5)
    image = Image.fromarray(pixels)
    alpha = Image.fromarray(picture(29, 37, 6)[:, :, 0])
    yield "rgb.png", encoded(image, "PNG")
    yield "rgba.png", encoded(Image.merge("RGBA", [*image.split(), alpha]), "PNG")
    yield "grey.png", encoded(image.convert("L"), "PNG")
    yield "grey_alpha.png", encoded(Image.merge("LA", [image.convert("L"), alpha]), "PNG")
    yield "palette.png", encoded(image.quantize(60), "PNG")
    yield "palette_4bit.png", encoded(image.quantize(11), "PNG", bits=4)
    yield "palette_transparent.png", encoded(image.quantize(16), "PNG", transparency=3)
    yield "one_bit.png", encoded(image.convert("1"), "PNG")
    yield "interlaced.png", png(pixels, 8, 2, interlaced=True)
    yield "grey_2bit.png", png(pixels[:, :, :1] >> 6, 2, 0)
    wide = pixels.astype(np.uint16) * 257 ^ 0x5A
    yield "rgb_16bit.png", png(wide, 16, 2)
    yield "rgba_16bit_interlaced.png", png(np.dstack([wide, wide[:, :, 0]]), 16, 6, interlaced=True)
    yield "grey_16bit.png", png(wide[:, :, :1], 16, 0)
    yield "lossy.webp", encoded(image, "WEBP", quality=70)
    yield "lossless.webp", encoded(image, "WEBP", lossless=True)
    yield "alpha.webp", encoded(Image.merge("RGBA", [*image.split(), alpha]), "WEBP", lossless=True, exact=True)


def decoded(name, content):
    if name == "grey_16bit.png":  # of which Pillow clips everything above 255
        high = np.asarray(Image.open(io.BytesIO(content))).astype(np.int64) >> 8
        return Image.fromarray(np.dstack([high.astype(np.uint8)] * 3))
    return Image.open(io.BytesIO(content)).convert("RGB")


def crops(random, width, height):
    """Whole, then at each border, in each corner, and anywhere."""
    yield 0, 0, width, height
    w, h = max(1, width // 3), max(1, height // 3)
    right, bottom = width - w, height - h
    yield from ((0, bottom // 2, w, h), (right, bottom // 2, w, h), (right // 2, 0, w, h), (right // 2, bottom, w, h))
    yield from ((0, 0, w, h), (right, 0, w, h), (0, bottom, w, h), (right, bottom, w, h))
    for _ in range(4):
        w, h = int(random.integers(1, width + 1)), int(random.integers(1, height + 1))
        yield int(random.integers(0, width - w + 1)), int(random.integers(0, height - h + 1)), w, h


def pillow_pass(image, filter_name, crop, size, window, width_first=False):
    left, top, width, height = crop
    part = image.crop((left, top, left + width, top + height))
    for step in ((size[0], height), size) if width_first else (size,):
        part = part.resize(step, Image.Resampling[filter_name])
    left, top, width, height = window
    return np.asarray(part.crop((left, top, left + width, top + height)))


def pillow_12_pass(image, filter_name, crop, size, window):
    return pillow_pass(image, filter_name, crop, size, window, width_first=True)


def torchvision_pass(image, filter_name, crop, size, window):
    left, top, width, height = crop
    mode = v2.InterpolationMode[filter_name]
    tensor = functional.pil_to_tensor(image)
    tensor = functional.resized_crop(tensor, top, left, height, width, size[::-1], interpolation=mode, antialias=True)
    left, top, width, height = window
    return functional.crop(tensor, top, left, height, width).permute(1, 2, 0).contiguous().numpy()


def pass_case(name, image, dialect, filter_name, crop, size, window, flips):
    pixels = (pillow_pass, torchvision_pass, pillow_12_pass)[dialect](image, filter_name, crop, size, window)
    pixels = pixels[:: -1 if flips[1] else 1, :: -1 if flips[0] else 1]
    numbers = [dialect, FILTERS.index(filter_name), *crop, *size, *window, *flips]
    crc = zlib.crc32(np.ascontiguousarray(pixels).tobytes())
    return f"pass {name} {' '.join(map(str, numbers))} {crc:08x}"


def pass_cases(name, image, random):
    width, height = image.size
    for crop in crops(random, width, height):
        size = crop[2:]
        yield pass_case(name, image, 0, "BILINEAR", crop, size, (0, 0, *size), (0, 0))
    for dialect, filters in ((0, FILTERS), (1, FILTERS[1:3]), (2, FILTERS[1:])):
        for filter_name in filters:
            w, h = int(random.integers(1, width + 1)), int(random.integers(1, height + 1))
            crop = int(random.integers(0, width - w + 1)), int(random.integers(0, height - h + 1)), w, h
            size = int(random.integers(1, 70)), int(random.integers(1, 70))
            if random.integers(0, 4) == 0:
                size = (w, size[1])
            if random.integers(0, 4) == 0:
                size = (size[0], h)
            window = (0, 0, *size)
            if random.integers(0, 2) == 0:
                window = tuple(int(v) for v in (*random.integers(-5, 9, 2), *random.integers(9, 40, 2)))
            flips = tuple(int(v) for v in random.integers(0, 2, 2))
            yield pass_case(name, image, dialect, filter_name, crop, size, window, flips)
    for size in ((width - 9, height - 18), (width - 9, height - 19), (width + 1, height - 1), (width, height - 1)):
        if min(size) > 0:  # on both sides of Pillow 13's rule
            yield pass_case(name, image, 0, "BICUBIC", (0, 0, width, height), size, (0, 0, *size), (0, 0))


def plan_cases(name, image):
    tensor = functional.pil_to_tensor(image)
    for steps, source, transforms in (
        ([0, 0, 1, 1, 40, 3, 32, 30], image, [v2.Resize(40), v2.CenterCrop((32, 30)), v2.PILToTensor()]),
        ([0, 0, 2, 1, 24, 3, 40, 45], image, [v2.Resize(24, v2.InterpolationMode.BICUBIC), v2.CenterCrop((40, 45)), v2.PILToTensor()]),
        ([0, 0, 1, 2, 20, 33], image, [v2.Resize((20, 33)), v2.PILToTensor()]),
        ([0, 0, 1, 3, 31, 44], image, [v2.CenterCrop((31, 44)), v2.PILToTensor()]),
        ([0, 1, 1, 1, 40, 3, 32, 30, *NORMAL_STEP], tensor, [v2.Resize(40, antialias=True), v2.CenterCrop((32, 30)), *NORMAL]),
        ([0, 3, 1, 2, 20, 33], tensor, [v2.Resize((20, 33), antialias=False)]),
        ([0, 3, 1, 1, 40, 3, 32, 30, *NORMAL_STEP], tensor, [v2.Resize(40, antialias=False), v2.CenterCrop((32, 30)), *NORMAL]),
        ([0, 1, 2, 2, 50, 33, *NORMAL_STEP], tensor, [v2.Resize((50, 33), v2.InterpolationMode.BICUBIC), *NORMAL]),
    ):
        yield plan_case("plan", name, 0, steps, source, transforms)


def random_cases(name, image):
    tensor = functional.pil_to_tensor(image)
    nan = float("nan")
    crop, crop_step = v2.RandomResizedCrop((30, 28), antialias=True), [5, 30, 28, 0.08, 1, 3 / 4, 4 / 3]
    jitter = v2.ColorJitter(brightness=0.4, saturation=(0.5, 0.9), hue=0.1)
    jitter_step = [8, 0.6, 1.4, nan, nan, 0.5, 0.9, -0.1, 0.1]
    flip, flip_step = v2.RandomHorizontalFlip(0.5), [6, 0.5]
    augment = [crop, v2.RandomVerticalFlip(0.3), v2.RandAugment(2, 9), *NORMAL]
    trivial = [v2.Resize((31, 33)), v2.TrivialAugmentWide()]
    erasing, erasing_step = v2.RandomErasing(0.7), [12, 0.7, 0.02, 0.33, 0.3, 3.3]
    colour = v2.RandomErasing(0.8, (0.1, 0.6), (0.2, 2.5), (9, 99, 199))
    colour_step = [11, 0.8, 0.1, 0.6, 0.2, 2.5, 9, 99, 199]
    for seed in range(20):
        for steps, source, transforms in (
            ([0, 0, 1, *crop_step, *flip_step], image, [crop, flip, v2.PILToTensor()]),
            ([0, 1, 1, *crop_step, *flip_step, *NORMAL_STEP], tensor, [crop, flip, *NORMAL]),
            ([0, 1, 1, *crop_step, *flip_step, *jitter_step], tensor, [crop, flip, jitter]),
            ([0, 1, 1, *crop_step, 7, 0.3, 9, 2, 9, 31, *NORMAL_STEP], tensor, augment),
            ([0, 1, 1, 2, 31, 33, 10, 31], tensor, trivial),
            ([0, 1, 1, *crop_step, *flip_step, *NORMAL_STEP, *erasing_step], tensor, [crop, flip, *NORMAL, erasing]),
            ([0, 1, 1, *crop_step, *jitter_step, *erasing_step], tensor, [crop, jitter, erasing]),
            ([0, 1, 1, *crop_step, *flip_step, *colour_step, *NORMAL_STEP], tensor, [crop, flip, colour, *NORMAL]),
        ):
            yield plan_case("draw", name, seed, steps, source, transforms)


def turned():
    """Pictures with an EXIF orientation: all of a JPEG, and one of the other formats."""
    for orientation in range(1, 9):
        image = Image.fromarray(picture(43 + orientation, 31, 20 + orientation))
        exif = Image.Exif()
        exif[0x0112] = orientation
        exif[0x010F] = "torchfeed"
        little = exif.tobytes()
        options = dict(quality=85, subsampling=orientation % 3, progressive=orientation % 4 == 0)
        yield f"exif_{orientation}.jpg", encoded(image, exif=big_endian(orientation) if orientation % 2 else little, **options)
    yield "exif_6.png", encoded(image, "PNG", exif=big_endian(6))
    yield "exif_5.webp", encoded(image, "WEBP", lossless=True, exif=big_endian(5))


def big_endian(orientation):
    """EXIF data of one entry, behind a gap."""
    entry = struct.pack(">HHIHH", 0x0112, 3, 1, orientation, 0)
    return b"Exif\0\0MM\0*" + struct.pack(">I", 12) + bytes(4) + struct.pack(">H", 1) + entry + bytes(4)


def turned_cases(name, content):
    image = ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGB")
    for steps, transforms in (
        ([2, 20, 33], [v2.Resize((20, 33))]),
        ([3, 60, 25], [v2.CenterCrop((60, 25))]),
        ([1, 30, 3, 21, 12], [v2.Resize(30), v2.CenterCrop((21, 12))]),
    ):
        yield plan_case("plan", name, 0, [13, 0, 0, 1, *steps], image, [*transforms, v2.PILToTensor()])
    for seed in range(5):
        crop = v2.RandomResizedCrop((18, 13))
        steps = [13, 0, 0, 1, 5, 18, 13, 0.08, 1, 3 / 4, 4 / 3, 6, 0.5]
        yield plan_case("draw", name, seed, steps, image, [crop, v2.RandomHorizontalFlip(0.5), v2.PILToTensor()])


def plan_case(kind, name, seed, steps, source, transforms):
    torch.manual_seed(seed)
    row = v2.Compose(transforms)(source).contiguous().numpy()
    return f"{kind} {name} {zlib.crc32(row.tobytes()):08x} {seed} {' '.join(map(repr, steps))}"


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    files = [(f"{name}.jpg", content) for name, content in jpegs()] + list(others())
    for number, (name, content) in enumerate(files):
        (folder / name).write_bytes(content)
        image = decoded(name, content)
        lines += pass_cases(name, image, np.random.default_rng(number))
        if name in ("420.jpg", "444_odd.jpg", "tall.jpg", "wide.jpg", "cmyk.jpg", "rgba.png", "lossy.webp"):
            lines += plan_cases(name, image)
        if name in ("420.jpg", "444_odd.jpg", "ycck.jpg", "rgba.png"):
            lines += random_cases(name, image)
    for name, content in turned():
        (folder / name).write_bytes(content)
        lines += turned_cases(name, content)
    versions = (
        f"torch {torch.__version__.split('+')[0]}, torchvision {torchvision.__version__.split('+')[0]}, "
        f"Pillow {PIL.__version__}, Python {platform.python_version()}"
    )
    header = f"# program native/test/golden/image_rows.py; {versions}; arguments none; cases {len(lines)}"
    (folder / "cases.txt").write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
