#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes small pictures of rare kinds, and the pixels that Pillow makes of them.

python3 image_kinds.py ../../../java-api/src/test/resources/golden/images/kinds

Needs Pillow 13, numpy, tifffile and imagecodecs (for tiles, planes and lossless JPEGs). Each line of kinds.txt is

  whole FILE WIDTH HEIGHT CRC   of `convert("RGB")`, by row, column, channel; gray values of 16 bits by their high byte
  clip FILE WIDTH HEIGHT CRC    the same, as Pillow clips them
  turned FILE WIDTH HEIGHT CRC  after `exif_transpose`
"""
import io
import pathlib
import platform
import struct
import sys
import zlib

import imagecodecs
import numpy as np
import PIL
import tifffile
from PIL import Image, ImageOps, PngImagePlugin
from PIL.ExifTags import Base

WIDTH, HEIGHT = 37, 21


def picture(seed=0):
    random = np.random.default_rng(seed)
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH]
    pixels = np.stack([128 + 120 * np.sin(x / a + y / b) for a, b in random.uniform(3, 9, (3, 2))], axis=2)
    pixels[HEIGHT // 2 :, WIDTH // 2 :] += random.normal(0, 40, pixels[HEIGHT // 2 :, WIDTH // 2 :].shape)
    return np.clip(pixels, 0, 255).astype(np.uint8)


RGB = picture()
GRAY = RGB[:, :, 0]
WIDE = GRAY.astype(np.uint16) * 257 ^ 0x5A
WIDE[0, :9] = range(250, 259)
ALPHA = picture(1)[:, :, 1]
IMAGE = Image.fromarray(RGB)


def saved(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def bmp(bits, rows, palette=b"", compression=0, masks=b"", height=HEIGHT, header=40):
    if header == 12:
        head = struct.pack("<IHHHH", 12, WIDTH, height, 1, bits)
    else:
        head = struct.pack("<IiiHHIIiiII", header, WIDTH, height, 1, bits, compression, len(rows), 0, 0, 0, 0)
        head += (masks + bytes(header - 40))[: header - 40] if header > 40 else masks
    at = 14 + len(head) + len(palette)
    return b"BM" + struct.pack("<IHHI", at + len(rows), 0, 0, at) + head + palette + rows


def padded(rows):
    return b"".join(row + bytes(-len(row) % 4) for row in rows)


def runs(indices, four):
    """Rows from below as runs, single pixels and a jump."""
    out = b""
    for row in indices[::-1]:
        values = [int(value) for value in row]
        out += bytes([5, values[0] * (17 if four else 1)])
        single = values[5:26]
        if four:
            packed = bytes((a << 4) | b for a, b in zip(single[::2], single[1::2] + [0]))
        else:
            packed = bytes(single)
        out += bytes([0, len(single)]) + packed + bytes(len(packed) % 2)
        out += bytes([len(values) - 26, 0x12 if four else 7, 0, 0])
    return out + b"\0\1"


def bmps():
    palette = b"".join(bytes([i * 3 % 256, i, 255 - i, 0]) for i in range(256))
    up = RGB[::-1].astype(np.int64)
    four = up[:, :, 0] >> 4
    yield "one_bit.bmp", saved(IMAGE.convert("1"), "BMP")
    yield "two_colors.bmp", bmp(1, padded([np.packbits(row > 99).tobytes() for row in up[:, :, 0]]), palette[80:88])
    nibbles = [np.append(row, [0] * (len(row) % 2)) for row in four]
    rows = padded([bytes(int(a) << 4 | int(b) for a, b in zip(row[::2], row[1::2])) for row in nibbles])
    yield "four_bits.bmp", bmp(4, rows, palette[100:164])
    few = struct.pack("<I", 70)
    content = bmp(8, padded([row.tobytes() for row in GRAY[::-1]]), palette[:280])
    yield "missing_colors.bmp", content[:46] + few + content[50:]
    yield "gray.bmp", saved(IMAGE.convert("L"), "BMP")
    yield "palette.bmp", saved(IMAGE.quantize(40), "BMP")
    yield "rgb.bmp", saved(IMAGE, "BMP")
    yield "rgba.bmp", saved(Image.fromarray(np.dstack([RGB, ALPHA])), "BMP")
    small = up >> 3
    words = (small[:, :, 0] << 10 | small[:, :, 1] << 5 | small[:, :, 2]).astype("<u2")
    yield "555.bmp", bmp(16, padded([row.tobytes() for row in words]))
    words = (small[:, :, 0] << 11 | up[:, :, 1] >> 2 << 5 | small[:, :, 2]).astype("<u2")
    masks = struct.pack("<III", 0xF800, 0x7E0, 0x1F)
    yield "565.bmp", bmp(16, padded([row.tobytes() for row in words]), compression=3, masks=masks)
    bgra = np.dstack([RGB[::-1, :, ::-1], ALPHA[::-1]])
    masks = struct.pack("<IIII", 0xFF0000, 0xFF00, 0xFF, 0xFF000000)
    yield "bgra_v4.bmp", bmp(32, bgra.tobytes(), compression=3, masks=masks, header=108)
    masks = struct.pack("<IIII", 0xFF000000, 0xFF0000, 0xFF00, 0xFF)
    yield "abgr_v4.bmp", bmp(32, bgra[:, :, [3, 0, 1, 2]].tobytes(), compression=3, masks=masks, header=108)
    yield "from_top.bmp", bmp(24, padded([row.tobytes() for row in RGB[:, :, ::-1]]), height=-HEIGHT)
    yield "os2.bmp", bmp(24, padded([row.tobytes() for row in RGB[::-1, :, ::-1]]), header=12)
    core = b"".join(bytes([i, 255 - i, i * 5 % 256]) for i in range(256))
    yield "os2_palette.bmp", bmp(8, padded([row.tobytes() for row in GRAY[::-1]]), core, header=12)
    yield "runs_8.bmp", bmp(8, runs(GRAY, False), palette, compression=1)
    yield "runs_4.bmp", bmp(4, runs(GRAY >> 4, True), palette[100:164], compression=2)


def pnms():
    size = b"%d %d" % (WIDTH, HEIGHT)
    text = lambda values: b"\n".join(b" ".join(b"%d" % v for v in row.reshape(-1)) for row in values)
    bits = (GRAY > 120).astype(np.uint8)
    yield "text.pbm", b"P1\n# a comment\n" + size + b"\n" + b"\n".join(bytes(48 + row) for row in bits)
    yield "bits.pbm", b"P4 " + size + b"\n" + b"".join(np.packbits(row).tobytes() for row in bits)
    yield "text.pgm", b"P2\n" + size + b" # most\n99\n" + text(GRAY.astype(np.int64) * 99 // 255)
    yield "bytes.pgm", b"P5\n" + size + b"\n255\n" + GRAY.tobytes()
    yield "maximum_100.pgm", b"P5\n" + size + b"\n100\n" + (GRAY // 3).tobytes()
    yield "wide.pgm", b"P5\n" + size + b"\n65535\n" + WIDE.astype(">u2").tobytes()
    yield "maximum_1000.pgm", b"P5\n" + size + b"\n1000\n" + (GRAY.astype(">u2") * 3).astype(">u2").tobytes()
    yield "text.ppm", b"P3\n" + size + b"\n255\n" + text(RGB)
    yield "bytes.ppm", b"P6\n" + size + b"\n255\n" + RGB.tobytes()
    yield "maximum_7.ppm", b"P6\n" + size + b"\n7\n" + (RGB >> 5).tobytes()
    yield "wide.ppm", b"P6\n" + size + b"\n65535\n" + (RGB.astype(">u2") * 257).astype(">u2").tobytes()


def gifs():
    few = IMAGE.quantize(13)
    yield "plain.gif", saved(IMAGE.quantize(256), "GIF", interlace=0)
    yield "interlaced.gif", saved(few, "GIF", interlace=1)
    content = bytearray(saved(IMAGE.quantize(256), "GIF", interlace=0))
    content[10] = content[10] & 0xF8 | 5
    del content[13 + 3 * 64 : 13 + 3 * 256]
    yield "missing_colors.gif", bytes(content)
    yield "gray.gif", saved(IMAGE.convert("L"), "GIF", interlace=0)
    other = Image.fromarray(255 - RGB).quantize(50)
    yield "animated.gif", saved(few, "GIF", save_all=True, append_images=[other], interlace=0)
    yield "transparent.gif", saved(few, "GIF", transparency=3, interlace=0)
    for name in ("part", "part_transparent"):
        content = bytearray(saved(few, "GIF", interlace=0, **({"transparency": 5} if "_" in name else {})))
        content[6:10] = struct.pack("<HH", WIDTH + 9, HEIGHT + 4)
        at = content.index(b"," + bytes(4) + struct.pack("<HH", WIDTH, HEIGHT))
        content[at + 1 : at + 5] = struct.pack("<HH", 6, 3)
        yield name + ".gif", bytes(content)


def chunk(name, content):
    return name + struct.pack("<I", len(content)) + content + bytes(len(content) % 2)


def webps():
    other = Image.fromarray(255 - RGB)
    yield "animated.webp", saved(IMAGE, "WEBP", save_all=True, append_images=[other], lossless=True)
    rgba = Image.fromarray(np.dstack([RGB, ALPHA]))
    yield "animated_alpha.webp", saved(rgba, "WEBP", save_all=True, append_images=[other], quality=80)
    frame = saved(IMAGE, "WEBP", lossless=True)[12:]
    sides = lambda width, height: struct.pack("<I", width - 1)[:3] + struct.pack("<I", height - 1)[:3]
    place = b"\3\0\0\2\0\0" + sides(WIDTH, HEIGHT) + b"\x64\0\0\0"
    body = chunk(b"VP8X", b"\2\0\0\0" + sides(WIDTH + 11, HEIGHT + 5)) + chunk(b"ANIM", bytes(6))
    body += chunk(b"ANMF", place + frame) * 2
    yield "part.webp", b"RIFF" + struct.pack("<I", len(body) + 4) + b"WEBP" + body


def tiffs():
    for kind, name in ((None, "raw"), ("tiff_lzw", "lzw"), ("tiff_adobe_deflate", "deflate"), ("packbits", "packbits")):
        yield f"rgb_{name}.tif", saved(IMAGE, "TIFF", compression=kind)
    yield "jpeg.tif", saved(IMAGE, "TIFF", compression="jpeg", quality=90)
    yield "ycbcr.tif", saved(IMAGE.convert("YCbCr"), "TIFF", compression="tiff_lzw")
    yield "group4.tif", saved(IMAGE.convert("1"), "TIFF", compression="group4")
    yield "gray.tif", saved(IMAGE.convert("L"), "TIFF")
    yield "gray_alpha.tif", saved(Image.fromarray(np.dstack([GRAY, ALPHA])), "TIFF")
    yield "palette.tif", saved(IMAGE.quantize(30), "TIFF", compression="tiff_lzw")
    yield "rgba.tif", saved(Image.fromarray(np.dstack([RGB, ALPHA])), "TIFF")
    yield "cmyk.tif", saved(IMAGE.convert("CMYK"), "TIFF", compression="tiff_lzw")
    yield "gray_16bit.tif", saved(Image.fromarray(WIDE), "TIFF")
    yield "turned.tif", saved(IMAGE, "TIFF", compression="tiff_lzw", tiffinfo={Base.Orientation: 6})

    def written(data, **options):
        file = io.BytesIO()
        tifffile.imwrite(file, data, metadata=None, software=None, **options)
        return file.getvalue()

    yield "tiles.tif", written(RGB, photometric="rgb", tile=(16, 16))
    yield "tiles_deflate.tif", written(RGB, photometric="rgb", tile=(16, 32), compression="zlib", predictor=True)
    planes = np.ascontiguousarray(RGB.transpose(2, 0, 1))
    yield "planes.tif", written(planes, photometric="rgb", planarconfig="separate", compression="lzw")
    yield "big_endian.tif", written(WIDE, photometric="minisblack", byteorder=">")
    yield "rgb_16bit.tif", written(RGB.astype(np.uint16) * 257, photometric="rgb")
    yield "white_is_zero.tif", written(GRAY, photometric="miniswhite", rowsperstrip=5)
    yield "bigtiff.tif", written(RGB, photometric="rgb", bigtiff=True, compression="lzw")
    premultiplied = np.dstack([(RGB.astype(np.int64) * ALPHA[:, :, None] // 255).astype(np.uint8), ALPHA])
    yield "premultiplied.tif", written(premultiplied, photometric="rgb", extrasamples=["assocalpha"])


def jpegs():
    plain = bytearray(saved(IMAGE, "JPEG", quality=90))
    at = plain.index(b"\xff\xda")
    at += 5 + 2 * plain[at + 4]
    for first, last, bits in ((0, 0, 0), (1, 5, 0), (0, 63, 0x21), (255, 255, 255)):
        plain[at : at + 3] = bytes([first, last, bits])
        yield f"scan_{first}_{last}_{bits}.jpg", bytes(plain)
    gray = bytearray(saved(IMAGE.convert("L"), "JPEG", quality=90, restart_marker_blocks=3))
    at = gray.index(b"\xff\xda")
    gray[at + 5 + 2 * gray[at + 4] + 1] = 0
    yield "scan_gray.jpg", bytes(gray)
    yield "lossless.jpg", imagecodecs.jpeg8_encode(RGB, lossless=True, colorspace="rgb", outcolorspace="rgb")
    yield "lossless_gray.jpg", imagecodecs.jpeg8_encode(np.ascontiguousarray(GRAY), lossless=True)


def turned():
    exif = Image.Exif()
    exif[Base.Orientation] = 6
    raw = exif.tobytes()
    raw = raw if raw.startswith(b"Exif\0\0") else b"Exif\0\0" + raw
    digits = raw.hex()
    lines = "\n".join(digits[i : i + 72] for i in range(0, len(digits), 72))
    for name, packed in (("profile", False), ("profile_packed", True)):
        info = PngImagePlugin.PngInfo()
        info.add_text("Raw profile type iptc", "\niptc\n 2\n0102\n", zip=packed)
        info.add_text("Raw profile type exif", f"\nexif\n{len(raw):8}\n{lines}\n", zip=packed)
        yield name + ".png", saved(IMAGE, "PNG", pnginfo=info)


def line(kind, name, image):
    pixels = np.ascontiguousarray(np.asarray(image))
    return f"{kind} {name} {image.width} {image.height} {zlib.crc32(pixels.tobytes()):08x}"


def lines_of(name, content):
    image = Image.open(io.BytesIO(content))
    image.load()
    if image.mode.startswith("I"):
        yield line("clip", name, image.convert("RGB"))
        high = (np.asarray(image).astype(np.int64) >> 8).astype(np.uint8)
        yield line("whole", name, Image.fromarray(np.dstack([high] * 3)))
    else:
        yield line("whole", name, image.convert("RGB"))


def main(folder):
    folder.mkdir(parents=True, exist_ok=True)
    lines = []
    for source in (bmps, pnms, gifs, webps, tiffs, jpegs):
        for name, content in source():
            (folder / name).write_bytes(content)
            lines += lines_of(name, content)
    for name, content in turned():
        (folder / name).write_bytes(content)
        lines.append(line("turned", name, ImageOps.exif_transpose(Image.open(io.BytesIO(content))).convert("RGB")))
    versions = f"Pillow {PIL.__version__}, tifffile {tifffile.__version__}, imagecodecs {imagecodecs.__version__}"
    header = f"# program native/test/golden/image_kinds.py; {versions}, Python {platform.python_version()}; arguments none; cases {len(lines)}"
    (folder / "kinds.txt").write_text("\n".join([header, *lines]) + "\n")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
