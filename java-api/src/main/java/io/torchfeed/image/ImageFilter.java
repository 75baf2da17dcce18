// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

/** The filter of a change of size, widened when the image shrinks (antialiasing). */
public enum ImageFilter {
  /** The mean of the pixels covered. */
  BOX(0),
  /** A linear filter of radius 1. */
  BILINEAR(1),
  /** A cubic filter of radius 2 with the parameter -0.5. */
  BICUBIC(2),
  /** A windowed sinc of radius 3. */
  LANCZOS(3);

  /** The number in torchfeed/image_plan.h. */
  private final int number;

  ImageFilter(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
