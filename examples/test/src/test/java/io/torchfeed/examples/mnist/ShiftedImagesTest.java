// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.examples.common.mnist.MnistData;
import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;

/** Tests of the augmented training data. */
class ShiftedImagesTest {
  private static final int SIDE = 28;
  private static final int MIDDLE = 14;
  private static final int IMAGES = 50;

  /**
   * Returns black images, each with one white pixel in the middle, labelled with the index mod 10.
   */
  private static ShiftedImages data() {
    byte[] images = new byte[MnistData.IMAGES_HEADER + IMAGES * SIDE * SIDE];
    byte[] labels = new byte[MnistData.LABELS_HEADER + IMAGES];
    for (int i = 0; i < IMAGES; i++) {
      images[MnistData.IMAGES_HEADER + (i * SIDE + MIDDLE) * SIDE + MIDDLE] = (byte) 255;
      labels[MnistData.LABELS_HEADER + i] = (byte) (i % 10);
    }
    return new ShiftedImages(images, labels);
  }

  /** Returns the position of the white pixel in each image. */
  private static List<Integer> places(int workers, long epoch) {
    List<Integer> places = new ArrayList<>();
    float white = MnistData.normalized(255);
    float black = MnistData.normalized(0);
    try (DataLoader loader = DataLoader.over(data()).batchSize(7).workers(workers).build();
        Batches batches = loader.epoch(epoch)) {
      for (Batch batch : batches) {
        float[] values = new float[batch.size() * SIDE * SIDE];
        long[] labels = new long[batch.size()];
        batch.tensor(0).data_ptr_float().get(values);
        batch.tensor(1).data_ptr_long().get(labels);
        assertThat(labels[0]).isEqualTo(batch.indices()[0] % 10);
        for (int i = 0; i < values.length; i++) {
          if (values[i] == white) {
            places.add(i % (SIDE * SIDE));
          } else {
            assertThat(values[i]).isEqualTo(black);
          }
        }
      }
    }
    return places;
  }

  @Test
  void imagesShiftByUpToTwoPixelsDifferentlyInEachEpoch() {
    List<Integer> first = places(1, 0);
    assertThat(first).hasSize(IMAGES);
    assertThat(first)
        .allSatisfy(
            place -> {
              assertThat(place / SIDE).isBetween(MIDDLE - 2, MIDDLE + 2);
              assertThat(place % SIDE).isBetween(MIDDLE - 2, MIDDLE + 2);
            });
    assertThat(first.stream().distinct().count()).isGreaterThan(10);
    assertThat(places(3, 0)).isEqualTo(first);
    assertThat(places(1, 1)).isNotEqualTo(first);
  }
}
