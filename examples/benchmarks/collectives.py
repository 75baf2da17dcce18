# SPDX-License-Identifier: Apache-2.0
"""The turns of `collectives`: starts two ranks of each contestant, which then perform its tasks.

A turn measures every contestant once, so that the drift of the machine cancels in the ratios. A
rank reads one task per line and answers with the nanoseconds of each repetition.
"""

import argparse
import json
import os
import pathlib
import socket
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
RANKS = 2
EPOCH_STEPS = 469  # of 60,000 images in batches of 64 on two ranks
PYTHON = "Python"
# What is printed, the task, the numbers of repetitions (--short), and how to show a time.
ALL_REDUCES = [
    ("all-reduce of 4 B, us", 1, (2000, 50), 1e3),
    ("all-reduce of 4 KiB, us", 1 << 10, (2000, 50), 1e3),
    ("all-reduce of 64 MiB, ms", 1 << 24, (12, 2), 1e6),
]
LIMIT_OF_ALL_REDUCE = 1.05
LIMIT_OF_EPOCH = 1.0


def parse_arguments():
    own = sys.argv[1 : sys.argv.index("--")]
    parser = argparse.ArgumentParser(prog="collectives")
    parser.add_argument("--rounds", type=int, default=7, help="turns (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=60, help="training steps per turn")
    parser.add_argument("--threads", type=int, default=1, help="threads per operation in each rank")
    parser.add_argument("--short", action="store_true", help="a smoke run")
    parser.add_argument("--out", help="folder of collectives.json (default: results)")
    parser.add_argument("--caller", help=argparse.SUPPRESS)
    arguments = parser.parse_args(own)
    for name in ("rounds", "steps", "threads"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(arguments, name)}")
    if arguments.short:
        arguments.rounds, arguments.steps = 1, 2
    return arguments, sys.argv[sys.argv.index("--") + 1 :]


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Ranks:
    """The processes of a contestant."""

    def __init__(self, command, threads):
        port = free_port()
        self.processes = []
        for rank in range(RANKS):
            environment = dict(
                os.environ,
                RANK=str(rank),
                WORLD_SIZE=str(RANKS),
                MASTER_ADDR="127.0.0.1",
                MASTER_PORT=str(port),
                GLOO_SOCKET_IFNAME="lo",
                OMP_NUM_THREADS=str(threads),
            )
            self.processes.append(
                subprocess.Popen(
                    command,
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )

    def perform(self, *task):
        """Returns the nanoseconds of each repetition on rank 0, all of which wait for all ranks."""
        for process in self.processes:
            process.stdin.write(" ".join(map(str, task)) + "\n")
            process.stdin.flush()
        answers = [
            next((line for line in process.stdout if line.startswith("done ")), "")  # not Gloo's
            for process in self.processes
        ]
        if not all(answers):
            sys.exit(f"collectives: a rank failed in {task}")
        return [int(word) for word in answers[0].split()[1:]]

    def close(self):
        for process in self.processes:
            process.stdin.close()
        for process in self.processes:
            try:
                process.wait(20)
            except subprocess.TimeoutExpired:
                process.kill()


def measure_turn(contestants, arguments):
    figures = {}
    for label, elements, repetitions, scale in ALL_REDUCES:
        count = repetitions[1] if arguments.short else repetitions[0]
        row = figures.setdefault(label, {})
        for name, (ranks, mode) in contestants.items():
            times = ranks.perform("all-reduce", mode, elements, count)
            row[name] = statistics.median(times) / scale
    for name in ("Java", PYTHON):
        ranks = contestants[name][0]
        bare = statistics.median(ranks.perform("train", "bare", arguments.steps))
        step = statistics.median(ranks.perform("train", "ddp", arguments.steps))
        figures.setdefault("bare training step, ms", {})[name] = bare / 1e6
        figures.setdefault("training step with DDP, ms", {})[name] = step / 1e6
        figures.setdefault("seconds per epoch of 469 steps", {})[name] = EPOCH_STEPS * step / 1e9
        figures.setdefault("share of the reduction, %", {})[name] = 100 * (1 - bare / step)
    return figures


def summarize(turns):
    """Returns for each row and contestant the median and its ratio to Python's within a turn."""
    rows = []
    for label in turns[0]:
        for name in turns[0][label]:
            if name == PYTHON:
                continue
            mine = [turn[label][name] for turn in turns]
            theirs = [turn[label][PYTHON] for turn in turns]
            row = {
                "row": label,
                "contestant": name,
                "median": statistics.median(mine),
                "python": statistics.median(theirs),
            }
            if not label.startswith("share"):
                ratios = [a / b for a, b in zip(mine, theirs)]
                row["ratio"] = statistics.median(ratios)
                row["lowest"], row["highest"] = min(ratios), max(ratios)
                if label.startswith("all-reduce"):
                    row["limit"] = LIMIT_OF_ALL_REDUCE
                elif label.startswith("seconds"):
                    row["limit"] = LIMIT_OF_EPOCH
            rows.append(row)
    return rows


def print_table(rows):
    print(f"{'':34}{'':18}{'Java':>10}{'Python':>10}{'ratio':>8}{'turns':>14}{'limit':>7}")
    for row in rows:
        line = f"{row['row']:34}{row['contestant']:18}{row['median']:10.3f}{row['python']:10.3f}"
        if "ratio" in row:
            line += f"{row['ratio']:8.3f}{row['lowest']:8.2f}{row['highest']:6.2f}"
        if "limit" in row:
            line += f"{row['limit']:7.2f} {'kept' if row['ratio'] <= row['limit'] else 'MISSED'}"
        print(line)


def main():
    arguments, java = parse_arguments()
    out = pathlib.Path(arguments.caller, arguments.out) if arguments.out else HERE / "results"
    out.mkdir(parents=True, exist_ok=True)
    python = [sys.executable, str(HERE / "peers" / "collectives_rank.py")]
    groups = [Ranks(java, arguments.threads), Ranks(python, arguments.threads)]
    contestants = {
        "Java": (groups[0], "unchecked"),
        "Java, checked": (groups[0], "checked"),
        PYTHON: (groups[1], "unchecked"),
    }
    try:
        measure_turn(contestants, arguments)  # warms up
        turns = []
        for turn in range(arguments.rounds):
            print(f"collectives: turn {turn + 1} of {arguments.rounds}", file=sys.stderr)
            turns.append(measure_turn(contestants, arguments))
    finally:
        for ranks in groups:
            ranks.close()
    rows = summarize(turns)
    figures = {"threads": arguments.threads, "steps": arguments.steps, "rows": rows, "turns": turns}
    (out / "collectives.json").write_text(json.dumps(figures, indent=1) + "\n")
    print_table(rows)


if __name__ == "__main__":
    main()
