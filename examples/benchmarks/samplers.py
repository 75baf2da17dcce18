# SPDX-License-Identifier: Apache-2.0
"""Prints the table of `samplers`: nanoseconds an index from Java and from C++, and their ratio."""
import json
import pathlib
import sys

folder = pathlib.Path(sys.argv[1])
loops = [json.loads(line) for line in (folder / "cpp.jsonl").read_text().splitlines()]
java = {
    run["benchmark"].rsplit(".", 1)[1]: run["primaryMetric"]
    for run in json.loads((folder / "jmh.json").read_text())
}


def cpp(key):
    return sum(loop[key] for loop in loops) / len(loops)


print(f"{'ns an index':<34}{'Java':>8}{'+-':>7}{'C++':>8}{'ratio':>8}")
for label, name, key in [
    ("shuffle (new cursor; C++: reset)", "nativeShuffle", "shuffle"),
    ("shuffle (C++: new sampler)", "nativeShuffle", "constructShuffle"),
    ("bulk read, 8192 at a time", "nativeRead", "read"),
    ("plain Java: shuffle", "plainJavaShuffle", None),
    ("plain Java: array copy", "plainJavaRead", None),
]:
    if name not in java:
        continue
    score, error = java[name]["score"], java[name]["scoreError"]
    error = f"{error:.2f}" if isinstance(error, float) else "-"
    peer = f"{cpp(key):8.2f}{score / cpp(key):8.2f}" if key else ""
    print(f"{label:<34}{score:8.2f}{error:>7}{peer}")
