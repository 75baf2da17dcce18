# SPDX-License-Identifier: Apache-2.0
"""Prints what TensorBoard reads from the folder of a run: a line for each value."""

import sys

from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0, "histograms": 0, "images": 0})
events.Reload()
tags = events.Tags()
for tag in sorted(tags["scalars"]):
    for event in events.Scalars(tag):
        print("scalar", tag, event.step, event.value)
for tag in sorted(tags["histograms"]):
    for event in events.Histograms(tag):
        counts = event.histogram_value
        print("histogram", tag, event.step, int(counts.num), counts.min, counts.max)
for tag in sorted(tags["images"]):
    for event in events.Images(tag):
        print("image", tag, event.step, f"{event.height}x{event.width}")
