// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

/**
 * The program whose pixels a change of size reproduces bit for bit. Of the bytes of Pillow and
 * torchvision, about 0.15 % differ, by at most 2.
 */
public enum ImageDialect {
  /**
   * {@code Image.resize} of Pillow 13, which torchvision applies to PIL images: the height is
   * scaled first if it loses more than twice as many pixels as the width.
   */
  PILLOW(0),
  /**
   * The {@code resize} of torchvision 0.25 for uint8 tensors, on a processor with AVX2; the filters
   * are {@link ImageFilter#BILINEAR} and {@link ImageFilter#BICUBIC}.
   */
  TORCHVISION(1),
  /** {@code Image.resize} of Pillow up to 12.0: the width is always scaled first. */
  PILLOW_12(2);

  /** The number in torchfeed/image_plan.h. */
  private final int number;

  ImageDialect(int number) {
    this.number = number;
  }

  int number() {
    return number;
  }
}
