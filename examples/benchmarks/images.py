# SPDX-License-Identifier: Apache-2.0
"""The turns of `images`: starts the contestants' processes, which then perform its tasks.

A turn measures every contestant once, so that the drift of the machine cancels in the ratios. The
figures are the best of the turns: pictures per second of processor time, of all threads.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TASKS = {
    "train": "a random part of the picture, scaled to 224 x 224, flipped, normalized",
    "eval": "shorter side scaled to 256, the middle 224 x 224, normalized",
    "resize": "256 x 256 RGB bytes in memory scaled to 224 x 224, in C++ with each kind of kernel",
}
RESIZE = "resize:"  # the names of contestants of this task alone start so


def parse_arguments():
    own = sys.argv[1 : sys.argv.index("--")]
    parser = argparse.ArgumentParser(prog="images")
    parser.add_argument("--data", required=True, help="folder with a folder for each class")
    parser.add_argument(
        "--passes", type=int, default=8, help="epochs in a turn (default: %(default)s)"
    )
    parser.add_argument(
        "--cold",
        action="store_true",
        help="evict the files from the page cache before each contestant, which then has one epoch",
    )
    parser.add_argument("--rounds", type=int, default=5, help="turns (default: %(default)s)")
    parser.add_argument("--tasks", default="train,eval", help="tasks (default: %(default)s)")
    parser.add_argument("--out", help="folder of images.json (default: results)")
    parser.add_argument("--caller", help=argparse.SUPPRESS)
    parser.add_argument("--loop", help=argparse.SUPPRESS)
    parser.add_argument("--djl", help=argparse.SUPPRESS)
    arguments = parser.parse_args(own)
    for name in ("passes", "rounds"):
        if getattr(arguments, name) < 1:
            parser.error(f"--{name} must be at least 1, got {getattr(arguments, name)}")
    if arguments.cold:
        arguments.passes = 1
    arguments.tasks = arguments.tasks.split(",")
    for task in arguments.tasks:
        if task not in TASKS:
            parser.error(f"--tasks must be of {', '.join(TASKS)}, got {task}")
    return arguments, sys.argv[sys.argv.index("--") + 1 :]


TORCHFEED = ["torchfeed-native", "torchfeed-native-2", "torchfeed-records", "torchfeed-java"]
WARM_UPS = 2  # turns that do not count, in which a JVM compiles


class Contestant:
    """A process that performs the tasks of some contestants."""

    def __init__(self, command):
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.names = self.answer("ready")

    def answer(self, start):
        line = next((line for line in self.process.stdout if line.startswith(start)), None)
        if line is None:
            sys.exit("images: a contestant's process ended")
        return line.split()[1:]

    def perform(self, *task):
        self.process.stdin.write(" ".join(map(str, task)) + "\n")
        self.process.stdin.flush()
        return [int(word) for word in self.answer("done ")]

    def close(self):
        self.process.stdin.close()
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()


def evict(paths):
    """Removes pictures and the record files of this run from the page cache."""
    records = pathlib.Path(tempfile.gettempdir()).glob("images*.records")
    for path in [*paths, *records]:
        file = os.open(path, os.O_RDONLY)
        try:
            os.fsync(file)  # what is not written yet stays in the cache
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(file)


def print_table(task, rows):
    print(f"{task}: {TASKS[task]}")
    print(
        f"{'':22}{'pictures/s of a core':>22}{'turns':>16}{'us':>8}"
        f"{rows[0]['contestant'] + ' is x':>26}{'pictures/s':>12}"
    )
    for row in rows:
        span = f"{row['lowest']:.0f}-{row['highest']:.0f}"
        print(
            f"{row['contestant']:22}{row['highest']:22.1f}{span:>16}{1e6 / row['highest']:8.0f}"
            f"{row['torchfeed_is']:26.2f}"
            f"{max(row['wall_rates']):12.1f}"
        )


def main():
    arguments, java = parse_arguments()
    root = pathlib.Path(arguments.caller, arguments.data).resolve()
    paths = sorted(path for path in root.glob("*/*") if path.suffix.lower() in (".jpg", ".jpeg"))
    if not paths or any(character.isspace() for character in str(root)):
        sys.exit(f"images: {root} must have folders of JPEG files, and no space in its path")
    out = pathlib.Path(arguments.caller, arguments.out) if arguments.out else HERE / "results"
    out.mkdir(parents=True, exist_ok=True)
    python = [sys.executable, str(HERE / "peers" / "images_peer.py")]
    # ImageIO has a JVM of its own: its garbage and compilations would count for the others.
    commands = [[*java, *TORCHFEED], [*java, "imageio"], [arguments.loop], python]
    if arguments.djl:
        commands.append(arguments.djl.split("|"))
    processes = [Contestant(command) for command in commands]
    figures = {"pictures": len(paths), "tasks": {}}
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as listing:
        listing.write("".join(f"{path}\n" for path in paths) * arguments.passes)
        listing.flush()
        contestants = {name: process for process in processes for name in process.names}
        try:
            for task in arguments.tasks:
                turns = {
                    name: []
                    for name in contestants
                    if name.startswith(RESIZE) == (task == "resize")
                }
                for turn in range(1 - WARM_UPS, arguments.rounds + 1):
                    print(f"images: {task}, turn {turn} of {arguments.rounds}", file=sys.stderr)
                    for name in turns:
                        if arguments.cold:
                            evict(paths)
                        count, processor, wall = contestants[name].perform(
                            name, task, listing.name, root
                        )
                        if turn > 0:
                            turns[name].append((1e9 * count / processor, 1e9 * count / wall))
                figures["tasks"][task] = rows_of(turns)
                print_table(task, figures["tasks"][task])
        finally:
            for process in processes:
                process.close()
    (out / "images.json").write_text(json.dumps(figures, indent=1) + "\n")


def rows_of(turns):
    """Returns the figures of each contestant; ratios are medians over the turns, to the first."""
    rows = []
    first = next(iter(turns.values()))
    for name, measured in turns.items():
        rates = [rate for rate, _ in measured]
        ratios = [mine / rate for (mine, _), (rate, _) in zip(first, measured)]
        rows.append(
            {
                "contestant": name.removeprefix(RESIZE),
                "highest": max(rates),
                "lowest": min(rates),
                "torchfeed_is": statistics.median(ratios),
                "wall_rates": [wall for _, wall in measured],
                "rates": rates,
            }
        )
    return rows


if __name__ == "__main__":
    main()
