# SPDX-License-Identifier: Apache-2.0
"""The same training in Python: torchvision's folder and transforms, the net of ResNet.java.

python train.py DIR [--size N] [--epochs N] [--batch-size N] [--lr X] [--seed N] [--package FILE]

Prints a line per epoch and the accuracy after the last. Needs torch 2.10.0 and torchvision 0.25.0. With --package,
compiles the net into FILE, net.pt2 for example, which `evaluate` and `classify` take as their --model; then prints
the classes of the test images by the package.
"""

import argparse
import math
import pathlib

import torch
import torch.fx.experimental._config
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

MEAN = [0.485, 0.456, 0.406]
STD = [0.229, 0.224, 0.225]
WIDTHS = [24, 48, 96, 192]


def convolution(before, after, kernel, stride):
    return nn.Conv2d(before, after, kernel, stride, kernel // 2, bias=False)


class Block(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, before, after, stride):
        super().__init__()
        self.conv1 = convolution(before, after, 3, stride)
        self.norm1 = nn.BatchNorm2d(after)
        self.conv2 = convolution(after, after, 3, 1)
        self.norm2 = nn.BatchNorm2d(after)
        same = stride == 1 and before == after
        self.shortcut = nn.Identity() if same else convolution(before, after, 1, stride)

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        return F.relu(self.norm2(self.conv2(y)) + self.shortcut(x))


class ResNet(nn.Module):
    """Eight blocks, two of each width."""

    def __init__(self, classes):
        super().__init__()
        self.stem = convolution(3, WIDTHS[0], 3, 2)
        self.norm = nn.BatchNorm2d(WIDTHS[0])
        blocks, before = [], WIDTHS[0]
        for width in WIDTHS:
            blocks += [Block(before, width, 2), Block(width, width, 1)]
            before = width
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(before, classes)

    def forward(self, images):
        x = self.blocks(F.relu(self.norm(self.stem(images))))
        return self.head(x.mean((2, 3)))


def decoded(path):
    return decode_image(path, ImageReadMode.RGB, apply_exif_orientation=True)


def compile_package(net, size, classes, path):
    """Compiles a net for this processor, with the size of its images and its classes.

    A package would take 2 to 15 images, as the libraries for convolutions that are chosen for the example: without
    them, libtorch chooses where the package runs.
    """
    batch = torch.export.Dim("batch", min=1, max=4096)
    with (
        torch.no_grad(),
        torch.fx.experimental._config.patch(backed_size_oblivious=True),
        torch.backends.mkldnn.flags(enabled=False),
        torch.backends.nnpack.flags(enabled=False),
    ):
        program = torch.export.export(
            net, (torch.zeros(2, 3, size, size),), dynamic_shapes=({0: batch},)
        )
        torch._inductor.aoti_compile_and_package(
            program,
            package_path=str(path),
            inductor_configs={"aot_inductor.metadata": {"size": str(size), "classes": "/".join(classes)}},
        )


def print_classes(package, images, batch_size):
    net = torch._inductor.aoti_load_package(str(package))
    files = iter(images.samples)
    for batch, _ in DataLoader(images, batch_size):
        for share in net(batch).softmax(1):
            best = share.argmax()
            print(f"{next(files)[0]}: {images.classes[best]}, {100 * share[best]:.0f} %")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("data", type=pathlib.Path)
    parser.add_argument("--size", type=int, default=128)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--package", type=pathlib.Path)
    arguments = parser.parse_args()
    size = arguments.size
    end = [v2.ToDtype(torch.float32, scale=True), v2.Normalize(MEAN, STD)]
    random_part = [
        v2.RandomResizedCrop(size, antialias=True),
        v2.RandomHorizontalFlip(),
        v2.ColorJitter(0.3, 0.3, 0.3, 0.05),
    ]
    middle = [v2.Resize(round(size * 256 / 224), antialias=True), v2.CenterCrop(size)]
    train = ImageFolder(arguments.data / "train", v2.Compose(random_part + end), loader=decoded)
    test = ImageFolder(arguments.data / "val", v2.Compose(middle + end), loader=decoded)
    torch.manual_seed(arguments.seed)
    net = ResNet(len(train.classes))
    optimizer = torch.optim.SGD(
        net.parameters(), lr=arguments.lr, momentum=0.9, weight_decay=1e-4
    )
    loader = DataLoader(train, arguments.batch_size, shuffle=True)
    for epoch in range(arguments.epochs):
        net.train()
        total = 0.0
        for step, (images, labels) in enumerate(loader):
            done = (epoch + step / len(loader)) / arguments.epochs
            optimizer.param_groups[0]["lr"] = arguments.lr * (1 + math.cos(math.pi * done)) / 2
            optimizer.zero_grad()
            loss = F.cross_entropy(net(images), labels)
            loss.backward()
            optimizer.step()
            total += loss.item()
        net.eval()
        with torch.no_grad():
            batches = DataLoader(test, arguments.batch_size)
            correct = sum((net(x).argmax(1) == y).sum().item() for x, y in batches)
        accuracy = correct / len(test)
        print(f"epoch {epoch + 1}: loss {total / len(loader):.4f}, accuracy {accuracy:.4f}", flush=True)
    if arguments.package:
        compile_package(net.eval(), size, train.classes, arguments.package)
        print_classes(arguments.package, test, arguments.batch_size)


if __name__ == "__main__":
    main()
