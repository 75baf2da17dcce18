# SPDX-License-Identifier: Apache-2.0
"""Prints the results of torch.Generator and the functions that draw from it, on the CPU.

Creates the golden file python_generator.txt without using torchfeed. To regenerate the file:

    python python_generator.py > ../resources/golden/python_generator.txt

with torch 2.10.0 and numpy. A run starts with "generator seed=<s>" or "generator
state=<Base64 of get_state()>"; each line after it is a call on the same generator:

    <call> <arguments> count=<values> hash=<h = 31h + x in signed 64 bits> head=<first values>
    <call> <arguments> refused
    get_state sha256=<of the bytes>
    initial_seed value=<as a signed 64-bit number>

random is an int64 tensor's random_() or random_(from, None); rand and rand64 are torch.rand in
float32 and float64, with the bits of each value as a number. Weights of multinomial are float64,
either listed, or ramp:m for (7919 i mod 1009) / 8. A refused call draws nothing.
"""

import base64
import hashlib
import random

import numpy
import torch

SHOWN = 6
LOWEST, HIGHEST = -(2**63), 2**63 - 1
SEEDS = [0, 1, 42, 2**31, 2**32 - 1, 2**32 + 7, HIGHEST, -1, -(2**31), LOWEST]
SWITCH = 2**28  # where randint changes from 32 to 64 bits
RANGES = [
    (0, 1), (0, 2), (0, 10), (-5, 5), (-1, 0), (7, 8),
    (0, SWITCH - 1), (0, SWITCH), (0, SWITCH + 1), (-3, SWITCH - 4), (-3, SWITCH - 3),
    (0, 2**31), (-(2**31), 2**31), (0, 2**32 - 1), (0, 2**32), (0, 2**32 + 1), (0, 2**40 + 5),
    (0, HIGHEST), (2**62, HIGHEST), (LOWEST, LOWEST + 1), (LOWEST, 0), (LOWEST, 1),
    (LOWEST, HIGHEST), (-(2**62), 2**62), (-(2**62) - 1, 2**62), (-1, HIGHEST),
    (HIGHEST - 1, HIGHEST),
]
FROM = [0, 1, -1, LOWEST, LOWEST + 1, HIGHEST, HIGHEST - 1,
        HIGHEST - SWITCH, HIGHEST - SWITCH + 1, HIGHEST - SWITCH + 2]
WEIGHTS = ["1,2,3,4", "0.1,0.9,0.4,0.7,3,0.6", "0,5,0,1,0", "0,0,1", "1,0,0", "-0.0,1", "3",
           "5e-324,1e300", "1e-300,1e-300", "ramp:1000", "ramp:100000"]
NO_WEIGHTS = ["", "0", "0,0,0", "1,-1", "1,inf", "nan,1", "1,nan", "-inf"]

lines = []


def hashed(values):
    total = 0
    for value in values.tolist() if len(values) < 100_000 else []:
        total = (31 * total + value) % 2**64
    if len(values) >= 100_000:
        powers = numpy.full(len(values), 31, numpy.uint64)
        powers[0] = 1
        powers = numpy.cumprod(powers, dtype=numpy.uint64)[::-1]
        total = int(numpy.sum(values.astype(numpy.uint64) * powers, dtype=numpy.uint64))
    return total - 2**64 if total >= 2**63 else total


def weights(text):
    kind, _, size = text.partition(":")
    if kind == "ramp":
        return torch.tensor([(7919 * i % 1009) / 8 for i in range(int(size))], dtype=torch.double)
    numbers = [float(word) for word in text.split(",") if word]
    return torch.tensor(numbers, dtype=torch.double)


class Run:
    """One generator and the calls on it, in file order."""

    def __init__(self, seed=None, state=None):
        self.generator = torch.Generator()
        if state is None:
            self.generator.manual_seed(seed)
            lines.append(f"generator seed={seed}")
        else:
            self.generator.set_state(state)
            lines.append("generator state=" + base64.b64encode(bytes(state.numpy())).decode())

    def call(self, name, draw, **arguments):
        words = [name] + [f"{key}={value}" for key, value in arguments.items()]
        before = self.generator.get_state()
        try:
            values = draw().numpy().astype(numpy.int64)
        except (RuntimeError, IndexError):
            assert torch.equal(before, self.generator.get_state())
            lines.append(" ".join(words + ["refused"]))
            return
        words += [f"count={len(values)}", f"hash={hashed(values)}",
                  "head=" + ",".join(map(str, values[:SHOWN]))]
        lines.append(" ".join(words))

    def randperm(self, n):
        self.call("randperm", lambda: torch.randperm(n, generator=self.generator), n=n)

    def randint(self, low, high, size):
        self.call("randint", lambda: torch.randint(low, high, (size,), generator=self.generator),
                  low=low, high=high, size=size)

    def random(self, size):
        self.call("random", lambda: torch.empty(size, dtype=torch.int64).random_(
            generator=self.generator), size=size)

    def random_from(self, low, size):
        self.call("random", lambda: torch.empty(size, dtype=torch.int64).random_(
            low, None, generator=self.generator), low=low, size=size)

    def rand(self, size):
        self.call("rand", lambda: torch.rand(size, generator=self.generator).view(torch.int32),
                  size=size)

    def rand64(self, size):
        self.call("rand64", lambda: torch.rand(
            size, dtype=torch.float64, generator=self.generator).view(torch.int64), size=size)

    def multinomial(self, text, draws, replacement):
        self.call("multinomial", lambda: torch.multinomial(
            weights(text), draws, replacement, generator=self.generator),
            weights=text, draws=draws, replacement=int(replacement))

    def get_state(self):
        state = bytes(self.generator.get_state().numpy())
        lines.append("get_state sha256=" + hashlib.sha256(state).hexdigest())

    def initial_seed(self):
        seed = self.generator.initial_seed()
        lines.append(f"initial_seed value={seed - 2**64 if seed >= 2**63 else seed}")


def each_function():
    for seed in SEEDS:
        run = Run(seed)
        run.initial_seed()
        run.get_state()
        for n in [0, 1, 2, 3, 10, 100, 1000, 65_537]:
            run.randperm(n)
        run.get_state()
        for low, high in RANGES:
            run.randint(low, high, 19)
        run.get_state()
        run.random(19)
        for low in FROM:
            run.random_from(low, 19)
        run.get_state()
        run.rand(1000)
        run.get_state()
        run.rand64(1000)
        run.get_state()
        for text in WEIGHTS:
            positive = int((weights(text) > 0).sum())
            for draws, replacement in [(1, True), (2, True), (1000, True), (1, False),
                                       (positive, False)]:
                run.multinomial(text, draws, replacement)
        run.get_state()
        run.initial_seed()
    run = Run(2026)
    for n in [99_999, 1_000_000, 10_000_000]:
        run.randperm(n)
        run.get_state()


def states_around_refills():
    run = Run(7)
    for draws in [1, 1, 1, 619, 1, 1, 1, 1, 619, 1, 1, 1, 1, 623]:  # of 624 words each
        run.randint(0, 2, draws)
        run.get_state()


def mixtures():
    chosen = random.Random(14)
    for _ in range(40):
        run = Run(chosen.randrange(LOWEST, HIGHEST))
        for _ in range(25):
            size = chosen.choice([0, 1, 2, 5, 19, 300, 700])
            low, high = chosen.choice(RANGES)
            [
                lambda: run.randperm(size),
                lambda: run.randint(low, high, size),
                lambda: run.random(size),
                lambda: run.random_from(chosen.choice(FROM), size),
                lambda: run.rand(size),
                lambda: run.rand64(size),
                lambda: run.multinomial("1,2,3,4", max(1, size), True),
                lambda: run.multinomial("0.1,0.9,0.4,0.7,3,0.6", 1 + size % 6, False),
                lambda: run.get_state(),
            ][chosen.randrange(9)]()
        run.get_state()


def states():
    """Saved states, with and without the normal numbers that randn keeps for its next call."""
    for draws, randn in [(0, []), (5, []), (624, []), (100, [torch.float32]),
                         (100, [torch.float64]), (1000, [torch.float64, torch.float32])]:
        source = torch.Generator().manual_seed(-42)
        torch.randint(2, (draws,), generator=source)
        for dtype in randn:
            torch.randn(17, dtype=dtype, generator=source)
            torch.empty(1, dtype=dtype).normal_(generator=source)
        run = Run(state=source.get_state())
        run.initial_seed()
        run.get_state()
        run.randperm(1000)
        run.get_state()


def refusals():
    run = Run(3)
    run.randperm(-1)
    for low, high in [(0, 0), (0, -1), (5, 5), (HIGHEST, LOWEST), (LOWEST, LOWEST)]:
        run.randint(low, high, 1)
    run.randint(0, 5, -1)
    run.random(-1)
    run.random_from(0, -1)
    run.rand(-1)
    run.rand64(-1)
    for text in NO_WEIGHTS:
        for draws, replacement in [(1, True), (2, True), (1, False)]:
            run.multinomial(text, draws, replacement)
    for draws, replacement in [(0, True), (0, False), (-1, True), (5, False)]:
        run.multinomial("1,2,3,4", draws, replacement)
    run.multinomial(f"ramp:{2**24 + 1}", 1, False)
    run.get_state()


for part in (each_function, states_around_refills, mixtures, states, refusals):
    part()
print(f"# program java-api/src/test/golden/python_generator.py; torch {torch.__version__};"
      f" numpy {numpy.__version__}; arguments none; lines {len(lines)}")
print("\n".join(lines))
