# SPDX-License-Identifier: Apache-2.0
"""Prints gradients that communication hooks of PyTorch's DistributedDataParallel average.

Creates the golden file python_exchanges.txt without using torchfeed. To regenerate the file:

    python python_exchanges.py > ../resources/golden/python_exchanges.txt

with torch 2.10.0 and numpy. Two processes run backward passes over Gloo. Each line is

    <hook> step=<step> <parameter> <gradient in row-major order>

from step 2 on, when PowerSGD begins; all ranks have the same gradients. Before the hook, the
gradient of parameter p (counted from 0) in step s on rank r has the elements
((7 i + 3 p + 5 s + 11 r) mod 23 - 11) / 7 for i = 0, 1, ... PyTorch's own hook for bfloat16 needs
NCCL, so it is written out here.
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.algorithms.ddp_comm_hooks import default_hooks, powerSGD_hook
from python_ranks import results_of
from torch.nn.parallel import DistributedDataParallel

RANKS = 2
STEPS = 5
SHAPES = {"a": (4, 3, 5), "b": (6, 8), "c": (5,), "d": (6, 8)}


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        for name, shape in SHAPES.items():
            self.register_parameter(name, torch.nn.Parameter(torch.zeros(shape)))

    def forward(self, step, rank):
        loss = torch.zeros(())
        for number, (name, shape) in enumerate(SHAPES.items()):
            index = torch.arange(torch.Size(shape).numel())
            value = ((7 * index + 3 * number + 5 * step + 11 * rank) % 23 - 11) / 7
            loss = loss + (getattr(self, name) * value.reshape(shape)).sum()
        return loss


def bfloat16_hook(group, bucket):
    buffer = bucket.buffer()
    sent = buffer.to(torch.bfloat16).div_(RANKS)
    future = dist.all_reduce(sent, group=group, async_op=True).get_future()
    return future.then(lambda done: buffer.copy_(done.value()[0]))


def one_at_a_time(state, bucket):
    """PyTorch's hook waits on threads of Gloo, all of which several buckets would occupy."""
    future = powerSGD_hook.powerSGD_hook(state, bucket)
    future.wait()
    return future


def power_sgd(**options):
    return powerSGD_hook.PowerSGDState(None, **options), one_at_a_time


def hooks():
    return {
        "float16": (None, default_hooks.fp16_compress_hook),
        "bfloat16": (None, bfloat16_hook),
        "powerSgd": power_sgd(start_powerSGD_iter=2, min_compression_rate=1),
        "powerSgd-2": power_sgd(
            start_powerSGD_iter=2,
            matrix_approximation_rank=2,
            min_compression_rate=1.2,
            orthogonalization_epsilon=1e-3,
            random_seed=12,
        ),
        "powerSgd-batch": power_sgd(
            start_powerSGD_iter=2,
            matrix_approximation_rank=3,
            min_compression_rate=0.5,
            batch_tensors_with_same_shape=True,
        ),
        "powerSgd-cold": power_sgd(
            start_powerSGD_iter=0, use_error_feedback=False, warm_start=False, random_seed=7
        ),
    }


def run(rank):
    lines = []
    for name, (state, hook) in hooks().items():
        net = Net()
        model = DistributedDataParallel(net, bucket_cap_mb=256 / (1 << 20))
        model.register_comm_hook(state, hook)
        for step in range(STEPS):
            net.zero_grad()
            model(step, rank).backward()
            for parameter, tensor in net.named_parameters():
                values = " ".join(f"{value:.9g}" for value in tensor.grad.flatten().tolist())
                if step >= 2:
                    lines.append(f"{name} step={step} {parameter} {values}")
    return lines


if __name__ == "__main__":
    collected = results_of(RANKS, run)
    if collected[0] != collected[1]:
        sys.exit("the ranks have different gradients")
    print(
        f"# program java-api/src/test/golden/python_exchanges.py; torch {torch.__version__};"
        f" arguments none; cases {len(collected[0])}"
    )
    print("\n".join(collected[0]))
