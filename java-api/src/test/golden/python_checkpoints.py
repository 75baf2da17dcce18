#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Continues checkpoints of torchfeed in Python, and writes others, with torch and safetensors alone.

  python_checkpoints.py continue FOLDER   prints the losses of 20 steps after each FOLDER/KIND
  python_checkpoints.py write FOLDER      writes checkpoints of version 1, with SHA-256, after 3 steps, prints
                                          the 20 after them
  python_checkpoints.py shards FOLDER     prints the means of the tensors of the model in one checkpoint
                                          of several ranks, which torch.distributed.checkpoint reads too
"""

import hashlib
import json
import pathlib
import sys

import torch
import torch.distributed.checkpoint as dcp
from safetensors.torch import load_file, save_file

KINDS = {
    "SGD": lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.01, nesterov=True, foreach=False),
    "Adam": lambda p: torch.optim.Adam(p, 0.02, eps=1e-6, foreach=False),
    "AdamW": lambda p: torch.optim.AdamW(p, 0.02, amsgrad=True, foreach=False),
}
OPTIONS = {
    "SGD": ["lr", "momentum", "dampening", "weight_decay", "nesterov"],
    "Adam": ["lr", "betas", "eps", "weight_decay", "amsgrad"],
    "AdamW": ["lr", "betas", "eps", "weight_decay", "amsgrad"],
}
STEPS = 20
FIRST = 3
BLOCK = 16 << 20  # bytes with a digest of their own


class SmallNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(4, 8)
        self.norm = torch.nn.BatchNorm1d(8)
        self.last = torch.nn.Linear(8, 3)

    def loss(self, step):
        x = torch.sin(torch.arange(24) + 10 * step).view(6, 4)
        hidden = torch.relu(self.norm(self.first(x)))
        return torch.nn.functional.cross_entropy(self.last(hidden), torch.arange(6) % 3)


def train(net, optimizer, first, last):
    losses = []
    for step in range(first, last):
        optimizer.zero_grad()
        loss = net.loss(step)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def report(kind, losses):
    print(kind, *(repr(loss) for loss in losses), flush=True)


def crc32c(data):
    """Returns the CRC-32C, with the polynomial of RFC 3720; zlib.crc32 has another one."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc = crc >> 8 ^ CRC_OF_BYTE[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF


def crc_of_byte(value):
    for _ in range(8):
        value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value


CRC_OF_BYTE = [crc_of_byte(value) for value in range(256)]


def load(folder, net, optimizer):
    folder = folder / (folder / "LATEST").read_text().strip()
    manifest = json.loads((folder / "manifest.json").read_text())
    for part in manifest["parts"].values():
        if "file" in part:
            data = (folder / part["file"]["name"]).read_bytes()
            blocks = [data[at:at + BLOCK] for at in range(0, len(data), BLOCK)]
            assert [f"{crc32c(block):08x}" for block in blocks] == part["file"]["crc32c"]
    net.load_state_dict(load_file(folder / "model.safetensors"), strict=True)
    tensors = load_file(folder / "optimizer.safetensors")
    saved, = manifest["parts"]["optimizer"]["state"]["param_groups"]
    own, = optimizer.state_dict()["param_groups"]
    state = {
        i: {key.rsplit(".", 1)[1]: value for key, value in tensors.items()
            if key.rsplit(".", 1)[0] == "state." + name}
        for i, name in enumerate(saved["params"])
    }
    optimizer.load_state_dict({"state": state, "param_groups": [{**own, **saved, "params": own["params"]}]})
    return manifest["step"]


def save(folder, kind, net, optimizer, step):
    target = folder / f"step-{step:06}"
    target.mkdir(parents=True)
    names = [name for name, _ in net.named_parameters()]
    own = optimizer.state_dict()
    files = {
        "model": net.state_dict(),
        "optimizer": {f"state.{names[i]}.{key}": value.contiguous()
                      for i, kept in own["state"].items() for key, value in kept.items()
                      if value is not None},
    }
    group = own["param_groups"][0]
    states = {
        "model": {"version": 1, "kind": "Module"},
        "optimizer": {"version": 1, "kind": kind,
                      "param_groups": [{"params": names, **{key: group[key] for key in OPTIONS[kind]}}]},
    }
    parts = {}
    for part, tensors in files.items():
        path = target / (part + ".safetensors")
        save_file(tensors, path, metadata={"format": "pt"})
        data = path.read_bytes()
        parts[part] = {"state": states[part], "file": {"name": path.name, "bytes": len(data),
                                                       "sha256": hashlib.sha256(data).hexdigest()}}
    manifest = json.dumps({"version": 1, "step": step, "parts": parts}).encode()
    (target / "manifest.json").write_bytes(manifest)
    (target / "manifest.sha256").write_text(hashlib.sha256(manifest).hexdigest() + "  manifest.json\n")
    (folder / "LATEST").write_text(target.name + "\n")


def shards(folder):
    places = json.loads((folder / "model.safetensors.index.json").read_text())["weight_map"]
    tensors = {name: load_file(folder / file)[name] for name, file in places.items()}
    read = {name: torch.empty_like(tensor) for name, tensor in tensors.items()}
    dcp.load(read, storage_reader=dcp.HuggingFaceStorageReader(str(folder)))
    for name, tensor in tensors.items():
        assert torch.equal(tensor, read[name])
        print(name, tensor.mean().item())


def main(mode, folder):
    if mode == "shards":
        return shards(folder)
    torch.manual_seed(5)
    for kind, make in KINDS.items():
        net = SmallNet()
        optimizer = make(net.parameters())
        if mode == "continue":
            step = load(folder / kind, net, optimizer)
        else:
            step = FIRST
            train(net, optimizer, 0, step)
            save(folder / kind, kind, net, optimizer, step)
        report(kind, train(net, optimizer, step, step + STEPS))


if __name__ == "__main__":
    main(sys.argv[1], pathlib.Path(sys.argv[2]))
