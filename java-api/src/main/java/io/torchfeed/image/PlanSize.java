// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static io.torchfeed.image.PlanArguments.CHANNELS;
import static io.torchfeed.image.PlanArguments.requireSide;

import io.torchfeed.bindings.torchfeed;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.util.stream.DoubleStream;

/** The steps of a plan under construction that decide the size of its rows. Not thread-safe. */
final class PlanSize {
  private DoubleStream steps = DoubleStream.empty();
  private boolean hasShortSide;
  private String step = "";
  private long height;
  private long width;

  void addShortSide(int side) {
    hasShortSide = true;
    steps = DoubleStream.concat(steps, DoubleStream.of(torchfeed.kPlanShortSide, side));
  }

  /**
   * Adds the step that decides the size.
   *
   * @param number of the step
   * @param more the numbers after height and width
   * @throws IllegalArgumentException if a side is out of range
   * @throws IllegalStateException if another step decides the size
   */
  void add(String step, int height, int width, int number, double... more) {
    requireSide(height);
    requireSide(width);
    if (!this.step.isEmpty()) {
      throw new IllegalStateException(
          "%s cannot follow %s, which decides the size, %dx%d"
              .formatted(step, this.step, this.height, this.width));
    }
    this.step = step;
    this.height = height;
    this.width = width;
    steps = DoubleStream.concat(steps, DoubleStream.of(number, height, width));
    steps = DoubleStream.concat(steps, DoubleStream.of(more));
  }

  /**
   * Returns the row of this size.
   *
   * @throws IllegalStateException if the steps do not decide it, or it takes 2^31 bytes or more
   */
  RowSpec row(DType dtype) {
    if (step.isEmpty()) {
      throw new IllegalStateException(
          "a plan needs resize, centerCrop, crop or randomResizedCrop, which decide the size");
    }
    if (hasShortSide && !step.equals("centerCrop") && !step.equals("crop")) {
      throw new IllegalStateException("resizeShortSide needs centerCrop or crop, got " + step);
    }
    RowSpec row = RowSpec.of(dtype, CHANNELS, height, width);
    if (row.bytes() > Integer.MAX_VALUE) {
      throw new IllegalStateException("a row must have fewer than 2^31 bytes, got " + row);
    }
    return row;
  }

  /** Returns the steps as numbers, once. */
  DoubleStream steps() {
    return steps;
  }
}
