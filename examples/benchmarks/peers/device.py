#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What Python's torch does on a GPU, in its best form, for comparison with torchfeed.

loaders SECONDS: as DeviceLoaders.java: batches made by one `index_select`, in an order kept in tensors, pinned by the
loader's own thread, and sent without waiting. copies: page-locked memory copied into one tensor. jpegs FOLDER: 64 JPEG
files decoded together by nvJPEG through torchvision, without and with a random crop of each. mnist FOLDER BATCH EPOCHS:
the net of examples/mnist-ddp over NCCL with one rank, whose batches come from such a loader without workers.
"""

import os
import pathlib
import sys
import time

import loaders as loaders_peer
import torch

DEVICE = "cuda:0"


def loader_of(images, labels, batch, workers):
    return loaders_peer.loader_of("tensors", workers, images, labels, batch, False, pin_memory=True)


def sent(batch):
    return [column.to(DEVICE, non_blocking=True) for column in batch]


def loaders(seconds):
    pictures = torch.randint(0, 256, (4096, 3, 224, 224), dtype=torch.uint8)
    digits = torch.rand(60000, 1, 28, 28)
    for row, images, batches in (("3x224x224 uint8", pictures, (64, 256)), ("1x28x28 float32", digits, (256, 1024))):
        labels = torch.arange(len(images))
        for batch in batches:
            for workers in (0, 2, 4, 8):
                loader = loader_of(images, labels, batch, workers)
                rate = rate_of(loader, len(images), float(seconds))
                gigabytes = rate * images[0].numel() * images.element_size() / 1e9
                print(f"Python {row}, batch {batch}, {workers} workers: {rate:.0f} rows/s, {gigabytes:.2f} GB/s", flush=True)
                del loader


def rate_of(loader, rows, seconds):
    def load():
        for batch in loader:
            columns = sent(batch)
        columns[1].sum().item()

    load()  # warms up
    start = time.perf_counter()
    epochs = taken = 0
    while taken < seconds:
        load()
        epochs += 1
        taken = time.perf_counter() - start
    return epochs * rows / taken


def copies():
    source = torch.empty(8 << 20, dtype=torch.uint8).pin_memory()
    target = torch.empty_like(source, device=DEVICE)
    for size in (8 << 20, 1 << 20, 64 << 10):
        count = (1 << 31) // size
        for _ in range(2):  # the first turn warms up
            torch.cuda.synchronize()
            start = time.perf_counter()
            for _ in range(count):
                target[:size].copy_(source[:size], non_blocking=True)
            torch.cuda.synchronize()
            taken = time.perf_counter() - start
        print(f"Python copies of {size} B: {count * size / taken / 1e9:.1f} GB/s", flush=True)


def jpegs(folder):
    from torchvision.io import ImageReadMode, decode_jpeg
    from torchvision.transforms import v2

    files = sorted(pathlib.Path(folder).rglob("*.jpg"))[:64]
    encoded = [torch.frombuffer(bytearray(file.read_bytes()), dtype=torch.uint8) for file in files]
    crop = v2.RandomResizedCrop(224, antialias=True)
    for crops in (False, True):
        for _ in range(2):  # the first turn warms up
            pictures = 0
            torch.cuda.synchronize()
            start = time.perf_counter()
            while time.perf_counter() - start < 2:
                decoded = decode_jpeg(encoded, mode=ImageReadMode.RGB, device=DEVICE)
                if crops:
                    torch.stack([crop(picture) for picture in decoded])
                pictures += len(encoded)
            torch.cuda.synchronize()
            taken = time.perf_counter() - start
        print(f"torchvision, nvJPEG{' and crops' if crops else ''}: {pictures / taken:.0f} pictures/s", flush=True)


def mnist(folder, batch, epochs):
    import mnist_ddp
    import torch.distributed as dist
    import torch.nn.functional as F
    from torch.nn.parallel import DistributedDataParallel

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(mnist_ddp.free_port()), RANK="0", WORLD_SIZE="1")
    dist.init_process_group("nccl")
    torch.manual_seed(0)
    images, labels = mnist_ddp.read_idx(folder, "train-images-idx3-ubyte", "train-labels-idx1-ubyte")
    net = mnist_ddp.make_net().to(DEVICE)
    model = DistributedDataParallel(net)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.03, momentum=0.9)
    loader = loader_of(images, labels, int(batch), 0)
    for epoch in range(int(epochs)):
        start = time.perf_counter()
        loss_sum, steps = 0.0, 0
        for inputs, classes in map(sent, loader):
            optimizer.zero_grad()
            loss = F.nll_loss(model(inputs), classes)
            loss.backward()
            optimizer.step()
            loss_sum += loss.item()
            steps += 1
        taken = time.perf_counter() - start
        print(f"Python epoch {epoch + 1}: {taken:.2f} s, {len(labels) / taken:.0f} rows/s, loss {loss_sum / steps:.4f}", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    torch.multiprocessing.set_sharing_strategy("file_system")
    {"loaders": loaders, "copies": copies, "jpegs": jpegs, "mnist": mnist}[sys.argv[1]](*sys.argv[2:])
