// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.Batches;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.ProcessGroup;
import io.torchfeed.spark.RankRows;
import java.util.Arrays;
import java.util.stream.LongStream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The rows of a rank that the training takes, and those that the validation takes.
 *
 * @param training rows; closed with this object
 * @param validation rows; closed with this object
 */
record RowParts(NativeDataset training, NativeDataset validation) implements AutoCloseable {
  private static final int BATCH = 4096;

  /**
   * Divides the rows; all ranks call it together.
   *
   * @param weight the column of weights; empty for none
   * @param validation the column that is true for rows of the validation; empty for none
   * @throws IllegalArgumentException if a weight is negative or not finite, or a part has none
   *     above 0
   */
  static RowParts of(RankRows rows, String weight, String validation, ProcessGroup group) {
    LongStream.Builder training = LongStream.builder();
    LongStream.Builder others = LongStream.builder();
    double sum = 0;
    double validating = 0;
    long row = 0;
    try (DataLoader loader = rows.loader().batchSize(BATCH).build();
        Batches batches = loader.epoch(0)) {
      for (Batch batch : batches) {
        double[] weights = weight.isEmpty() ? null : numbers(batch.tensor(weight));
        double[] isOther = validation.isEmpty() ? null : numbers(batch.tensor(validation));
        for (int i = 0; i < batch.size(); i++, row++) {
          double each = weights == null ? 1 : weights[i];
          if (!(each >= 0) || Double.isInfinite(each)) {
            throw new IllegalArgumentException(
                "weights must be at least 0 and finite, got %s in column %s"
                    .formatted(each, weight));
          }
          if (isOther != null && isOther[i] != 0) {
            others.add(row);
            validating += each;
          } else {
            training.add(row);
            sum += each;
          }
        }
      }
    }
    if (!validation.isEmpty() && !(meanOf(group, validating, 1) > 0)) {
      throw new IllegalArgumentException(
          "column %s must be true for a row with a weight above 0".formatted(validation));
    }
    if (!weight.isEmpty() && !(meanOf(group, sum, 1) > 0)) {
      throw new IllegalArgumentException("a row with a weight above 0 is needed to train with");
    }
    NativeDataset all = rows.dataset();
    return new RowParts(
        all.subset(training.build().toArray()), all.subset(others.build().toArray()));
  }

  private static double[] numbers(Tensor column) {
    try (PointerScope scope = new PointerScope()) {
      Tensor values = column.to(ScalarType.Double);
      double[] numbers = new double[Math.toIntExact(values.numel())];
      values.data_ptr_double().get(numbers);
      return numbers;
    }
  }

  /** Returns a sum of all ranks divided by a count of all ranks, the same bits on each. */
  static double meanOf(ProcessGroup group, double sum, double count) {
    long[][] all =
        group.allGatherLongs(
            new long[] {Double.doubleToLongBits(sum), Double.doubleToLongBits(count)});
    return column(all, 0) / column(all, 1);
  }

  private static double column(long[][] all, int place) {
    return Arrays.stream(all).mapToDouble(each -> Double.longBitsToDouble(each[place])).sum();
  }

  @Override
  public void close() {
    training.close();
    validation.close();
  }
}
