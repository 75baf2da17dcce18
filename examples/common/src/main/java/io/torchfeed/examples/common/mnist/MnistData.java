// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common.mnist;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.source.FileColumn;
import io.torchfeed.data.source.FileDataset;
import io.torchfeed.data.source.RowLayout;
import io.torchfeed.memory.DType;
import io.torchfeed.memory.RowTransform;
import java.nio.file.Path;

/** MNIST as batches for a net: native code reads, converts and normalizes its bytes. */
public final class MnistData {
  /** Height and width of an image. */
  public static final int SIDE = 28;

  /** Bytes before the first image of a file. */
  public static final int IMAGES_HEADER = 16;

  /** Bytes before the first label of a file. */
  public static final int LABELS_HEADER = 8;

  private static final float MEAN = 0.1307f;
  private static final float DEVIATION = 0.3081f;
  private static final RowTransform PIXELS =
      RowTransform.builder()
          .scale(1f / 255f)
          .normalize(new float[] {MEAN}, new float[] {DEVIATION})
          .build();
  private static final RowTransform LABELS = RowTransform.builder().cast(DType.INT64).build();

  private MnistData() {}

  /**
   * Opens the images and labels to train with.
   *
   * @param folder of {@link MnistFolder#locate}
   * @return images, float32 {@code [1, 28, 28]}, and labels, int64; the caller closes it
   */
  public static NativeDataset train(Path folder) {
    return open(MnistFile.TRAIN_IMAGES.in(folder), MnistFile.TRAIN_LABELS.in(folder));
  }

  /**
   * Opens the images and labels to test with, as {@link #train} does.
   *
   * @param folder of {@link MnistFolder#locate}
   * @return the dataset; the caller closes it
   */
  public static NativeDataset test(Path folder) {
    return open(MnistFile.TEST_IMAGES.in(folder), MnistFile.TEST_LABELS.in(folder));
  }

  private static NativeDataset open(Path images, Path labels) {
    RowLayout image = RowLayout.of(DType.UINT8, 1, SIDE, SIDE).withOffsetBytes(IMAGES_HEADER);
    try (FileDataset bytes = FileDataset.of(FileColumn.raw(image, images), FileColumn.idx(labels));
        NativeDataset pixels = bytes.transform(0, PIXELS)) {
      return pixels.transform(1, LABELS);
    }
  }

  /**
   * Returns the input of a net for a pixel.
   *
   * @param pixel in [0, 255]
   * @return the normalized value
   */
  public static float normalized(int pixel) {
    return (pixel / 255f - MEAN) / DEVIATION;
  }
}
