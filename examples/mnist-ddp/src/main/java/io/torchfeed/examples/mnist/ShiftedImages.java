// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.SampleWriter;
import io.torchfeed.examples.common.CommandException;
import io.torchfeed.examples.common.mnist.MnistData;
import io.torchfeed.examples.common.mnist.MnistFile;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowSpec;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;

/**
 * A dataset of normalized images, each shifted by up to two pixels in both directions, at random in
 * each epoch, by Java code that the workers of the loader run.
 */
final class ShiftedImages implements Dataset {
  private static final int SIDE = MnistData.SIDE;
  private static final int FARTHEST = 2;

  private final byte[] images;
  private final byte[] labels;

  /** Creates a dataset of the content of an idx file of images, and one of their labels. */
  ShiftedImages(byte[] images, byte[] labels) {
    this.images = images;
    this.labels = labels;
  }

  /** Reads the training images. */
  static ShiftedImages read(Path folder) {
    try {
      return new ShiftedImages(
          Files.readAllBytes(MnistFile.TRAIN_IMAGES.in(folder)),
          Files.readAllBytes(MnistFile.TRAIN_LABELS.in(folder)));
    } catch (IOException e) {
      throw new CommandException("Cannot read MNIST in " + folder + ": " + e, e);
    }
  }

  @Override
  public long size() {
    return (long) labels.length - MnistData.LABELS_HEADER;
  }

  @Override
  public List<RowSpec> columns() {
    return List.of(RowSpec.of(DType.FLOAT32, 1, SIDE, SIDE), RowSpec.of(DType.INT64));
  }

  @Override
  public void read(long index, SampleWriter sample) {
    int first = MnistData.IMAGES_HEADER + (int) index * SIDE * SIDE;
    int down = sample.random().nextInt(-FARTHEST, FARTHEST + 1);
    int right = sample.random().nextInt(-FARTHEST, FARTHEST + 1);
    float[] image = new float[SIDE * SIDE];
    for (int row = 0; row < SIDE; row++) {
      for (int column = 0; column < SIDE; column++) {
        int pixel = pixel(first, row - down, column - right);
        image[row * SIDE + column] = MnistData.normalized(pixel);
      }
    }
    sample.put(0, image);
    sample.putLong(1, labels[MnistData.LABELS_HEADER + (int) index] & 0xFF);
  }

  private int pixel(int first, int row, int column) {
    boolean isInside = row >= 0 && row < SIDE && column >= 0 && column < SIDE;
    return isInside ? images[first + row * SIDE + column] & 0xFF : 0;
  }
}
