# SPDX-License-Identifier: Apache-2.0
"""Writes two Parquet files of 1007 rows in 11 row groups to ../resources/golden/stream. All values follow from the
number of the row, as the test has them; the column junk is there to be left out.

Usage: python stream_files.py, with pyarrow 26.0.1 and numpy.
"""

import pathlib

import numpy
import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "resources/golden/stream"
ROWS, SPLIT = 1007, 700


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(3)
    ids = range(ROWS)
    table = pyarrow.table({
        "id": pyarrow.array(ids, pyarrow.int64()),
        "x": pyarrow.array([[i, i / 2, -i] for i in ids], pyarrow.list_(pyarrow.float32())),
        "gap": pyarrow.array([None if i % 7 == 3 else i for i in ids], pyarrow.int32()),
        "day": pyarrow.array([i // 50 for i in ids], pyarrow.int32()),
        "word": pyarrow.array([f"w{i % 3}" for i in ids]),
        "user": pyarrow.array([None if i % 11 == 5 else {"age": None if i % 11 == 6 else i % 90} for i in ids],
                              pyarrow.struct([("age", pyarrow.int16())])),
        "need": pyarrow.array([None if i % 13 == 5 else {"n": i} for i in ids],
                              pyarrow.struct([pyarrow.field("n", pyarrow.int32(), nullable=False)])),
        "junk": pyarrow.array([random.bytes(24) for _ in ids], pyarrow.binary()),
    })
    for number, (part, group) in enumerate([(table[:SPLIT], 100), (table[SPLIT:], 90)]):
        pyarrow.parquet.write_table(
            part, FOLDER / f"part-{number}.parquet", row_group_size=group, compression="zstd", data_page_size=1,
            write_batch_size=20, write_page_index=True)


if __name__ == "__main__":
    main()
