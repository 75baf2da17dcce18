# SPDX-License-Identifier: Apache-2.0
"""Writes the files in ../resources/golden: the same small table in Parquet files of each codec, encoding and
version of data pages, and the values that pyarrow reads from them, as bytes.

Usage: python parquet_files.py, with pyarrow 26.0.1 and numpy.
"""

import datetime
import decimal
import pathlib
import struct
import zlib

import numpy
import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "resources/golden"
ROWS = 30
GROUP = 13

random = numpy.random.default_rng(7)


def integers(bits, signed=True):
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1)) if signed else (0, 2**bits)
    return [low, high - 1, *(int(random.integers(low, high - 1, dtype="int64" if signed else "uint64")) for _ in range(ROWS - 2))]


def with_gaps(values, every):
    return [None if i % every == 1 else value for i, value in enumerate(values)]


floats = [0.0, -0.0, float("inf"), float("nan"), *map(float, numpy.float32(random.normal(size=ROWS - 4)))]
days = [datetime.date(1969, 12, 31), datetime.date(2026, 11, 28)] * (ROWS // 2)
triples = [[float(numpy.float32(x)) for x in random.normal(size=3)] for _ in range(ROWS)]
TABLE = pyarrow.table({
    "flag": pyarrow.array([i % 3 == 0 for i in range(ROWS)]),
    "i8": pyarrow.array(integers(8), pyarrow.int8()),
    "i16": pyarrow.array(integers(16), pyarrow.int16()),
    "i32": pyarrow.array(integers(32), pyarrow.int32()),
    "i64": pyarrow.array(integers(64), pyarrow.int64()),
    "u8": pyarrow.array(integers(8, False), pyarrow.uint8()),
    "u16": pyarrow.array(integers(16, False), pyarrow.uint16()),
    "u32": pyarrow.array(integers(32, False), pyarrow.uint32()),
    "u64": pyarrow.array([value // 2 for value in integers(64, False)], pyarrow.uint64()),
    "f16": pyarrow.array([numpy.float16(value) for value in floats], pyarrow.float16()),
    "f32": pyarrow.array(floats, pyarrow.float32()),
    "f64": pyarrow.array([value * (1 + 2**-40) for value in floats], pyarrow.float64()),
    "price": pyarrow.array([decimal.Decimal(i * 7919 - 5000) / 100 for i in range(ROWS)], pyarrow.decimal128(9, 2)),
    "wide": pyarrow.array([decimal.Decimal(i * 10**20 + 1) / 1000 for i in range(ROWS)], pyarrow.decimal128(30, 3)),
    "day": pyarrow.array(days, pyarrow.date32()),
    "time": pyarrow.array([10**15 + i * 1234567 for i in range(ROWS)], pyarrow.timestamp("us", tz="UTC")),
    "word": pyarrow.array([["a", "bc", "d\u00e9"][i % 3] for i in range(ROWS)]),
    "gaps": pyarrow.array(with_gaps(integers(32), 4), pyarrow.int32()),
    "holes": pyarrow.array(with_gaps(floats, 5), pyarrow.float64()),
    "list": pyarrow.array(triples, pyarrow.list_(pyarrow.float32())),
    "fixed": pyarrow.array(triples, pyarrow.list_(pyarrow.float32(), 3)),
    "matrix": pyarrow.array([[[i, i + 1], [i * i, -i]] for i in range(ROWS)], pyarrow.list_(pyarrow.list_(pyarrow.int32()))),
    "thin": pyarrow.array(
        [None if i == 3 else [i, None if i % 2 else 5] for i in range(ROWS)], pyarrow.list_(pyarrow.int64())
    ),
    "user": pyarrow.array(
        [None if i == 7 else {"age": i, "place": None if i == 8 else {"x": i / 4}} for i in range(ROWS)],
        pyarrow.struct([("age", pyarrow.int32()), ("place", pyarrow.struct([("x", pyarrow.float64())]))]),
    ),
    "items": pyarrow.array(
        [[{"n": i}, {"n": -i}] for i in range(ROWS)], pyarrow.list_(pyarrow.struct([("n", pyarrow.int32())]))
    ),
    "bytes": pyarrow.array([bytes([i, 255 - i, 7, 9]) for i in range(ROWS)], pyarrow.binary()),
    "flat": pyarrow.array([bytes([i, 255 - i, 7, 9]) for i in range(ROWS)], pyarrow.binary(4)),
    "dot.ted": pyarrow.array(range(ROWS), pyarrow.int32()),
})

DELTA = {name: "DELTA_BINARY_PACKED" for name in ("i8", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "day", "time", "gaps")}
DELTA |= {"word": "DELTA_BYTE_ARRAY", "bytes": "DELTA_LENGTH_BYTE_ARRAY", "flat": "DELTA_BYTE_ARRAY", "flag": "RLE"}
SPLIT = {name: "BYTE_STREAM_SPLIT" for name in ("f16", "f32", "f64", "i32", "i64", "gaps", "holes", "flat")}
CODECS = {1: ("none", "snappy", "gzip", "zstd", "lz4", "brotli"), 2: ("none", "snappy", "zstd")}
FILES = {f"{codec}_v{version}": {"compression": codec, "data_page_version": f"{version}.0"}
         for version, codecs in CODECS.items() for codec in codecs}
FILES |= {
    "plain": {"compression": "none", "use_dictionary": False},
    "delta": {"compression": "none", "use_dictionary": False, "column_encoding": DELTA},
    "split": {"compression": "none", "use_dictionary": False, "column_encoding": SPLIT},
    "pages": {"compression": "snappy", "data_page_size": 16, "write_batch_size": 4, "write_page_index": True, "write_page_checksum": True},
    "int96": {"compression": "none", "use_deprecated_int96_timestamps": True},
}

# the column of tensors: its name, the path, numpy's dtype, the shape of a row, the value of nulls, and the values
nan = float("nan")
COLUMNS = [
    ("flag", "flag", "bool", (), None), ("flag_float", "flag", "float32", (), None),
    *((name, name, {"i": "int", "u": "uint"}[name[0]] + name[1:], (), None) for name in ("i8", "i16", "i32", "i64", "u8")),
    ("u16", "u16", "int32", (), None), ("u32", "u32", "int64", (), None), ("u64", "u64", "int64", (), None),
    ("i8_wide", "i8", "int64", (), None), ("i32_float", "i32", "float32", (), None), ("i64_double", "i64", "float64", (), None),
    ("i64_float", "i64", "float32", (), None), ("u32_double", "u32", "float64", (), None),
    ("f16", "f16", "float32", (), None), ("f32", "f32", "float32", (), None), ("f32_double", "f32", "float64", (), None),
    ("f64", "f64", "float64", (), None), ("f64_float", "f64", "float32", (), None),
    ("price", "price", "float64", (), None), ("wide", "wide", "float64", (), None), ("wide_float", "wide", "float32", (), None),
    ("day", "day", "int32", (), None),
    ("gaps", "gaps", "int32", (), -1), ("gaps_float", "gaps", "float32", (), nan), ("holes", "holes", "float64", (), nan),
    ("holes_float", "holes", "float32", (), 0.5),
    ("list", "list", "float32", (3,), None), ("list_double", "list", "float64", (3, 1), None), ("fixed", "fixed", "float32", (3,), None),
    ("matrix", "matrix", "int32", (2, 2), None), ("matrix_wide", "matrix", "int64", (2, 2), None),
    ("thin", "thin", "int64", (2,), -9), ("thin_float", "thin", "float32", (2,), nan),
    ("age", "user.age", "int16", (), 99), ("x", "user.place.x", "float32", (), -1), ("items", "items.n", "int32", (2,), None),
    ("bytes", "bytes", "uint8", (4,), None), ("bytes_int", "bytes", "int32", (), None), ("flat", "flat", "uint8", (2, 2), None),
    ("dotted", "dot.ted", "int64", (), None),
]


def field(value, path):
    for name in path:
        if isinstance(value, list):
            return [field(each, [name]) for each in value]
        value = None if value is None else value[name]
    return value


def filled(value, dtype, shape, missing):
    if value is None:
        return numpy.full(shape, missing, dtype)
    if isinstance(value, bytes):
        return numpy.frombuffer(value, dtype).reshape(shape)
    if isinstance(value, list):
        parts = [filled(each, dtype, shape[1:] if isinstance(each, list) else (), missing) for each in value]
        return numpy.array(parts, dtype).reshape(shape)
    if isinstance(value, datetime.date):
        value = (value - datetime.date(1970, 1, 1)).days
    return numpy.array(float(value) if isinstance(value, decimal.Decimal) else value).astype(dtype).reshape(shape)


def values(table, path, dtype, shape, missing):
    name, *inner = [path] if path == "dot.ted" else path.split(".")
    rows = [filled(field(value, inner), dtype, shape, missing) for value in table[name].to_pylist()]
    return numpy.stack(rows).astype(dtype).tobytes().hex()


def png(pixels):
    """A PNG of RGB pixels [height, width, 3]."""
    height, width, _ = pixels.shape

    def chunk(kind, content):
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))

    lines = b"".join(b"\0" + line.tobytes() for line in pixels)
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(lines)) + chunk(b"IEND", b"")


def write_images():
    """Images whose pixels are 0, 1, 2, ... in the order channel, row, column, then from 48 on in the next image."""
    pixels = numpy.arange(3 * 48, dtype="uint8").reshape(3, 3, 4, 4).transpose(0, 2, 3, 1)
    table = pyarrow.table({"label": [0, 1, 2], "image": pyarrow.array([png(image) for image in pixels], pyarrow.binary())})
    pyarrow.parquet.write_table(table, FOLDER / "images.png.parquet", row_group_size=2)


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    expected = None
    for name, options in FILES.items():
        file = FOLDER / f"{name}.parquet"
        pyarrow.parquet.write_table(TABLE, file, row_group_size=GROUP, **options)
        read = pyarrow.parquet.read_table(file)
        lines = [
            "\t".join([column, path, dtype, " ".join(map(str, shape)), "" if missing is None else str(missing).replace("nan", "NaN"),
                       values(read, path, dtype, shape, missing)])
            for column, path, dtype, shape, missing in COLUMNS
        ]
        assert expected in (None, lines), name
        expected = lines
    write_images()
    (FOLDER / "values.txt").write_text("\n".join(expected) + "\n")


if __name__ == "__main__":
    main()
