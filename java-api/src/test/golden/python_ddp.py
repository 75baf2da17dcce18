# SPDX-License-Identifier: Apache-2.0
"""Prints gradients, buffers and buckets of PyTorch's DistributedDataParallel on two ranks.

Creates the golden file python_ddp.txt without using torchfeed. To regenerate the file:

    python python_ddp.py > ../resources/golden/python_ddp.txt

with torch 2.13.0 and numpy; all but the scenarios "list" are the same with 2.10.0. Two processes train the same small model over Gloo. All values are
small multiples of powers of two, so every sum is exact in any order. Each line is

    <scenario> rank=<rank> step=<step> <what> <values>

where what is the name of a parameter, whose gradient is listed in row-major order or is `none`;
`buffer`; or `buckets`: the parameters of each bucket at the end of the step, buckets separated by
`|`. Parameter number p (counted from 0) has the values (i mod 5) / 2 + p - 1 for elements i, times
rank + 1 before the wrapper is made. The inputs of parameter p in step s on rank r are
((7 i + 3 p + 5 s + 11 r) mod 9) - 4, and the loss is the sum of parameter * parameter * input
over the parameters in use.
"""

import contextlib

import torch
from python_ranks import results_of
from torch.nn.parallel import DistributedDataParallel

RANKS = 2
SHAPES = {"a": (3, 4), "b": (5,), "c": (2, 2, 2), "d": (1,)}
ALL = "abcd"
CHANGING = ["ab", "ac", "abcd", "d"]


class Net(torch.nn.Module):
    def __init__(self, rank, sparse, shared):
        super().__init__()
        for number, (name, shape) in enumerate(SHAPES.items()):
            values = torch.arange(torch.Size(shape).numel()) % 5 / 2 + number - 1
            parameter = torch.nn.Parameter((values * (rank + 1)).reshape(shape))
            self.register_parameter(name, parameter)
        if shared:
            self.register_parameter("e", self.b)
        if sparse:
            self.table = torch.nn.Embedding(4, 2, sparse=True)
            with torch.no_grad():
                self.table.weight.copy_((torch.arange(8).reshape(4, 2) - 3) * (rank + 1))
        self.register_buffer("count", torch.full((2,), 10.0 * (rank + 1)))

    def forward(self, used, step, rank):
        if self.training:
            with torch.no_grad():
                self.count += rank + 1
        loss = torch.zeros(())
        for number, (name, shape) in enumerate(SHAPES.items()):
            if name in used:
                parameter = getattr(self, name)
                index = torch.arange(parameter.numel())
                value = (7 * index + 3 * number + 5 * step + 11 * rank) % 9 - 4
                loss = loss + (parameter * parameter * value.reshape(shape)).sum()
        if "e" in used:
            loss = loss + (self.e * (step + rank)).sum()
        if "t" in used:
            loss = loss + (self.table(torch.tensor([rank, 2, step % 4])) * (rank + 1)).sum()
        return loss


lines = []


def numbers(tensor):
    return " ".join(f"{value:g}" for value in tensor.flatten().tolist())


def report(scenario, rank, step, model):
    start = f"{scenario} rank={rank} step={step}"
    net = model.module
    for name, parameter in net.named_parameters():
        gradient = parameter.grad
        if gradient is None:
            text = "none"
        else:
            text = numbers(gradient.to_dense() if gradient.is_sparse else gradient)
        lines.append(f"{start} {name} {text}")
    lines.append(f"{start} buffer {numbers(net.count)}")
    buckets = [
        " ".join(next(n for n, p in net.named_parameters() if p is parameter)
                 for parameter in bucket.parameters())
        for bucket in model.reducer._get_zeros_like_grad_buckets()
    ]
    lines.append(f"{start} buckets {'|'.join(buckets)}")


def scenario(
    name,
    rank,
    uses,
    micro=1,
    sparse=False,
    shared=False,
    ignore=(),
    keep_gradients=False,
    **options,
):
    net = Net(rank, sparse, shared)
    if ignore:
        DistributedDataParallel._set_params_and_buffers_to_ignore_for_model(net, list(ignore))
    model = DistributedDataParallel(net, **options)
    for step in range(len(uses)):
        used = uses[step]
        used = used if isinstance(used, str) else used[rank]
        for parameter in net.parameters():
            if keep_gradients and parameter.grad is not None:
                parameter.grad.zero_()
            else:
                parameter.grad = None
        for part in range(micro):
            scope = model.no_sync() if part < micro - 1 else contextlib.nullcontext()
            with scope:
                model(used, step * micro + part, rank).backward()
        report(name, rank, step, model)


def run(rank):
    steps = [ALL] * 4
    tiny = 24 / (1 << 20)
    scenario("plain", rank, steps)
    scenario("caps", rank, steps, bucket_cap_mb=tiny)
    scenario("views", rank, steps, keep_gradients=True, gradient_as_bucket_view=True)
    scenario("accumulated", rank, steps, micro=3)
    scenario("accumulated-views", rank, steps, micro=3, gradient_as_bucket_view=True)
    scenario("unused", rank, CHANGING, find_unused_parameters=True)
    scenario("unused-caps", rank, CHANGING, find_unused_parameters=True, bucket_cap_mb=tiny)
    apart = [("ab", "bc"), ("a", "b"), ("abc", "c"), ("d", "abcd")]
    scenario("unused-apart", rank, apart, find_unused_parameters=True)
    scenario(
        "unused-views", rank, apart, find_unused_parameters=True, gradient_as_bucket_view=True
    )
    scenario("unused-accumulated", rank, apart, micro=2, find_unused_parameters=True)
    scenario("static", rank, [("ab", "bd")] * 4, static_graph=True)
    scenario("static-caps", rank, ["abd"] * 4, static_graph=True, bucket_cap_mb=tiny)
    each = [cap / (1 << 20) for cap in (24, 40, 16)]
    scenario("list", rank, steps, bucket_cap_mb_list=each)
    scenario("list-unused", rank, CHANGING, find_unused_parameters=True, bucket_cap_mb_list=each)
    scenario("list-static", rank, ["abd"] * 4, static_graph=True, bucket_cap_mb_list=each)
    # PyTorch copies "b" from rank 0 and reduces ".b": names of a parameter of the outermost module.
    scenario("ignored", rank, steps, ignore=("b", ".b", "count"))
    scenario("shared", rank, ["abcde"] * 4, shared=True)
    scenario("sparse", rank, ["abcdt"] * 4, sparse=True)
    scenario("buffers-off", rank, steps, broadcast_buffers=False)
    return lines


if __name__ == "__main__":
    collected = results_of(RANKS, run)
    every = collected[0] + collected[1]
    print(
        f"# program java-api/src/test/golden/python_ddp.py; torch {torch.__version__};"
        f" arguments none; cases {len(every)}"
    )
    print("\n".join(every))
