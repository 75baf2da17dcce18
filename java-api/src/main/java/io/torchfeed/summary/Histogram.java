// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.summary;

import java.util.Arrays;
import java.util.stream.DoubleStream;
import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptional;
import org.bytedeco.pytorch.global.torch;

/**
 * How often the values of a tensor lie between limits that grow by a tenth, as PyTorch's {@code
 * SummaryWriter} counts them.
 *
 * @param min the smallest value
 * @param max the largest value
 * @param count the number of values
 * @param sum of the values
 * @param sumOfSquares of the values
 * @param limits the upper limit of each bucket
 * @param counts the number of values in each bucket
 * @param others the number of values that are not finite, which all other fields leave out
 */
@SuppressWarnings("ArrayRecordComponent") // it is not compared
record Histogram(
    double min,
    double max,
    double count,
    double sum,
    double sumOfSquares,
    double[] limits,
    double[] counts,
    long others) {
  private static final double[] LIMITS = limitsOfAll();
  private static final long CHUNK = 1 << 22; // values in memory as doubles at a time

  private static double[] limitsOfAll() {
    double[] positive =
        DoubleStream.iterate(1e-12, limit -> limit < 1e20, limit -> limit * 1.1).toArray();
    double[] all = new double[2 * positive.length + 1];
    for (int i = 0; i < positive.length; i++) {
      all[positive.length + 1 + i] = positive[i];
      all[positive.length - 1 - i] = -positive[i];
    }
    return all;
  }

  /** Counts the values of a tensor of real numbers on any device. */
  static Histogram of(Tensor values) {
    try (PointerScope scope = new PointerScope()) {
      Sums sums = new Sums();
      Tensor flat = values.detach().reshape(-1);
      for (long from = 0; from < flat.numel(); from += CHUNK) {
        try (PointerScope chunk = new PointerScope()) {
          sums.add(flat.narrow(0, from, Math.min(CHUNK, flat.numel() - from)));
        }
      }
      return sums.toHistogram();
    }
  }

  private static final class Sums {
    private final long[] counts = new long[LIMITS.length - 1];
    private double min = Double.POSITIVE_INFINITY;
    private double max = Double.NEGATIVE_INFINITY;
    private long count;
    private double sum;
    private double squares;
    private long others;

    void add(Tensor part) {
      Tensor all = part.to(torch.ScalarType.Double);
      Tensor finite = all.masked_select(all.isfinite());
      others += all.numel() - finite.numel();
      if (finite.numel() == 0) {
        return;
      }
      count += finite.numel();
      min = Math.min(min, finite.min().item_double());
      max = Math.max(max, finite.max().item_double());
      sum += finite.sum().item_double();
      squares += finite.square().sum().item_double();
      Tensor limits = Tensor.create(LIMITS).to(finite);
      // The number of limits that are at most as large as the value
      Tensor below = torch.bucketize(finite, limits, false, true);
      Tensor found = torch.bincount(below, new TensorOptional(), LIMITS.length + 1L).cpu();
      long[] foundBelow = new long[LIMITS.length + 1];
      new LongPointer(found.data_ptr_long()).get(foundBelow);
      for (int i = 0;
          i < foundBelow.length;
          i++) { // values outside of all limits are the outermost
        counts[Math.min(Math.max(i - 1, 0), counts.length - 1)] += foundBelow[i];
      }
    }

    /** Leaves out the buckets before the last empty one, and those behind the last that is not. */
    Histogram toHistogram() {
      int first = 0;
      int end = counts.length;
      while (first < end && counts[first] == 0) {
        first++;
      }
      while (end > first && counts[end - 1] == 0) {
        end--;
      }
      double[] used = Arrays.stream(counts, first, end).asDoubleStream().toArray();
      double[] padded = new double[used.length + 1];
      System.arraycopy(used, 0, padded, 1, used.length);
      double[] limits = Arrays.copyOfRange(LIMITS, first, end + 1);
      return new Histogram(min, max, count, sum, squares, limits, padded, others);
    }
  }
}
