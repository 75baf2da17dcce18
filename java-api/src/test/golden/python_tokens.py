# SPDX-License-Identifier: Apache-2.0
"""Writes token files with Megatron-LM and numpy, and the samples that Python makes of them.

Creates the golden files of tokens without using torchfeed. To regenerate them:

    python python_tokens.py ../resources/golden/tokens

with numpy 2.4.6, torch 2.10.0 and megatron-core 0.16.1. Each line of expected.txt is the name of a
case and its samples, one after another, as numbers:

    <file> windows <length> <stride> <ids>
    <file> documents <length> <stride> <ids>
    <file> packed <length> <column> <ids>
"""

import sys
from pathlib import Path

import numpy as np
import torch
from megatron.core.datasets.indexed_dataset import IndexedDataset, IndexedDatasetBuilder

folder = Path(sys.argv[1])
folder.mkdir(exist_ok=True)
random = np.random.default_rng(3)
END = 50256
lines = []


def line(*fields):
    *names, rows = fields
    lines.append(" ".join(map(str, names)) + " " + " ".join(str(int(id)) for row in rows for id in row))


def windows(tokens, length, stride):
    tokens = torch.from_numpy(tokens.astype(np.int64))
    return [] if len(tokens) < length else tokens.unfold(0, length, stride).tolist()


def packed(documents, length):
    """First fit, by looking at all windows."""
    bins = []
    for document in documents:
        for at in range(0, len(document), length):
            piece = range(at, min(at + length, len(document)))
            room = next((b for b in bins if sum(len(p) for _, p in b) + len(piece) <= length), None)
            if room is None:
                bins.append(room := [])
            room.append((document, piece))
    columns = {"tokens": [], "targets": [], "documents": [], "positions": []}
    for pieces in bins:
        rows = {"tokens": [], "targets": [], "documents": [], "positions": []}
        for number, (document, piece) in enumerate(pieces):
            rows["tokens"] += [document[i] for i in piece]
            rows["targets"] += [document[i + 1] if i + 1 < len(document) else -100 for i in piece]
            rows["documents"] += [number] * len(piece)
            rows["positions"] += range(len(piece))
        for name, fill in (("tokens", 0), ("targets", -100), ("documents", -1), ("positions", 0)):
            columns[name].append(rows[name] + [fill] * (length - len(rows[name])))
    return columns


def cases(file, all_tokens, documents):
    for length, stride in ((9, 8), (4, 4), (5, 7), (6, 1), (1, 1), (1000, 999)):
        line(file, "windows", length, stride, windows(all_tokens, length, stride))
        line(file, "documents", length, stride,
             [row for document in documents for row in windows(document, length, stride)])
    for length in (1, 7, 16, 64):
        for name, rows in packed([document.astype(np.int64) for document in documents], length).items():
            line(file, "packed", length, name, rows)


for dtype, top in ((np.uint16, 65500), (np.int32, 2**31 - 1)):
    name = f"megatron_{np.dtype(dtype).name}"
    builder = IndexedDatasetBuilder(str(folder / f"{name}.bin"), dtype=dtype)
    for length in (5, 0, 12, 1, 30, 16, 3, 9, 64, 2):
        ids = random.integers(0, top, length).astype(dtype)
        sequences = [length] if length < 9 else [4, length - 4]  # a document of two sequences
        builder.add_document(torch.from_numpy(ids.astype(np.int64)), sequences)
    builder.finalize(str(folder / f"{name}.idx"))
    data = IndexedDataset(str(folder / name))
    bounds = data.document_indices
    documents = [
        np.concatenate([np.zeros(0, dtype), *(data[s] for s in range(bounds[d], bounds[d + 1]))])
        for d in range(len(bounds) - 1)
    ]
    cases(name, np.fromfile(folder / f"{name}.bin", dtype), documents)

tokens = random.integers(0, 50256, 120).astype(np.uint16)
tokens[[0, 13, 14, 60, 119]] = END
tokens.tofile(folder / "raw_uint16.bin")
cases("raw_uint16", tokens, [d for d in np.split(tokens, np.flatnonzero(tokens == END) + 1) if len(d)])
header = np.zeros(256, np.int32)  # as llm.c writes
wide = random.integers(2**31, 2**32, 40).astype(np.uint32)
with open(folder / "raw_uint32.bin", "wb") as file:
    file.write(header.tobytes() + wide.tobytes())
cases("raw_uint32", wide, [wide])
(folder / "expected.txt").write_text("\n".join(lines) + "\n")
