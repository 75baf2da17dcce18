# SPDX-License-Identifier: Apache-2.0
"""Prints the learning rates of PyTorch's schedules.

Creates the golden file python_schedules.txt without using torchfeed. To regenerate the file:

    python python_schedules.py > ../resources/golden/python_schedules.txt

with torch 2.10.0. The optimizer is an SGD with two groups, whose rates are 0.4 and 0.1. Each line is

    <schedule> <arguments> rates=<of the first group before step 0, 1, ...> second=<of the other one>

plateau has the metric that is reported after each step, too.
"""

import warnings

import torch
from torch.optim import lr_scheduler as lrs

STEPS = 60
BASE = (0.4, 0.1)
warnings.filterwarnings("ignore")
lines = []


def optimizer():
    parameters = [torch.nn.Parameter(torch.zeros(1)) for _ in BASE]
    return torch.optim.SGD([{"params": [p], "lr": lr} for p, lr in zip(parameters, BASE)])


def rates(make, advance=lambda schedule, step: schedule.step(), steps=STEPS):
    over = optimizer()
    schedule = make(over)
    seen = []
    for step in range(steps):
        seen.append([group["lr"] for group in over.param_groups])
        over.step()
        if step < steps - 1:
            advance(schedule, step)
    return [",".join(repr(float(each[i])) for each in seen) for i in range(len(BASE))]


def line(name, make, *more, **arguments):
    words = [name] + [f"{key}={value}" for key, value in arguments.items()]
    first, second = rates(make, *more)
    lines.append(" ".join(words + [f"rates={first}", f"second={second}"]))


def each_schedule():
    for start, end, steps in [(0.25, 1, 7), (1, 0, 59), (1, 0.1, 200), (0.5, 0.5, 1)]:
        line("linear", lambda over: lrs.LinearLR(over, start, end, steps),
             start=start, end=end, steps=steps)
    for steps in [59, 100]:
        line("cosine", lambda over: lrs.CosineAnnealingLR(over, steps), steps=steps)
    for size, gamma in [(1, 0.9), (10, 0.1), (100, 0.5)]:
        line("steps", lambda over: lrs.StepLR(over, size, gamma), size=size, gamma=gamma)
    for gamma, at in [(0.1, [30, 40, 50]), (0.5, [0, 1, 1, 59]), (0.3, [7])]:
        line("milestones", lambda over: lrs.MultiStepLR(over, at, gamma),
             gamma=gamma, at=",".join(map(str, at)))
    for gamma in [0.95, 1]:
        line("exponential", lambda over: lrs.ExponentialLR(over, gamma), gamma=gamma)
    for steps, power in [(59, 1), (40, 2), (100, 0.5)]:
        line("polynomial", lambda over: lrs.PolynomialLR(over, steps, power), steps=steps, power=power)
    for steps, rising, start, end in [(60, 0.3, 25, 10000), (60, 0.5, 10, 100), (80, 0.15, 4, 1)]:
        line("oneCycle", lambda over: lrs.OneCycleLR(
            over, list(BASE), total_steps=steps, pct_start=rising, div_factor=start,
            final_div_factor=end, cycle_momentum=False),
            steps=steps, rising=rising, start=start, end=end)
    line("lambda", lambda over: lrs.LambdaLR(over, lambda step: (1 + step) ** -0.5))


def compositions():
    for warm, steps in [(5, 60), (1, 58), (20, 80)]:
        line("warmUp", lambda over: lrs.SequentialLR(over, [
            lrs.LinearLR(over, 1 / (warm + 1), 1, warm), lrs.CosineAnnealingLR(over, steps)],
            [warm]), warm=warm, steps=steps)
    line("then", lambda over: lrs.SequentialLR(over, [
        lrs.ConstantLR(over, 1, 0), lrs.ExponentialLR(over, 0.9), lrs.StepLR(over, 4, 0.5)],
        [10, 30]))
    line("times", lambda over: lrs.ChainedScheduler([
        lrs.LinearLR(over, 0.2, 1, 12), lrs.ExponentialLR(over, 0.97)]))


def plateaus():
    falling = [1 / (1 + i // 9) for i in range(STEPS)]
    noisy = [2 + ((i * 7919) % 13) / 10 - i / 60 for i in range(STEPS)]
    hostile = [float("nan"), float("inf"), 1.0, 1.0, float("nan"), 0.5] + [0.5] * 54
    for metrics in (falling, noisy, hostile):
        for mode, gamma, patience, threshold, cooldown, lowest in [
                ("min", 0.1, 10, 1e-4, 0, 0), ("min", 0.5, 2, 0.05, 3, 0.03),
                ("max", 0.5, 0, 1e-4, 0, 0.01), ("max", 0.3, 3, 0.1, 1, 0)]:
            line("plateau", lambda over: lrs.ReduceLROnPlateau(
                over, mode, gamma, patience, threshold, "rel", cooldown,
                [lowest * base for base in BASE], 0),
                lambda schedule, step: schedule.step(metrics[step]),
                mode=mode, gamma=gamma, patience=patience, threshold=threshold,
                cooldown=cooldown, lowest=lowest, metrics=",".join(map(repr, metrics)))


for part in (each_schedule, compositions, plateaus):
    part()
print(f"# program java-api/src/test/golden/python_schedules.py; torch {torch.__version__};"
      f" arguments none; lines {len(lines)}")
print("\n".join(lines))
