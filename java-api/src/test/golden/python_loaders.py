# SPDX-License-Identifier: Apache-2.0
"""Prints the orders in which PyTorch's DataLoader reads a dataset, epoch after epoch.

Creates the golden file python_loaders.txt without using torchfeed. To regenerate the file:

    python python_loaders.py > ../resources/golden/python_loaders.txt

with torch 2.10.0 and numpy. Each line is one pass, which starts after complete passes over the same
loader:

    <sampler> use=<who draws> <arguments> seed=<s> pass=<passes before> count=<indices>
    hash=<h = 31h + x in signed 64 bits> head=<first indices>

use=SAMPLER iterates the sampler, LOADER a DataLoader whose generator is also the sampler's, and
PERSISTENT_LOADER the same with persistent_workers=True; with the prefix PROCESS_ neither has a
generator, and torch.manual_seed(seed) precedes the first pass. Weights are (7919 i mod 1009) / 8 + 1,
indices of a subset 7919 i. drop_last=1 drops the incomplete last batch. Lines of DistributedSampler
are passes of rank 1 of 3 after set_epoch(epoch), including negative epochs.
"""

import itertools
import warnings

import numpy
import torch
from torch.utils.data import (
    DataLoader,
    DistributedSampler,
    RandomSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
)

SHOWN = 10
USES = ["SAMPLER", "LOADER", "PERSISTENT_LOADER"]
USES += ["PROCESS_" + use for use in USES]
SEEDS = [0, 42, 2**32 + 7, -1]
PASSES = 4
BATCH = 64

lines = []


class Numbers(torch.utils.data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, index):
        return index

    def __getitems__(self, indices):
        return indices


def hashed(values):
    total = 0
    for value in values:
        total = (31 * total + value) % 2**64
    return total - 2**64 if total >= 2**63 else total


def sampler_of(name, own, arguments):
    n = arguments["n"]
    if name == "RandomSampler":
        return RandomSampler(Numbers(n), bool(arguments["replacement"]), arguments["draws"], own)
    if name == "SubsetRandomSampler":
        return SubsetRandomSampler([7919 * i for i in range(n)], own)
    weights = [(7919 * i % 1009) / 8 + 1 for i in range(n)]
    return WeightedRandomSampler(weights, arguments["draws"], bool(arguments["replacement"]), own)


def passes(name, use, seed, workers=0, drop_last=0, numbers=range(PASSES), **arguments):
    own = None
    if use.startswith("PROCESS_"):
        torch.manual_seed(seed)
    else:
        own = torch.Generator().manual_seed(seed)
    loader = sampler = sampler_of(name, own, arguments)
    if use.endswith("LOADER"):
        persistent = "PERSISTENT" in use
        plain = name == "RandomSampler" and not arguments["replacement"]
        order = {"sampler": sampler}
        if plain and arguments["draws"] == arguments["n"]:
            order = {"shuffle": True}
        loader = DataLoader(
            Numbers(arguments["n"]), BATCH, **order, generator=own,
            num_workers=max(1, workers) if persistent else workers, drop_last=bool(drop_last),
            persistent_workers=persistent, collate_fn=list)
    for number in range(max(numbers) + 1):
        values = list(loader)
        if use.endswith("LOADER"):
            values = list(itertools.chain(*values))
        if number not in numbers:
            continue
        case(name, values, **{"use": use, **arguments, "drop_last": drop_last, "seed": seed,
                              "pass": number})


def case(name, values, **arguments):
    words = [name] + [f"{key}={value}" for key, value in arguments.items()]
    words += [f"count={len(values)}", f"hash={hashed(values)}",
              "head=" + ",".join(map(str, values[:SHOWN]))]
    lines.append(" ".join(words))


def kinds(n):
    yield "RandomSampler", dict(n=n, replacement=0, draws=n)
    yield "RandomSampler", dict(n=n, replacement=0, draws=2 * n + n // 2 + 1)
    yield "RandomSampler", dict(n=n, replacement=1, draws=n + 5)
    yield "SubsetRandomSampler", dict(n=n)
    yield "WeightedRandomSampler", dict(n=n, replacement=1, draws=n + 5)
    yield "WeightedRandomSampler", dict(n=n, replacement=1, draws=1)
    yield "WeightedRandomSampler", dict(n=n, replacement=0, draws=n // 2 + 1)


warnings.simplefilter("ignore")
for use, n in itertools.product(USES, [1, 10, 130, 1000]):
    for (name, arguments), seed in itertools.product(kinds(n), SEEDS):
        passes(name, use, seed, **arguments)
for use in ["LOADER", "PERSISTENT_LOADER", "PROCESS_LOADER", "PROCESS_PERSISTENT_LOADER"]:
    for name, arguments in kinds(130):
        for drop_last in (0, 1):
            passes(name, use, 5, workers=2, drop_last=drop_last, **arguments)
for use, (name, arguments) in itertools.product(USES, kinds(10)):
    passes(name, use, 3, numbers=[99, 999], **arguments)
for use in ["LOADER", "PROCESS_LOADER"]:
    # the shortcut over the previous passes, used from 2**24 outputs on
    passes("RandomSampler", use, 9, numbers=[0, 30], n=300_000, replacement=0, draws=300_000)
for seed, epoch in itertools.product([0, 5, 2**40], [-1, -6, -(2**33) - 1]):
    sampler = DistributedSampler(Numbers(100), 3, 1, seed=seed)
    sampler.set_epoch(epoch)
    case("DistributedSampler", list(sampler), n=100, seed=seed, epoch=epoch)
print(f"# program java-api/src/test/golden/python_loaders.py; torch {torch.__version__};"
      f" numpy {numpy.__version__}; arguments none; lines {len(lines)}")
print("\n".join(lines))
