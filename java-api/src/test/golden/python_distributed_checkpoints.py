#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Folders of torch.distributed.checkpoint, written by two ranks.

Run with torch 2.10.0 and with 2.15.0, and safetensors 0.8.0:
  python3 src/test/golden/python_distributed_checkpoints.py src/test/resources/golden/distributed
writes sharded_VERSION (.metadata, *.distcp) and safetensors_VERSION (an index and files of safetensors), the same
state in both, and tensors.txt, the bytes of its tensors. VERSION is of torch.
"""

import pathlib
import shutil
import sys

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch.distributed.tensor import Replicate, Shard, distribute_tensor

from python_ranks import results_of

RANKS = 2


def tensors():
    """The whole tensors, and how the ranks divide each of them; None if each has all of it."""
    numbers = torch.arange(15.0).view(5, 3) / 8
    return {
        "rows": (numbers, Shard(0)),
        "columns": (-numbers, Shard(1)),
        "bfloat16": (numbers[:4].bfloat16(), Shard(0)),
        "int64": (torch.arange(3), Shard(0)),
        "bool": (torch.tensor([True, False, True]), Shard(0)),
        "one": (torch.tensor([2.5]), Shard(0)),
        "replicated": (numbers + 1, Replicate()),
        "plain": (numbers.t(), None),
        "number": (torch.tensor(-3), None),
        "empty": (torch.zeros(0, 2), None),
        "float8": (numbers.to(torch.float8_e4m3fn), None),
    }


def state():
    mesh = torch.distributed.device_mesh.init_device_mesh("cpu", (RANKS,))
    model = {name: tensor if place is None else distribute_tensor(tensor, mesh, [place])
             for name, (tensor, place) in tensors().items()}
    return {"model": model, "epoch": 7, "name": "näme"}


def write(rank):
    folder, version = pathlib.Path(sys.argv[1]), torch.__version__.split("+")[0]
    dcp.save(state(), checkpoint_id=folder / f"sharded_{version}")
    if rank == 0:
        whole = {f"model.{name}": tensor.contiguous() for name, (tensor, _) in tensors().items()}
        target = folder / f"safetensors_{version}"
        files = {name: 1 + index % 2 for index, name in enumerate(whole)}
        writer = dcp.HuggingFaceStorageWriter(str(target), fqn_to_index_mapping=files)
        dcp.save(whole, storage_writer=writer, no_dist=True)
    dist.barrier()


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*_" + torch.__version__.split("+")[0]):
        shutil.rmtree(old)
    results_of(RANKS, write)
    with open(folder / "tensors.txt", "w", encoding="utf-8") as out:
        for name, (tensor, _) in sorted(tensors().items()):
            data = bytes(tensor.contiguous().view(-1).view(torch.uint8).tolist())
            print("model." + name, tensor.dtype, list(tensor.shape), data.hex(), sep="\t", file=out)


if __name__ == "__main__":
    main()
