#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's DataLoader for examples/benchmarks/loaders, over the same rows.

Arguments: the row and the folder of its files. Speaks the protocol of ContestantProgram.java.
Variants: `sample` (one item a call, default collation), `batch` (a BatchSampler whose lists index
the tensors at once) and `items` (the same by `__getitems__`).
"""

import pathlib
import sys
import time

try:
    import numpy
    import torch
    from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler
except ImportError as missing:
    print(f"missing {missing}; examples/benchmarks/peers/requirements.txt says what is needed")
    sys.exit(1)

MEAN = 0.1307
DEVIATION = 0.3081
SEED = 1


class Rows(Dataset):
    def __init__(self, images, labels, normalise):
        self.images = images
        self.labels = labels
        self.normalise = normalise

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        images = self.images[index]
        if self.normalise:
            images = images.float().div_(255 * DEVIATION).sub_(MEAN / DEVIATION)
        return images, self.labels[index]


class BulkRows(Rows):
    def __getitems__(self, indices):
        return self[torch.as_tensor(indices)]


def unchanged(batch):
    return batch


def load(row, folder):
    """The data set of a row and its batch size."""
    if row == "B":
        pixels = numpy.fromfile(folder / "images.bin", dtype=numpy.uint8)
        images = torch.from_numpy(pixels.reshape(-1, 3, 224, 224))
        return images, torch.arange(len(images)) % 1000, 64, False
    pixels = numpy.fromfile(folder / "train-images-idx3-ubyte", dtype=numpy.uint8)[16:]
    classes = numpy.fromfile(folder / "train-labels-idx1-ubyte", dtype=numpy.uint8)[8:]
    images = torch.from_numpy(pixels.reshape(-1, 1, 28, 28))
    labels = torch.from_numpy(classes.astype(numpy.int64))
    if row == "A":
        images = images.float() / 255
    return images, labels, 256, row == "C"


def loader_of(variant, workers, images, labels, batch, normalise):
    generator = torch.Generator().manual_seed(SEED)
    shared = {"num_workers": workers, "persistent_workers": workers > 0, "generator": generator}
    rows = (BulkRows if variant == "items" else Rows)(images, labels, normalise)
    if variant == "batch":
        order = BatchSampler(RandomSampler(rows, generator=generator), batch, drop_last=False)
        return DataLoader(rows, sampler=order, batch_size=None, **shared)
    collate = unchanged if variant == "items" else None
    return DataLoader(rows, batch_size=batch, shuffle=True, collate_fn=collate, **shared)


def check(loader):
    rows = labels = 0
    total = 0.0
    for data, classes in loader:
        rows += len(classes)
        labels += int(classes.sum())
        total += float(data.sum(dtype=torch.float64 if data.is_floating_point() else torch.int64))
    return f"{rows} {labels} {total!r}"


def run(loader, milliseconds):
    rows = batches = 0
    start = time.perf_counter_ns()
    while True:
        for _, classes in loader:
            rows += len(classes)
            batches += 1
        nanos = time.perf_counter_ns() - start
        if nanos >= milliseconds * 1_000_000:
            return f"{rows} {batches} {nanos} -1"


def main():
    torch.set_num_threads(1)
    source = load(sys.argv[1], pathlib.Path(sys.argv[2]))
    loaders = {}
    print("ready", flush=True)
    for line in sys.stdin:
        verb, variant, workers, milliseconds, _ = line.split()
        key = variant, int(workers)
        if key not in loaders:
            loaders[key] = loader_of(*key, *source)
        loader = loaders[key]
        print(check(loader) if verb == "check" else run(loader, int(milliseconds)), flush=True)


if __name__ == "__main__":
    main()
