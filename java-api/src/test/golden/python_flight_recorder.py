# SPDX-License-Identifier: Apache-2.0
"""Analyses dumps by PyTorch's torchfrtrace: python_flight_recorder.py FOLDER.

Its versions before 2.13 know no gloo, and get the names of nccl. Used by TraceCommandTest.
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
            entry["profiling_name"] = entry["profiling_name"].replace("gloo:", "nccl:")
        file.write_bytes(pickle.dumps(dump))
module = "torch.distributed.flight_recorder.fr_trace"
sys.exit(subprocess.run([sys.executable, "-m", module, folder, "-p", "rank_"]).returncode)
