// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.first;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.sampler.Part;
import io.torchfeed.sampler.order.StridedSampler;
import io.torchfeed.sampler.order.WeightedSampler;
import java.util.Arrays;
import java.util.stream.IntStream;
import org.bytedeco.pytorch.Tensor;

/** Draws samples by weight, so that each class is seen equally often, on each of two ranks. */
final class WeightedDraws {
  private static final int[] SAMPLES_OF_CLASS = {900, 90, 10};

  public static void main(String[] args) {
    int[] labels =
        IntStream.range(0, SAMPLES_OF_CLASS.length)
            .flatMap(of -> IntStream.generate(() -> of).limit(SAMPLES_OF_CLASS[of]))
            .toArray();
    double[] weights =
        Arrays.stream(labels).mapToDouble(label -> 1.0 / SAMPLES_OF_CLASS[label]).toArray();
    WeightedSampler draws = WeightedSampler.of(weights, 30_000, 42); // draws per epoch, seed
    for (int rank = 0; rank < 2; rank++) { // usually processes, each with its group.part()
      int[] drawn = new int[SAMPLES_OF_CLASS.length];
      try (var data = TensorDataset.of(Tensor.create(labels));
          DataLoader loader =
              DataLoader.over(data)
                  .sampler(StridedSampler.of(draws, Part.rank(rank).of(2)))
                  .batchSize(100)
                  .build()) {
        for (Batch batch : loader.epoch(0)) {
          for (long index : batch.indices()) {
            drawn[labels[(int) index]]++;
          }
        }
      }
      System.out.printf("rank %d drew of each class %s%n", rank, Arrays.toString(drawn));
    }
  }
}
