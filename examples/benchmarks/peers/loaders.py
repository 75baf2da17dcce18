#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Python's DataLoader for examples/benchmarks/loaders, over the same rows.

Arguments: the row and the folder of its files. Speaks the protocol of ContestantProgram.java.
Variants: `sample` (one item per call, default collation), and whole batches by one `index_select`:
`items` (`__getitems__`), `batch` (lists of a BatchSampler) and `tensors` (the order kept in
tensors). The suffix `-2-threads` selects two threads per operation.
"""

import pathlib
import sys
import time

try:
    import numpy
    import torch
    from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, Sampler
except ImportError as missing:
    print(f"missing {missing}; examples/benchmarks/peers/requirements.txt lists what is needed")
    sys.exit(1)

MEAN = 0.1307
DEVIATION = 0.3081
SEED = 1
TWO_THREADS = "-2-threads"


class Rows(Dataset):
    """A dataset of one sample per call."""

    def __init__(self, images, labels, normalize):
        self.images = images
        self.labels = labels
        self.normalize = normalize

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, index):
        return self.finished(self.images[index]), self.labels[index]

    def finished(self, images):
        if not self.normalize:
            return images
        return images.float().mul_(1 / (255 * DEVIATION)).sub_(MEAN / DEVIATION)


class GatheredRows(Rows):
    """A dataset of one batch per call; `images[indices]` would be 3 to 14 times slower."""

    def __getitem__(self, indices):
        indices = torch.as_tensor(indices)
        images = self.images.index_select(0, indices)
        return self.finished(images), self.labels.index_select(0, indices)

    __getitems__ = __getitem__


class ShuffledTensors(Sampler):
    """The indices of each batch as a tensor: none of them becomes a Python object."""

    def __init__(self, rows, batch, generator):
        self.rows = rows
        self.batch = batch
        self.generator = generator

    def __len__(self):
        return -(-self.rows // self.batch)

    def __iter__(self):
        return iter(torch.randperm(self.rows, generator=self.generator).split(self.batch))


def unchanged(batch):
    return batch


def load(row, folder):
    """Returns images, labels, batch size and whether to normalize, for a row."""
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


def loader_of(variant, workers, images, labels, batch, normalize, pin_memory=False):
    generator = torch.Generator().manual_seed(SEED)
    shared = {"num_workers": workers, "persistent_workers": workers > 0, "generator": generator,
              "pin_memory": pin_memory}
    if variant == "sample":
        return DataLoader(Rows(images, labels, normalize), batch, shuffle=True, **shared)
    rows = GatheredRows(images, labels, normalize)
    if variant == "items":
        return DataLoader(rows, batch, shuffle=True, collate_fn=unchanged, **shared)
    if variant == "batch":
        order = BatchSampler(RandomSampler(rows, generator=generator), batch, drop_last=False)
    elif variant == "tensors":
        order = ShuffledTensors(len(rows), batch, generator)
    else:
        raise ValueError(f"no variant {variant}")
    return DataLoader(rows, sampler=order, batch_size=None, **shared)


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
    # Sending tensors by file descriptor is slower than by name.
    torch.multiprocessing.set_sharing_strategy("file_system")
    source = load(sys.argv[1], pathlib.Path(sys.argv[2]))
    loaders = {}
    print("ready", flush=True)
    for line in sys.stdin:
        verb, variant, workers, milliseconds, _ = line.split()
        key = variant.removesuffix(TWO_THREADS), int(workers)
        torch.set_num_threads(2 if variant.endswith(TWO_THREADS) else 1)
        if key not in loaders:
            loaders[key] = loader_of(*key, *source)
        loader = loaders[key]
        print(check(loader) if verb == "check" else run(loader, int(milliseconds)), flush=True)


if __name__ == "__main__":
    main()
