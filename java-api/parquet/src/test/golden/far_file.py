# SPDX-License-Identifier: Apache-2.0
"""Writes ../resources/golden/far.txt: a Parquet file of 2.5 GB that is zeros but for the lines of this text, each with
an offset and bytes. Three row groups of 10 numbers n, each after 832 MB of zeros in another column.

Usage: python far_file.py FOLDER, with pyarrow 26.0.1 and 2.5 GB of room in FOLDER.
"""

import pathlib
import sys

import numpy
import pyarrow
import pyarrow.parquet

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "resources/golden"
ROWS = 10
WIDTH = 83_200_000
PIECE = 4096


def main():
    file = pathlib.Path(sys.argv[1]) / "far.parquet"
    schema = pyarrow.schema([("zeros", pyarrow.binary(WIDTH)), ("n", pyarrow.int64())])
    with pyarrow.parquet.ParquetWriter(file, schema, compression="none", use_dictionary=False, write_statistics=False) as writer:
        for group in range(3):
            zeros = pyarrow.FixedSizeBinaryArray.from_buffers(
                pyarrow.binary(WIDTH), ROWS, [None, pyarrow.py_buffer(numpy.zeros(ROWS * WIDTH, "uint8"))])
            numbers = pyarrow.array(range(group * ROWS, (group + 1) * ROWS), pyarrow.int64())
            writer.write_table(pyarrow.Table.from_arrays([zeros, numbers], schema=schema), row_group_size=ROWS)
    lines = [str(file.stat().st_size)]
    with file.open("rb") as content:
        while piece := content.read(PIECE):
            if any(piece):
                start = content.tell() - len(piece)
                first = next(i for i, byte in enumerate(piece) if byte)
                lines.append(f"{start + first} {piece[first:].rstrip(bytes(1)).hex()}")
    (GOLDEN / "far.txt").write_text("\n".join(lines) + "\n")
    file.unlink()


if __name__ == "__main__":
    main()
