#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The job of examples/mnist-ddp with Python's DistributedDataParallel.

Uses the same net, data, batch size, learning rate, threads and backend (Gloo) as the Java program;
prints its figures as one line of JSON.
"""

import argparse
import json
import os
import pathlib
import sys
import time


def process_age():
    """Returns the seconds since this process started, including interpreter start-up (Linux)."""
    fields = pathlib.Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    started = int(fields[19]) / os.sysconf("SC_CLK_TCK")
    return float(pathlib.Path("/proc/uptime").read_text().split()[0]) - started


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2, help="processes (default: %(default)s)")
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--batch-size", type=int, default=64, help="samples per rank and step")
    parser.add_argument("--lr", type=float, default=0.03)
    parser.add_argument("--momentum", type=float, default=0.9)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--data", required=True, help="folder with MNIST's four idx files")
    parser.add_argument("--workers", type=int, default=0, help="worker processes per DataLoader")
    parser.add_argument("--threads", type=int, default=1, help="threads per operation")
    parser.add_argument("--max-steps", type=int, default=0, help="steps per epoch; 0: all")
    parser.add_argument("--bare-steps", type=int, default=60)
    parser.add_argument("--json", help="file for the figures (default: standard output)")
    return parser.parse_args()


def read_idx(folder, images, labels):
    import numpy as np
    import torch

    def read(name, header):
        return np.fromfile(pathlib.Path(folder) / name, dtype=np.uint8)[header:]

    pixels = torch.from_numpy(read(images, 16)).view(-1, 1, 28, 28)
    pixels = pixels.float().mul_(1 / (255 * 0.3081)).sub_(0.1307 / 0.3081)
    return pixels, torch.from_numpy(read(labels, 8)).long()


def make_net():
    import torch.nn.functional as F
    from torch import nn

    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.conv1 = nn.Conv2d(1, 32, 3)
            self.conv2 = nn.Conv2d(32, 64, 3)
            self.fc1 = nn.Linear(9216, 128)
            self.fc2 = nn.Linear(128, 10)

        def forward(self, x):
            x = F.relu(self.conv1(x))
            x = F.relu(self.conv2(x))
            x = F.max_pool2d(x, 2)
            x = F.dropout(x, 0.25, self.training)
            x = F.relu(self.fc1(x.flatten(1)))
            x = F.dropout(x, 0.5, self.training)
            return F.log_softmax(self.fc2(x), 1)

    return Net()


def evaluate(net, folder, rank, ranks):
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F

    images, labels = read_idx(folder, "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")
    begin, end = len(labels) * rank // ranks, len(labels) * (rank + 1) // ranks
    sums = torch.zeros(2, dtype=torch.float64)
    net.eval()
    with torch.no_grad():
        for i in range(begin, end, 500):
            part = slice(i, min(i + 500, end))
            output = net(images[part])
            sums[0] += F.nll_loss(output, labels[part], reduction="sum")
            sums[1] += (output.argmax(1) == labels[part]).sum()
    net.train()
    dist.all_reduce(sums)
    return (sums / len(labels)).tolist()


def bare_step_ms(arguments):
    """Times forward, backward and optimizer step on one batch, without loader or reduction."""
    import torch
    import torch.nn.functional as F

    net = make_net()
    optimizer = torch.optim.SGD(net.parameters(), lr=arguments.lr, momentum=arguments.momentum)
    images = torch.randn(arguments.batch_size, 1, 28, 28)
    labels = torch.randint(0, 10, (arguments.batch_size,))
    for i in range(-5, arguments.bare_steps):
        if i == 0:
            start = time.perf_counter()
        optimizer.zero_grad()
        F.nll_loss(net(images), labels).backward()
        optimizer.step()
    return (time.perf_counter() - start) * 1e3 / arguments.bare_steps


def run_rank(rank, arguments, port):
    os.environ.update(
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
        RANK=str(rank),
        WORLD_SIZE=str(arguments.ranks),
        GLOO_SOCKET_IFNAME="lo",
    )
    import torch
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch.nn.parallel import DistributedDataParallel
    from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

    torch.set_num_threads(arguments.threads)
    torch.manual_seed(arguments.seed)
    images, labels = read_idx(
        arguments.data, "train-images-idx3-ubyte", "train-labels-idx1-ubyte"
    )
    dist.init_process_group("gloo")
    sampler = DistributedSampler(
        labels, num_replicas=arguments.ranks, rank=rank, seed=arguments.seed
    )
    loader = DataLoader(
        TensorDataset(images, labels),
        batch_size=arguments.batch_size,
        sampler=sampler,
        num_workers=arguments.workers,
    )
    net = make_net()
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=arguments.lr, momentum=arguments.momentum)
    figures = {"start_seconds": 0, "epochs": []}
    for epoch in range(arguments.epochs):
        sampler.set_epoch(epoch)
        torch.manual_seed(arguments.seed + 1000 * epoch + rank)
        begin = time.perf_counter()
        waited, steps, loss_sum = 0.0, 0, 0.0
        batches = iter(loader)
        while not arguments.max_steps or steps < arguments.max_steps:
            before = time.perf_counter()
            batch = next(batches, None)
            waited += time.perf_counter() - before
            if batch is None:
                break
            if not figures["start_seconds"]:
                figures["start_seconds"] = process_age()
            optimizer.zero_grad()
            loss = F.nll_loss(model(batch[0]), batch[1])
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
            steps += 1
        seconds = time.perf_counter() - begin
        loss, accuracy = evaluate(net, arguments.data, rank, arguments.ranks)
        figures["epochs"].append(
            {
                "seconds": seconds,
                "steps": steps,
                "data_wait_share": waited / seconds,
                "train_loss": loss_sum / steps,
                "test_loss": loss,
                "test_accuracy": accuracy,
            }
        )
        if rank == 0:
            print(json.dumps(figures["epochs"][-1]), file=sys.stderr, flush=True)
    if arguments.bare_steps:
        dist.barrier()
        figures["bare_step_ms"] = bare_step_ms(arguments)
    dist.barrier()
    if rank == 0:
        text = json.dumps(figures)
        if arguments.json:
            pathlib.Path(arguments.json).write_text(text + "\n")
        else:
            print(text)
    dist.destroy_process_group()


def free_port():
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def main():
    arguments = parse_arguments()
    import multiprocessing

    # Spawned as torch.multiprocessing does, but without loading torch in the parent.
    context = multiprocessing.get_context("spawn")
    port = free_port()
    ranks = [
        context.Process(target=run_rank, args=(rank, arguments, port))
        for rank in range(arguments.ranks)
    ]
    for rank in ranks:
        rank.start()
    for rank in ranks:
        rank.join()
    sys.exit(max(abs(rank.exitcode or 0) for rank in ranks))


if __name__ == "__main__":
    main()
