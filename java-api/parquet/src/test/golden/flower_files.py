# SPDX-License-Identifier: Apache-2.0
"""Writes 480 rows of 3 classes to ../resources/golden/flowers, for the example that trains from a bucket.

Usage: python flower_files.py, with pyarrow 26.0.1 and numpy.
"""

import pathlib

import numpy
import pyarrow
import pyarrow.parquet

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "resources/golden/flowers"


def main():
    FOLDER.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(5)
    for part in range(2):
        labels = random.integers(0, 3, 240)
        features = numpy.round(numpy.eye(4)[labels] * 2 + random.normal(size=(240, 4)) / 3, 2).astype("float32")
        table = pyarrow.table({
            "features": pyarrow.array(list(features), pyarrow.list_(pyarrow.float32())),
            "label": pyarrow.array(labels, pyarrow.int64()),
        })
        pyarrow.parquet.write_table(table, FOLDER / f"part-{part}.parquet", row_group_size=60, compression="zstd")


if __name__ == "__main__":
    main()
