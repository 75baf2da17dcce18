# SPDX-License-Identifier: Apache-2.0
"""Prints the indices that PyTorch's own samplers deliver, over a grid of arguments.

Creates the golden file python_samplers.txt without using torchfeed. To regenerate the file:

    python python_samplers.py > ../resources/golden/python_samplers.txt

with torch 2.10.0 and numpy; the largest permutation takes 1 GB of memory. Each line is one pass:

    <class> <arguments> count=<indices> hash=<h = 31h + x in signed 64 bits>
    head=<first indices> tail=<last indices> <more>

head contains all indices if there are at most LISTED of them, and tail is then omitted. pass=p
is the pass after p complete passes over the same object. after=<x> is the next 27 bits of the
generator, batches=<full batches>+<size of the rest>, parts=<sizes>.
Weights and indices are listed, or ramp:m for (7919 i mod 1009) / 8, or spread:m for 7919 i.
"""

import itertools
import warnings

import numpy
import torch
from torch.utils.data import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    random_split,
)

LISTED = 16
SHOWN = 4
SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**32, 2**32 + 7, 2**63 - 1, -1, -42, -(2**31), -(2**63)]
EPOCHS = [0, 1, 2, 3, 100, 2**32 + 1]
SIZES = [1, 2, 3, 7, 9, 10, 12, 16, 17, 100, 1000, 65536]
BITS_27 = 1 << 27
SPEC_WEIGHTS = [0.1, 0.9, 0.4, 0.7, 3, 0.6]
MILLION = 1_000_000


def hashed(values):
    powers = numpy.full(len(values), 31, numpy.uint64)
    if len(values):
        powers[0] = 1
    powers = numpy.cumprod(powers, dtype=numpy.uint64)[::-1]
    total = numpy.sum(values.astype(numpy.uint64) * powers, dtype=numpy.uint64)
    return int(total.astype(numpy.int64))


lines = []


def case(name, values, more="", **arguments):
    if torch.is_tensor(values):
        values = values.numpy()
    values = numpy.asarray(values, dtype=numpy.int64)
    everything = len(values) <= LISTED
    head = values if everything else values[:SHOWN]
    tail = values[:0] if everything else values[-SHOWN:]
    words = [name]
    words += [f"{key}={value}" for key, value in arguments.items()]
    words += [
        f"count={len(values)}",
        f"hash={hashed(values)}",
        "head=" + ",".join(map(str, head)),
        "tail=" + ",".join(map(str, tail)),
    ]
    lines.append(" ".join(words + [more] if more else words))


def generator(seed):
    return torch.Generator().manual_seed(seed)


def after(own):
    return f"after={int(torch.randint(BITS_27, (), generator=own))}"


def passes(name, sampler, count, **arguments):
    for number in range(count):
        case(name, list(sampler), **arguments, **{"pass": number})


def numbers(text):
    kind, _, size = text.partition(":")
    if kind == "ramp":
        return [(7919 * i % 1009) / 8 for i in range(int(size))]
    if kind == "spread":
        return [7919 * i for i in range(int(size))]
    return [float(word) if "." in word else int(word) for word in text.split(",") if word]


def listed(values):
    return ",".join(map(str, values))


def draws():
    sizes = [0] + SIZES + [99_999, MILLION]
    for n, seed in itertools.product(sizes, SEEDS):
        own = generator(seed)
        values = torch.randperm(n, generator=own)
        case("randperm", values, after(own), n=n, seed=seed)
    for seed in [0, 2**32 - 1, -(2**63)]:
        own = generator(seed)
        values = torch.randperm(10 * MILLION, generator=own)
        case("randperm", values, after(own), n=10 * MILLION, seed=seed)
    for n in [214_748_363, 214_748_364]:
        values = torch.randperm(n, generator=generator(0), dtype=torch.int32)[:LISTED]
        case("randperm", values.clone(), n=n, seed=0, first=LISTED)
    for n in [1000, 99_999, MILLION]:
        for first in [1, n // 100, n - 1]:
            values = torch.randperm(n, generator=generator(7))[:first]
            case("randperm", values.clone(), n=n, seed=7, first=first)
    highs = [1, 2, 10, 100, 2**28 - 1, 2**28, 2**28 + 1, 2**31, 2**32, 2**40 + 5, 2**63 - 1]
    for high, seed in itertools.product(highs, SEEDS[:8:2] + [-1]):
        own = generator(seed)
        values = torch.randint(high, (37,), generator=own)
        case("randint", values, after(own), high=high, seed=seed)
    weights = ["1,2,3,4", listed(SPEC_WEIGHTS), "0,5,0,1,0", "3", "ramp:1000", "ramp:100000"]
    for text, seed in itertools.product(weights, SEEDS[:8:2] + [1, 2, -1]):
        tensor = torch.tensor(numbers(text), dtype=torch.double)
        positive = int((tensor > 0).sum())
        for replacement, count in [(1, 1), (1, 2), (1, 1000), (0, 1), (0, positive)]:
            own = generator(seed)
            values = torch.multinomial(tensor, count, bool(replacement), generator=own)
            case("multinomial", values, after(own),
                 weights=text, draws=count, replacement=replacement, seed=seed)


def rank_case(n, world_size, rank, drop_last, shuffle, seed, epoch):
    sampler = DistributedSampler(
        range(n), world_size, rank, bool(shuffle), seed, bool(drop_last))
    sampler.set_epoch(epoch)
    case("DistributedSampler", list(sampler), n=n, worldSize=world_size, rank=rank,
         drop_last=drop_last, shuffle=shuffle, seed=seed, epoch=epoch)


def distributed():
    seeds = itertools.cycle(SEEDS)
    epochs = itertools.cycle(EPOCHS[:-1])
    for n in [0] + SIZES:
        for world_size in [*range(1, 18), n + 1, 2 * n + 1, 40]:
            for rank in sorted({0, world_size // 2, world_size - 1}):
                for drop_last in (0, 1):
                    rank_case(n, world_size, rank, drop_last, 1, next(seeds), next(epochs))
                next(epochs)
            rank_case(n, world_size, world_size - 1, world_size % 2, 0, 0, 3)
    for seed, epoch in itertools.product(SEEDS, EPOCHS):
        if seed + epoch < 2**64:
            rank_case(101, 3, 1, 0, 1, seed, epoch)
    for n, world_size in [(MILLION, 7), (MILLION, 64), (10 * MILLION, 8), (10 * MILLION, 17)]:
        for drop_last in (0, 1):
            rank_case(n, world_size, world_size - 1, drop_last, 1, 2**32 - 1, 3)


def random():
    for n, seed in itertools.product(SIZES, SEEDS):
        passes("RandomSampler", RandomSampler(range(n), generator=generator(seed)),
               3 if n < 1000 else 2, n=n, replacement=0, draws=n, seed=seed)
    for n, seed in itertools.product([1, 10, 100, 1000], [42, -1]):
        for count in [1, 5, n + 1, 2 * n, 25 * n // 10, 700]:
            for replacement in (0, 1):
                sampler = RandomSampler(
                    range(n), bool(replacement), count, generator=generator(seed))
                passes("RandomSampler", sampler, 2,
                       n=n, replacement=replacement, draws=count, seed=seed)
    for n in [2**28 - 1, 2**28, 2**31 - 1, 2**31, 2**31 + 1, 2**40]:
        sampler = RandomSampler(range(n), True, 99, generator=generator(5))
        passes("RandomSampler", sampler, 2, n=n, replacement=1, draws=99, seed=5)
    sampler = RandomSampler(range(10 * MILLION), generator=generator(42))
    passes("RandomSampler", sampler, 2,
           n=10 * MILLION, replacement=0, draws=10 * MILLION, seed=42)
    sampler = RandomSampler(range(10), generator=generator(3))
    for number in range(5000):
        values = list(sampler)
        if number in (99, 4999):
            case("RandomSampler", values,
                 n=10, replacement=0, draws=10, seed=3, **{"pass": number})
    for n in [0, 1, 10, 1000]:
        case("SequentialSampler", list(SequentialSampler(range(n))), n=n)


def subsets():
    for text in ["", "5", "3,1,4,1,5,9,2,6", "0,2147483648,9223372036854775807,7",
                 "spread:100", "spread:1000000"]:
        for seed in [0, 42, 2**32 - 1, -1]:
            sampler = SubsetRandomSampler(numbers(text), generator=generator(seed))
            passes("SubsetRandomSampler", sampler, 3, indices=text, seed=seed)


def weighted():
    for text in ["1,2,3,4", listed(SPEC_WEIGHTS), "0,5,0,1,0", "ramp:1000", "ramp:100000"]:
        values = numbers(text)
        positive = sum(value > 0 for value in values)
        for seed in [0, 42, 2**32 - 1, -1]:
            for replacement, count in [(1, 1), (1, 500), (0, 2), (0, positive)]:
                sampler = WeightedRandomSampler(
                    values, count, bool(replacement), generator=generator(seed))
                passes("WeightedRandomSampler", sampler, 3,
                       weights=text, draws=count, replacement=replacement, seed=seed)


def batch_case(sampler, batch_size, drop_last, **arguments):
    batches = list(BatchSampler(sampler, batch_size, bool(drop_last)))
    full = sum(len(batch) == batch_size for batch in batches)
    rest = len(batches[-1]) if full < len(batches) else 0
    case("BatchSampler", list(itertools.chain(*batches)), f"batches={full}+{rest}",
         batchSize=batch_size, drop_last=drop_last, **arguments)


def batched():
    for n in [1, 10, 100, 1000]:
        for batch_size in [1, 3, n, n + 1, 64]:
            for drop_last in (0, 1):
                batch_case(RandomSampler(range(n), generator=generator(6)),
                           batch_size, drop_last, n=n, seed=6)
                batch_case(DistributedSampler(range(n), 3, 1, seed=6),
                           batch_size, drop_last, n=n, worldSize=3, rank=1, seed=6)


def split_case(n, key, values, seed):
    parts = random_split(range(n), values, generator=generator(seed))
    case("random_split", list(itertools.chain(*(part.indices for part in parts))),
         "parts=" + listed(len(part) for part in parts), n=n, **{key: listed(values)}, seed=seed)


def splits():
    warnings.simplefilter("ignore")  # about empty parts
    for seed in [0, 1, 42, -1]:
        for lengths in [[3, 7], [10], [0, 4, 0], [5, 5, 5], [900, 99, 1]]:
            split_case(sum(lengths), "lengths", lengths, seed)
        for n in [0, 1, 2, 10, 106, 1000, 65537]:
            for fractions in [[0.1, 0.2, 0.3, 0.4], [0.5, 0.5], [1.0], [0.9, 0.1], [0.0, 1.0],
                              [0.33, 0.33, 0.34]]:
                split_case(n, "fractions", fractions, seed)


for part in (draws, distributed, random, subsets, weighted, batched, splits):
    part()
print(f"# program java-api/src/test/golden/python_samplers.py; torch {torch.__version__};"
      f" numpy {numpy.__version__}; arguments none; cases {len(lines)}")
print("\n".join(lines))
