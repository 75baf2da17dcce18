// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import io.torchfeed.data.source.ImageFolder;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.image.ImagePlanBuilder;
import java.nio.file.Path;

/** The pictures of a folder with the folders {@code train} and {@code val}. */
final class Images {
  private static final double SHORT_SIDE_PER_SIZE = 256 / 224.0;

  private Images() {}

  /** Opens the training pictures, of which each epoch sees random parts. */
  static ImageFolder training(Path data, int size) {
    return ImageFolder.open(
        data.resolve("train"), augmented(size).normalize(mean(), std()).build());
  }

  /** Opens the training pictures as bytes, to be looked at. */
  static ImageFolder toLookAt(Path data, int size) {
    return ImageFolder.open(data.resolve("train"), augmented(size).build());
  }

  private static ImagePlanBuilder augmented(int size) {
    return ImagePlan.builder()
        .randomResizedCrop(size, size)
        .horizontalFlip(0.5)
        .colorJitter(0.3, 0.3, 0.3, 0.05);
  }

  /** Opens the test pictures, of which the middle is used. */
  static ImageFolder test(Path data, int size) {
    return ImageFolder.open(
        data.resolve("val"),
        ImagePlan.builder()
            .resizeShortSide((int) Math.round(size * SHORT_SIDE_PER_SIZE))
            .centerCrop(size, size)
            .normalize(mean(), std())
            .build());
  }

  private static float[] mean() {
    return ImagePlan.imagenetMean();
  }

  private static float[] std() {
    return ImagePlan.imagenetStd();
  }
}
