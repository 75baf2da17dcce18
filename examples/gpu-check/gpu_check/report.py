# SPDX-License-Identifier: Apache-2.0
"""Writes what a check found as report.md and report.json."""

import dataclasses
import json
import pathlib

KNOWN = [
    "The threads that poll and abort choose the device of their group first; that a rank of cuda:1 or higher then"
    " has no second context on device 0 needs two GPUs to be seen.",
    "Each operation over NCCL waits on the host, with polls of 50 us, where PyTorch only orders streams: correct,"
    " but slower.",
    "Sparse gradients of a device go through host memory; not tried with NCCL beside it.",
    "Two ranks that each have a GPU, a lost rank during an operation of NCCL, and NCCL between machines need more"
    " than one GPU.",
    "An NCCL older than 2.28 is refused when it is loaded; that this is enough for all-to-all was not tried.",
]


def as_json(facts, libraries, problems, results):
    """Returns the report as an object for JSON."""
    return {
        "facts": facts,
        "libraries": [dataclasses.asdict(library) for library in libraries],
        "problems": problems,
        "parts": [dict(dataclasses.asdict(result), name=name) for name, result in results],
        "known and not tried": KNOWN,
    }


def _cell(text):
    return text.replace("|", "\\|").replace("\n", " ")


def as_markdown(report):
    """Returns the report as a page."""
    lines = ["# Check of torchfeed on a GPU", "", "| fact | found |", "|---|---|"]
    lines += [f"| {name} | {_cell(str(value))} |" for name, value in report["facts"].items()]
    lines += ["", "## Problems", ""]
    lines += [f"- {problem}" for problem in report["problems"]] or ["None with the libraries."]
    lines += ["", "## Parts", "", "| part | result | seconds | reason | figures |", "|---|---|---|---|---|"]
    lines += [f"| {part['name']} | {part['status']} | {part['seconds']} | {_cell(part['reason'])} "
              f"| {_cell('; '.join(part['figures']))} |" for part in report["parts"]]
    lines += ["", "## CUDA's libraries", "", "| library | needed by | found |", "|---|---|---|"]
    lines += [f"| {library['name']} | {library['needed_by']} "
              f"| {_cell(library['problem'] or library['path'] + ', ' + library['source'])} |"
              for library in report["libraries"]]
    lines += ["", "## Known and not tried", ""]
    lines += [f"- {known}" for known in report["known and not tried"]]
    return "\n".join(lines) + "\n"


def write(folder, report):
    """Writes both forms of the report; each is complete at any time."""
    folder = pathlib.Path(folder)
    for name, text in (("report.json", json.dumps(report, indent=2) + "\n"), ("report.md", as_markdown(report))):
        temporary = folder / (name + ".new")
        temporary.write_text(text)
        temporary.replace(folder / name)


def summary(results):
    """Returns the number of parts of each result, as words."""
    counts = {}
    for _, result in results:
        counts[result.status] = counts.get(result.status, 0) + 1
    return ", ".join(f"{count} {status}" for status, count in counts.items())
