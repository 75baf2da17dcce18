#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the results of `loaders`: for each row of data one bar per loader, at its best setting, the
fastest first, and the limit as a line.

Usage: chart.py JSON SVG, for example: examples/benchmarks/chart.py results/loaders.json results/loaders.svg
"""

import json
import pathlib
import sys
from xml.sax.saxutils import escape

# The loaders by the first words of their contestants, which are their forms.
LOADERS = {
    "torchfeed, native engine": "torchfeed, native engine",
    "torchfeed, Java engine": "torchfeed, Java engine",
    "libtorch C++": "libtorch's C++ loader",
    "presets' loader": "presets' loader",
    "DJL": "DJL",
    "Python DataLoader": "Python's DataLoader",
    "plain Java": "plain Java",
}
LIMITS = {
    "memcpy, reused buffer": "memcpy into one reused buffer",
    "C++ conversion, reused buffer": "C++ loop into one reused buffer",
    "pread loop": "pread into one reused buffer",
}
WIDTH, LEFT, LONGEST, SETTING = 860, 190, 340, 590
TITLE, LIMIT, LINE, GAP = 20, 22, 24, 18
OURS, OTHERS, RED, GREY = "#2563a8", "#b9bfc7", "#b3261e", "#5c636b"


def rate(entry):
    return entry["samplesASecond"][0] / 1000


def number(value):
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def setting(entry, word="worker"):
    threads = entry["operationThreads"]
    if threads > 1:  # those entries have no workers
        return f"{threads} threads per operation"
    count = entry["workers"]
    return f"{count or 'no'} {word}{'s' if count > 1 else ''}"


def form(entry, prefix):
    """The words of a contestant's name behind the loader's, and its setting."""
    words = entry["contestant"][len(prefix):].lstrip(", ")
    return ", ".join(filter(None, (words, setting(entry))))


def bars(row):
    """Label, entry and form of each loader's best entry, the fastest first."""
    best = []
    for prefix, label in LOADERS.items():
        forms = [each for each in row["entries"] if each["contestant"].startswith(prefix)]
        if forms:
            entry = max(forms, key=rate)
            best.append((label, entry, form(entry, prefix)))
    return sorted(best, key=lambda bar: -rate(bar[1]))


def text(x, y, words, color="#1c1f23", anchor="start", weight="normal"):
    return (f'<text x="{x:.1f}" y="{y:.1f}" fill="{color}" text-anchor="{anchor}"'
            f' font-weight="{weight}">{escape(words)}</text>')


def panel(row, top):
    """The drawing of a row, and where the next one begins."""
    drawn = bars(row)
    limits = [each for each in row["entries"] if each["contestant"] in LIMITS]
    limit = max(limits, key=rate)
    scale = LONGEST / max(map(rate, [limit, *(entry for _, entry, _ in drawn)]))
    parts = [text(0, top + TITLE - 6, f"{row['row']}: {row['title']}", weight="bold")]
    y = top + TITLE + LIMIT
    at = LEFT + rate(limit) * scale
    bottom = y + LINE * len(drawn)
    parts.append(text(at, y - 7, f"limit: {LIMITS[limit['contestant']]}, {setting(limit, 'thread')}:"
                      f" {number(rate(limit))}", RED, "end"))
    for label, entry, words in drawn:
        length = rate(entry) * scale
        color = OURS if label.startswith("torchfeed") else OTHERS
        weight = "bold" if label.startswith("torchfeed") else "normal"
        parts.append(text(LEFT - 8, y + 16, label, anchor="end", weight=weight))
        parts.append(f'<rect x="{LEFT}" y="{y + 3}" width="{length:.1f}" height="{LINE - 6}" fill="{color}"/>')
        x = LEFT + length + 7
        if abs(x + 15 - at) < 30:  # beside the line
            x = max(x, at + 7)
        parts.append(text(x, y + 16, number(rate(entry)), weight=weight))
        parts.append(text(SETTING, y + 16, words, GREY))
        y += LINE
    parts.append(f'<line x1="{at:.1f}" y1="{bottom - LINE * len(drawn) - 3}" x2="{at:.1f}" y2="{bottom}"'
                 f' stroke="{RED}" stroke-width="1.5" stroke-dasharray="5 3"/>')
    return parts, bottom + GAP


def chart(results):
    parts, y = [text(0, 14, "thousands of samples per second, each loader at its best setting", GREY)], 24
    for row in results["rows"]:
        if row["entries"]:
            drawn, y = panel(row, y)
            parts += drawn
    style = 'font-family="Helvetica, Arial, sans-serif" font-size="13"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="-10 -8 {WIDTH + 20} {y}" {style}>'
    ground = f'<rect x="-10" y="-8" width="{WIDTH + 20}" height="{y}" fill="white"/>'
    return "\n".join([head, ground, *parts, "</svg>", ""])


def main():
    if len(sys.argv) != 3:
        print(f"chart.py: JSON and SVG are expected, got {sys.argv[1:]}", file=sys.stderr)
        sys.exit(2)
    source, target = map(pathlib.Path, sys.argv[1:])
    target.write_text(chart(json.loads(source.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
