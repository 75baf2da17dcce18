# SPDX-License-Identifier: Apache-2.0
"""Prints the table of `samplers`: nanoseconds per index from Java and from C++, and their ratio.

Each ratio is the median over the turns. A turn is compared with the C++ loops right before and
after it, so that machine drift cancels; the lowest and the highest turn follow the median.
"""
import json
import pathlib
import statistics
import sys

folder = pathlib.Path(sys.argv[1])
loops = [json.loads(line) for line in (folder / "cpp.jsonl").read_text().splitlines()]
turns = [
    {
        run["benchmark"].rsplit(".", 1)[1]: run["primaryMetric"]["score"]
        for run in json.loads((folder / f"jmh-{turn}.json").read_text())
    }
    for turn in range(1, len(loops))
]

print(f"{'ns per index, median':<34}{'Java':>8}{'C++':>8}{'ratio':>8}{'turns':>14}")
for label, name, key in [
    ("shuffle (new cursor; C++: reset)", "nativeShuffle", "shuffle"),
    ("shuffle (C++: new sampler)", "nativeShuffle", "constructShuffle"),
    ("bulk read, 8192 at a time", "nativeRead", "read"),
    ("plain Java: shuffle", "plainJavaShuffle", None),
    ("plain Java: array copy", "plainJavaRead", None),
]:
    if name not in turns[0]:
        continue
    java = [turn[name] for turn in turns]
    line = f"{label:<34}{statistics.median(java):8.2f}"
    if key:
        peer = [(before[key] + after[key]) / 2 for before, after in zip(loops, loops[1:])]
        ratios = [ours / theirs for ours, theirs in zip(java, peer)]
        line += f"{statistics.median(peer):8.2f}{statistics.median(ratios):8.2f}"
        line += f"{min(ratios):8.2f}{max(ratios):6.2f}"
    print(line)
