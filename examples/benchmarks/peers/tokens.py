#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's loops over the windows of a file of uint16 tokens, for examples/benchmarks/tokens.

Arguments: the form, the file, the tokens of a window, whose last one is the first of the next, and the batch size. Forms:
`stack`, the loop of nanoGPT: a window at a time of a `numpy.memmap`, cast and stacked; `gather`, all windows of a batch
by one index into a view of the `memmap`; `litdata WORKERS`: LitData's TokensLoader over chunks made of the same file,
whose batches are cast. Each batch is int64. Answers each line of its input, seconds, by tokens and the seconds taken.
"""

import pathlib
import sys
import time

try:
    import numpy
    import torch

    form, *workers = sys.argv[1].split()
    if form == "litdata":
        from litdata import StreamingDataLoader, StreamingDataset, TokensLoader, optimize
except ImportError as missing:
    print(f"missing {missing}; it needs examples/benchmarks/peers/requirements.txt and, for its loader, litdata")
    sys.exit(1)

path = pathlib.Path(sys.argv[2])
length, size = int(sys.argv[3]), int(sys.argv[4])
stride = length - 1
data = numpy.memmap(path, dtype=numpy.uint16, mode="r")
PART = 1 << 24


def starts():
    return torch.randperm((len(data) - length) // stride + 1).split(size)


def stacked():
    for rows in starts():
        begins = (rows * stride).tolist()
        yield torch.stack([torch.from_numpy(data[i : i + length].astype(numpy.int64)) for i in begins])


def gathered():
    count = (len(data) - length) // stride + 1
    view = numpy.lib.stride_tricks.as_strided(data, (count, length), (stride * data.itemsize, data.itemsize), writeable=False)
    for rows in starts():
        yield torch.from_numpy(view[rows.numpy()].astype(numpy.int64))


def part(begin):
    yield torch.from_numpy(numpy.array(numpy.memmap(path, dtype=numpy.uint16, mode="r")[begin : begin + PART]))


def streamed():
    chunks = path.parent / "litdata"
    loader = TokensLoader(block_size=length)
    if not (chunks / "index.json").exists():
        optimize(part, list(range(0, len(data), PART)), str(chunks), chunk_size=length * 8192, num_workers=1, item_loader=loader)
    dataset = StreamingDataset(str(chunks), item_loader=loader, shuffle=True, drop_last=True)
    batches = StreamingDataLoader(dataset, batch_size=size, num_workers=int(workers[0]), persistent_workers=workers[0] != "0")
    return (batch.to(torch.int64) for batch in batches)


def main():
    torch.set_num_threads(1)
    pass_of = {"stack": stacked, "gather": gathered, "litdata": streamed}[form]
    out = sys.stdout
    sys.stdout = sys.stderr  # LitData prints its progress
    batches = pass_of()
    next(batches)
    print("ready", file=out, flush=True)
    for line in sys.stdin:
        seconds = float(line)
        tokens = 0
        start = time.perf_counter()
        while time.perf_counter() - start < seconds:
            batch = next(batches, None)
            if batch is None:
                batches = pass_of()
            else:
                tokens += batch.numel()
        print(tokens, time.perf_counter() - start, file=out, flush=True)


if __name__ == "__main__":
    main()
