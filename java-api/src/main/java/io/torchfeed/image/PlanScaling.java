// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static java.util.Objects.requireNonNull;

import io.torchfeed.bindings.torchfeed;
import java.util.stream.DoubleStream;

/** The scaling of a plan: the program whose pixels are reproduced, and its filter. */
final class PlanScaling {
  /** The number in torchfeed/image_plan.h of torchvision without antialiasing. */
  private static final int PLAIN_TORCHVISION = 3;

  private ImageDialect dialect = ImageDialect.PILLOW;
  private ImageFilter filter = ImageFilter.BILINEAR;
  private boolean antialias = true;

  /** Throws if the program does not have the filter. */
  static void requireFilter(ImageDialect dialect, ImageFilter filter) {
    requireNonNull(dialect, "dialect");
    requireNonNull(filter, "filter");
    if (dialect == ImageDialect.TORCHVISION
        && filter != ImageFilter.BILINEAR
        && filter != ImageFilter.BICUBIC) {
      throw new IllegalArgumentException(
          "filter must be BILINEAR or BICUBIC in the dialect TORCHVISION, got " + filter);
    }
  }

  void choose(ImageDialect dialect, ImageFilter filter) {
    this.dialect = dialect;
    this.filter = filter;
  }

  void antialias(boolean antialias) {
    this.antialias = antialias;
  }

  /** Returns the step of the plan, as numbers. */
  DoubleStream step() {
    return DoubleStream.of(torchfeed.kPlanScaling, dialectNumber(), filter.number());
  }

  private int dialectNumber() {
    if (antialias) {
      return dialect.number();
    }
    if (dialect != ImageDialect.TORCHVISION || filter != ImageFilter.BILINEAR) {
      throw new IllegalArgumentException(
          "antialias(false) needs scaling(TORCHVISION, BILINEAR), got %s and %s"
              .formatted(dialect, filter));
    }
    return PLAIN_TORCHVISION;
  }
}
