#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the test vectors of the seekable permutation from a second implementation in plain integers.

python3 seekable_permutation.py > ../resources/golden/seekable_permutation.txt

The code below is meant to be read alongside the Javadoc of ShuffledTable, MixedRadixNetwork and
WideNetwork, and shares no code, no word size and no method of computation with them.
"""
import sys

GAMMA = 0x9E3779B97F4A7C15
WORD = 2**64
HALF = 2**32


def mix64(z):
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ z >> 27) * 0x94D049BB133111EB % WORD
    return z ^ z >> 31


def key_stream(seed, epoch):
    state = mix64((mix64(seed % WORD ^ 0x746F726368666565) + epoch * GAMMA + 1) % WORD)
    while True:
        state = (state + GAMMA) % WORD
        yield mix64(state)


def below(keys, limit):
    while True:
        product = next(keys) * limit
        if product % WORD >= WORD % limit:
            return product // WORD


def table(n, keys):
    t = list(range(n))
    for i in range(n - 1, 0, -1):
        j = below(keys, i + 1)
        t[i], t[j] = t[j], t[i]
    return lambda index: t[index]


def mixed_radix(n, keys):
    width = (n - 1).bit_length()
    low_radix = 2 ** max(width // 2, width - 16)
    high_radix = -(-n // low_radix)
    assert high_radix <= 2**16
    words = [next(keys) for _ in range(8)]

    def f(i, x):
        x = (x + words[i] % HALF) % HALF
        x = (x ^ x // 2**16) * 0x7FEB352D % HALF
        x = ((x ^ x // 2**15) + words[i] // HALF) * 0x846CA68B % HALF
        return x

    def network(index):
        high, low = divmod(index, low_radix)
        for i in range(0, 8, 2):
            low ^= f(i, high) * low_radix // HALF
            high = (high + f(i + 1, low) * high_radix // HALF) % high_radix
        return high * low_radix + low

    return walked(n, network)


def wide(n, keys):
    width = (n - 1).bit_length()
    low_radix = 2 ** (width // 2)
    high_radix = 2 ** (width - width // 2)
    words = [next(keys) for _ in range(8)]

    def network(index):
        high, low = divmod(index, low_radix)
        for i in range(0, 8, 2):
            high ^= mix64((low + words[i]) % WORD) * high_radix // WORD
            low ^= mix64((high + words[i + 1]) % WORD) * low_radix // WORD
        return high * low_radix + low

    return walked(n, network)


def walked(n, network):
    def at(index):
        value = network(index)
        while value >= n:
            value = network(value)
        return value

    return at


def permutation(n, seed, epoch):
    kind = table if n <= 4096 else mixed_radix if n <= 2**47 else wide
    return kind(n, key_stream(seed, epoch))


def polynomial_hash(values):
    h = 0
    for value in values:
        h = (31 * h + value) % WORD
    return h if h < WORD // 2 else h - WORD


def line(n, seed, epoch, positions):
    at = permutation(n, seed, epoch)
    values = " ".join(f"{p}:{at(p)}" for p in positions)
    return f"n={n} seed={seed} epoch={epoch} at {values}"


def whole(n, seed, epoch):
    at = permutation(n, seed, epoch)
    values = [at(index) for index in range(n)]
    assert sorted(values) == list(range(n))
    return f"n={n} seed={seed} epoch={epoch} hash {polynomial_hash(values)}"


SMALL = [1, 2, 3, 5, 10, 100, 4095, 4096]
MIXED = [4097, 4160, 5000, 8191, 8192, 8193, 10_007, 65_535, 65_536, 65_537, 2**17 + 1]
LARGE = [10**6, 10**7, 10**9, 2**31 - 1, 2**31, 2**31 + 1, 2**32 - 1, 2**32, 2**32 + 1]
LARGE += [2**40 + 3, 2**46 + 1, 2**47 - 1, 2**47]
WIDE = [2**47 + 1, 2**53 - 1, 10**18, 2**61 + 1, 2**62 - 1, 2**62]
KEYS = [(42, 0), (42, 1), (0, 0), (-7, 3), (2**63 - 1, 2**63 - 1), (-(2**63), -(2**63))]

if __name__ == "__main__":
    python = ".".join(map(str, sys.version_info[:2]))
    print(f"# program java-api/src/test/golden/seekable_permutation.py; Python {python}")
    for n in SMALL + MIXED + LARGE + WIDE:
        some = sorted({p for p in (0, 1, 2, 3, n // 3, n // 2, n - 2, n - 1) if 0 <= p < n})
        for seed, epoch in KEYS:
            print(line(n, seed, epoch, some))
            if n <= MIXED[-1]:
                print(whole(n, seed, epoch))
    print(whole(10**6, 42, 0))
