#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A Python rank of `collectives`: does what CollectivesRank.java does, with torch.distributed."""

import os
import sys
import time

import torch
import torch.distributed as dist
import torch.nn.functional as F
from torch.nn.parallel import DistributedDataParallel

from mnist_ddp import make_net

BATCH = 64


def timed(count, body):
    times = []
    for _ in range(count):
        start = time.perf_counter_ns()
        body()
        times.append(time.perf_counter_ns() - start)
    return times


def all_reduce(elements, count):
    tensor = torch.zeros(elements)
    dist.barrier()
    return timed(count, lambda: dist.all_reduce(tensor))


class Training:
    def __init__(self):
        torch.manual_seed(dist.get_rank())
        self.images = torch.randn(BATCH, 1, 28, 28)
        self.labels = torch.randint(0, 10, (BATCH,))
        self.bare = make_net()
        wrapped = make_net()
        self.ddp = DistributedDataParallel(wrapped)
        self.optimizers = [
            torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9) for net in (self.bare, wrapped)
        ]

    def steps(self, how, count):
        model = self.ddp if how == "ddp" else self.bare
        optimizer = self.optimizers[1 if how == "ddp" else 0]

        def step():
            optimizer.zero_grad()
            F.nll_loss(model(self.images), self.labels).backward()
            optimizer.step()

        dist.barrier()
        return timed(count, step)


def main():
    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    dist.init_process_group("gloo")
    training = Training()
    for line in sys.stdin:
        task, how, *numbers = line.split()
        if task == "all-reduce":
            times = all_reduce(int(numbers[0]), int(numbers[1]))
        else:
            times = training.steps(how, int(numbers[0]))
        print("done", *times, flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
