#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The Python ranks of MixedRanksTest: argument 1 names the program, the environment the rank.

Needs torch 2.10, 2.13 or 2.15. Ends with status 0 if all values are as expected, and 3 if a rank was lost.
"""

import datetime
import os
import sys

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

LOST = 3


def check(what, got, expected):
    expected = torch.as_tensor(expected, dtype=got.dtype)
    if got.shape != expected.shape or not torch.equal(got, expected):
        sys.exit(f"{what}: got {got.tolist()}, expected {expected.tolist()}")


def reductions(rank, size):
    sums = size * (size + 1) / 2
    for dtype in [torch.float32, torch.float64, torch.int32, torch.int64, torch.bfloat16]:
        tensor = torch.tensor([rank + 1, 2], dtype=dtype)
        dist.all_reduce(tensor)
        check(f"all_reduce {dtype}", tensor, [sums, 2 * size])
    tensor = torch.tensor([rank + 1.0, 2.0])
    dist.all_reduce(tensor, dist.ReduceOp.AVG)
    check("mean", tensor, [sums / size, 2])
    tensor = torch.tensor([rank, -rank])
    dist.all_reduce(tensor, dist.ReduceOp.MAX)
    check("max", tensor, [size - 1, 0])
    large = torch.full((300_001,), float(rank))
    dist.all_reduce(large)
    check("large", large, [size * (size - 1) / 2.0] * 300_001)
    nothing = torch.empty(0)
    dist.all_reduce(nothing)
    several = [torch.full((3,), float(rank)), torch.full((2, 2), rank + 1.0)]
    dist.all_reduce_coalesced(several)
    check("coalesced 0", several[0], [size * (size - 1) / 2.0] * 3)
    check("coalesced 1", several[1], [[sums] * 2] * 2)
    for root in range(size):
        tensor = torch.tensor([rank + 1.0])
        dist.reduce(tensor, root)
        if rank == root:
            check("reduce", tensor, [sums])
    part = torch.empty(2)
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * size) + rank)
    offsets = size * (size - 1) / 2
    check("reduce_scatter", part, [2.0 * rank * size + offsets, (2.0 * rank + 1) * size + offsets])
    dist.reduce_scatter_tensor(part, torch.arange(2.0 * size) + rank, dist.ReduceOp.MAX)
    check("reduce_scatter max", part, [2.0 * rank + size - 1, 2.0 * rank + size])


def movements(rank, size):
    for root in range(size):
        tensor = torch.tensor([[rank, 1], [2, 3]], dtype=torch.int8 if root == 0 else torch.int64)
        dist.broadcast(tensor, root)
        check("broadcast", tensor, [[root, 1], [2, 3]])
    outputs = [torch.empty(2, dtype=torch.int64) for _ in range(size)]
    dist.all_gather(outputs, torch.tensor([rank, 10 * rank]))
    check("all_gather", torch.stack(outputs), [[i, 10 * i] for i in range(size)])
    output = torch.empty(size * 2)
    dist.all_gather_into_tensor(output, torch.tensor([rank + 0.5, 1.0]))
    check("all_gather_into", output, [x for i in range(size) for x in (i + 0.5, 1.0)])
    for root in range(size):
        gathered = [torch.empty(1) for _ in range(size)] if rank == root else None
        dist.gather(torch.tensor([float(rank)]), gathered, root)
        if rank == root:
            check("gather", torch.cat(gathered), list(range(size)))
        output = torch.empty(2)
        inputs = [torch.full((2,), 10.0 * root + i) for i in range(size)]
        dist.scatter(output, inputs if rank == root else None, root)
        check("scatter", output, [10.0 * root + rank] * 2)
    output = torch.empty(size, dtype=torch.int64)
    dist.all_to_all_single(output, torch.arange(size) + 10 * rank)
    check("all_to_all_single", output, [10 * i + rank for i in range(size)])
    # Rank r sends i + 1 rows to rank i.
    output = torch.empty(size * (rank + 1), 2)
    sent = torch.full((size * (size + 1) // 2, 2), float(rank))
    dist.all_to_all_single(output, sent, [rank + 1] * size, [i + 1 for i in range(size)])
    check("uneven", output[:, 0], [float(i) for i in range(size) for _ in range(rank + 1)])


def messages(rank, size):
    following, previous = (rank + 1) % size, (rank - 1) % size
    sent = [dist.isend(torch.tensor([rank, tag]), following, tag=tag) for tag in (5, 0)]
    for tag in (0, 5):
        tensor = torch.empty(2, dtype=torch.int64)
        dist.recv(tensor, previous, tag=tag)
        check(f"tag {tag}", tensor, [previous, tag])
    for work in sent:
        work.wait()


def collectives(rank, size):
    dist.barrier()
    reductions(rank, size)
    movements(rank, size)
    messages(rank, size)
    store = dist.distributed_c10d._get_default_store()
    store.set(f"of {rank}", "a value")
    dist.barrier()
    for other in range(size):
        if store.get(f"of {other}") != b"a value":
            sys.exit("a value is missing in the store")
    dist.barrier()


class Net(nn.Module):
    """A convolution with or without batch normalization, and a layer that may be unused."""

    def __init__(self, normalized):
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3)
        if normalized:
            self.norm = nn.BatchNorm2d(4)
        self.normalized = normalized
        self.fc = nn.Linear(64, 5)
        self.extra = nn.Linear(5, 5)

    def forward(self, x, with_extra):
        x = self.conv(x)
        if self.normalized:
            x = self.norm(x)
        x = self.fc(torch.relu(x).flatten(1))
        return self.extra(x) if with_extra else x


def values(first, shape):
    """The same numbers as MixedRank.values."""
    count = torch.Size(shape).numel()
    numbers = (torch.arange(first, first + count, dtype=torch.float64) * 7919) % 1013
    return (numbers / 1013 - 0.5).float().reshape(shape)


def train(rank, size, options):
    torch.manual_seed(rank)  # the values of rank 0 count
    net = Net("norm" in options)
    model = DistributedDataParallel(
        net,
        bucket_cap_mb=0.001 if "buckets" in options else None,
        find_unused_parameters="unused" in options,
        static_graph="static" in options,
        broadcast_buffers="norm" in options,
    )
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    for epoch in range(2):
        model.train()
        for step in range(8):
            number = (epoch * 8 + step) * size + rank
            x, y = values(1000 * number, [6, 1, 6, 6]), values(500 * number, [6, 5])
            with_extra = "unused" not in options or step % 2 == 0

            def backward():
                ((model(x, with_extra) - y) ** 2).mean().backward()

            if "accumulate" in options and step % 2 == 0:
                with model.no_sync():
                    backward()
                continue
            backward()
            optimizer.step()
            optimizer.zero_grad()
        model.eval()
        with torch.no_grad():
            model(values(0, [2, 1, 6, 6]), True)
    compare(net, size)


class MnistNet(nn.Module):
    """The net of the MNIST example."""

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 32, 3)
        self.conv2 = nn.Conv2d(32, 64, 3)
        self.fc1 = nn.Linear(9216, 128)
        self.fc2 = nn.Linear(128, 10)

    def forward(self, x):
        x = torch.max_pool2d(torch.relu(self.conv2(torch.relu(self.conv1(x)))), 2)
        x = torch.relu(self.fc1(torch.dropout(x, 0.25, True).flatten(1)))
        return torch.log_softmax(self.fc2(torch.dropout(x, 0.5, True)), 1)


def train_mnist(rank, size, folder):
    def read(name, header):
        with open(os.path.join(folder, name), "rb") as file:
            return torch.frombuffer(bytearray(file.read()[header:]), dtype=torch.uint8)

    images = read("train-images-idx3-ubyte", 16).view(-1, 1, 28, 28)
    labels = read("train-labels-idx1-ubyte", 8).long()
    torch.manual_seed(rank)
    net = MnistNet()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.03, momentum=0.9)
    sampler = torch.utils.data.DistributedSampler(range(12_800))
    for epoch in range(2):
        sampler.set_epoch(epoch)
        for batch in torch.tensor(list(sampler)).split(64):
            scores = model(images[batch].float() / 255)
            torch.nn.functional.nll_loss(scores, labels[batch]).backward()
            optimizer.step()
            optimizer.zero_grad()
    compare(net, size)


def compare(net, size):
    state = [*net.parameters(), *net.buffers()]
    flat = torch.cat([tensor.detach().double().flatten() for tensor in state])
    every = [torch.empty_like(flat) for _ in range(size)]
    dist.all_gather(every, flat)
    for other in every:
        # Two kernels of convolutions may round differently, so not every bit has to be equal.
        if not torch.allclose(flat, other, rtol=1e-6, atol=1e-12):
            sys.exit(f"the states differ by {(flat - other).abs().max()}")


def repeat():
    """All-reduces until a rank is lost."""
    tensor = torch.ones(1 << 18)
    print("steady", flush=True)
    try:
        while True:
            dist.all_reduce(tensor)
    except RuntimeError as lost:
        print(f"lost: {str(lost).splitlines()[0]}", flush=True)
        os._exit(LOST)


def main():
    timeout = datetime.timedelta(seconds=int(os.environ.get("TIMEOUT_SECONDS", "60")))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", init_method="env://", timeout=timeout)
    rank, size = dist.get_rank(), dist.get_world_size()
    program = sys.argv[1]
    if program == "collectives":
        collectives(rank, size)
    elif program == "train":
        train(rank, size, sys.argv[2:])
    elif program == "train-mnist":
        train_mnist(rank, size, sys.argv[2])
    elif program == "other-model":
        DistributedDataParallel(nn.Linear(3, 2))
    elif program == "repeat":
        repeat()
    else:
        sys.exit(f"unknown program {program}")
    dist.destroy_process_group()
    # Gloo's threads may still hold the tensors of the last operations. A thread that releases one
    # while the interpreter ends aborts the process, in groups without a Java rank, too.
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
