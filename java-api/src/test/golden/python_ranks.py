# SPDX-License-Identifier: Apache-2.0
"""Runs a function as the ranks of a process group over Gloo; for the programs beside this one."""

import os
import socket
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as multiprocessing


def results_of(ranks, run):
    """Returns what run(rank) returns for each rank, in the order of the ranks."""
    context = multiprocessing.get_context("spawn")
    results = context.Queue()
    port = _free_port()
    processes = [
        context.Process(target=_rank, args=(run, rank, ranks, port, results))
        for rank in range(ranks)
    ]
    for process in processes:
        process.start()
    collected = dict(results.get(timeout=60) for _ in processes)
    for process in processes:
        process.join()
        if process.exitcode != 0:
            sys.exit("a rank failed")
    return [collected[rank] for rank in range(ranks)]


def _rank(run, rank, ranks, port, results):
    os.dup2(2, 1)  # Gloo writes to the standard output
    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    torch.set_num_threads(1)
    dist.init_process_group("gloo", rank=rank, world_size=ranks)
    results.put((rank, run(rank)))
    results.close()
    results.join_thread()
    dist.destroy_process_group()


def _free_port():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return taken.getsockname()[1]
