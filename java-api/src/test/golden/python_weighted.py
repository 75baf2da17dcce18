# SPDX-License-Identifier: Apache-2.0
"""Prints the training of PyTorch over joint batches of ranks with different numbers of tokens.

Creates the golden file python_weighted.txt without using torchfeed. To regenerate the file:

    python python_weighted.py > ../resources/golden/python_weighted.txt

with torch 2.10.0. In step s, rank r has two batches b of (5 r + 3 s + 7 b) mod 11 tokens, of which
some have none. Token i of a batch has the inputs sin(7.3 (3 i + j) + r + 10 s + 100 b) for j = 0, 1,
2, and the class (i + r + s + b) mod 2. A step is one of SGD, with momentum, over the mean loss of
all tokens of all ranks in one batch, clipped to a norm of 0.3. Each line is

    joint ranks=<ranks> then=<ranks from step 3 on> step=<step> tokens=<tokens> norm=<norm before
    clipping> values=<all parameters after the step>
"""

import math

import torch

STEPS = 6
CHANGE = 3
MAX_NORM = 0.3


def net():
    layers = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Tanh(), torch.nn.Linear(4, 2))
    with torch.no_grad():
        for number, parameter in enumerate(layers.parameters()):
            values = [math.sin(3.7 * i + number) for i in range(parameter.numel())]
            parameter.copy_(torch.tensor(values).reshape(parameter.shape))
    return layers


def batch(rank, step, number):
    count = (5 * rank + 3 * step + 7 * number) % 11
    start = rank + 10 * step + 100 * number
    inputs = [[math.sin(7.3 * (3 * i + j) + start) for j in range(3)] for i in range(count)]
    classes = [(i + rank + step + number) % 2 for i in range(count)]
    return torch.tensor(inputs).reshape(count, 3), torch.tensor(classes, dtype=torch.long)


def words(values):
    return ",".join(repr(float(value)) for value in values)


lines = []
for ranks, then in [(1, 1), (2, 2), (3, 3), (4, 4), (2, 1), (3, 2), (4, 3)]:
    model = net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    for step in range(STEPS):
        parts = [batch(rank, step, number)
                 for rank in range(ranks if step < CHANGE else then) for number in range(2)]
        inputs = torch.cat([part[0] for part in parts])
        classes = torch.cat([part[1] for part in parts])
        optimizer.zero_grad()
        torch.nn.functional.cross_entropy(model(inputs), classes).backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), MAX_NORM)
        optimizer.step()
        values = torch.cat([parameter.detach().flatten() for parameter in model.parameters()])
        lines.append(f"joint ranks={ranks} then={then} step={step} tokens={len(classes)} "
                     f"norm={float(norm)!r} values={words(values)}")

print(f"# program java-api/src/test/golden/python_weighted.py; torch {torch.__version__}; "
      f"arguments none; lines {len(lines)}")
print("\n".join(lines))
