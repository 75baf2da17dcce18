# SPDX-License-Identifier: Apache-2.0
"""Writes the files for `rates`, and reads them by pyarrow into tensors of torch.

Usage: python rates.py write FOLDER ROWS
       python rates.py read FOLDER: for each line of the input, an epoch each of two ways; prints name, tab and rows per second
"""

import pathlib
import sys
import time

BATCH, THREADS, FLOATS = 1024, 2, 14


def write(folder, rows):
    import numpy
    import pyarrow
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    random = numpy.random.default_rng(1)
    columns = {name: random.integers(0, 1_000_000, rows) for name in ("user", "item")}
    columns |= {f"f{i}": random.random(rows, dtype="float32") for i in range(FLOATS)}
    pyarrow.parquet.write_table(pyarrow.table(columns), folder / "rows.parquet", row_group_size=rows // 16, compression="snappy")
    for name, values in columns.items():
        numpy.save(folder / f"{name}.npy", values)


def by_batches(file):
    for batch in file.iter_batches(batch_size=BATCH):
        yield {name: column.to_numpy() for name, column in zip(batch.schema.names, batch.columns)}


def by_groups(file):
    for number in range(file.num_row_groups):
        columns = {name: column.to_numpy() for name, column in zip(file.schema_arrow.names, file.read_row_group(number).columns)}
        for first in range(0, file.metadata.row_group(number).num_rows, BATCH):
            yield {name: values[first:first + BATCH] for name, values in columns.items()}


def read(folder):
    import pyarrow
    import pyarrow.parquet
    import torch

    pyarrow.set_cpu_count(THREADS)
    torch.set_num_threads(THREADS)
    ways = {"pyarrow to torch, iter_batches": by_batches, "pyarrow to torch, read_row_group": by_groups}
    for _ in sys.stdin:
        for name, way in ways.items():
            start, rows = time.perf_counter(), 0
            for batch in way(pyarrow.parquet.ParquetFile(folder / "rows.parquet")):
                tensors = {column: torch.tensor(values) for column, values in batch.items()}  # own memory, as a batch's
                rows += len(tensors["user"])
            print(f"{name}\t{rows / (time.perf_counter() - start):.0f}", flush=True)
        print(flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "write":
        write(pathlib.Path(sys.argv[2]), int(sys.argv[3]))
    else:
        read(pathlib.Path(sys.argv[2]))
