# SPDX-License-Identifier: Apache-2.0
"""Analyses dumps by PyTorch's torchfrtrace: python_flight_recorder.py FOLDER.

Its versions before 2.13 know neither gloo nor barriers: they get the names of nccl, and all-reduces.
Used by TraceCommandTest.
"""

import pathlib
import pickle
import subprocess
import sys

import torch

folder = sys.argv[1]
if tuple(int(part) for part in torch.__version__.split(".")[:2]) < (2, 13):
    for file in pathlib.Path(folder).iterdir():
        dump = pickle.loads(file.read_bytes())
        for entry in dump["entries"]:
            name = entry["profiling_name"].replace("gloo:", "nccl:")
            entry["profiling_name"] = name.replace("barrier", "all_reduce")
        file.write_bytes(pickle.dumps(dump))
module = "torch.distributed.flight_recorder.fr_trace"
sys.exit(subprocess.run([sys.executable, "-m", module, folder, "-p", "rank_"]).returncode)
