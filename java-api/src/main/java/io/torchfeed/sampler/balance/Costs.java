// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static java.util.Objects.requireNonNull;

import io.torchfeed.internal.Checks;
import io.torchfeed.internal.Hash64;
import io.torchfeed.internal.HeapMemory;
import io.torchfeed.internal.IndexList;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * The cost of each sample of a dataset: a whole number in [0, 2^42) for each index, such as its
 * length, its size in bytes or its measured time in microseconds.
 *
 * <p>Balance depends only on the ratios of the costs, so fractions are scaled to whole numbers.
 * Immutable and thread-safe. Takes 4 bytes per sample, or 8 if any cost is 2^31 or more.
 */
public final class Costs {
  /** The exclusive upper bound of a cost: sums and sort keys of costs below it fit into 64 bits. */
  static final long LIMIT = 1L << 42;

  private final int @Nullable [] small;
  private final long @Nullable [] large;
  private final int size;
  private final long smallest;
  private final long largest;
  private volatile @Nullable Long hash; // computed on demand: plans make many short-lived costs

  private Costs(long size, LongUnaryOperator costOfAnIndex) {
    this.size = requireSize(size);
    int[] narrow = HeapMemory.array("costs", this.size, int[]::new);
    long[] wide = null;
    long least = this.size == 0 ? 0 : LIMIT;
    long most = 0;
    for (int i = 0; i < this.size; i++) {
      long cost = requireCost(i, costOfAnIndex.applyAsLong(i));
      least = Math.min(least, cost);
      most = Math.max(most, cost);
      if (wide == null && cost > Integer.MAX_VALUE) {
        wide = widen(narrow, i);
      }
      if (wide == null) {
        narrow[i] = (int) cost;
      } else {
        wide[i] = cost;
      }
    }
    small = wide == null ? narrow : null;
    large = wide;
    smallest = least;
    largest = most;
  }

  /**
   * Returns costs copied from an array.
   *
   * @param costs the cost of each index, in [0, 2^42)
   * @return the costs
   * @throws IllegalArgumentException if a cost is out of range
   */
  public static Costs of(long... costs) {
    requireNonNull(costs, "costs");
    return new Costs(costs.length, i -> costs[(int) i]);
  }

  /**
   * Returns costs computed by a function. It is called once for each index, in order, and not
   * retained.
   *
   * @param size number of samples, in [0, 2^31 - 9]
   * @param costOfAnIndex the cost of an index, in [0, 2^42)
   * @return the costs
   * @throws IllegalArgumentException if {@code size} or a cost is out of range
   * @throws IllegalStateException if the Java heap is too small for them
   */
  public static Costs computed(long size, LongUnaryOperator costOfAnIndex) {
    return new Costs(size, requireNonNull(costOfAnIndex, "costOfAnIndex"));
  }

  /**
   * Returns costs that are single-precision numbers times a scale, rounded to the nearest whole
   * number.
   *
   * @param costs the cost of each index, not negative, NaN or infinite
   * @param scale the factor by which each cost is multiplied, positive and finite; large enough for
   *     rounding not to matter
   * @return the costs
   * @throws IllegalArgumentException if the scale or a cost is out of range, or their product is
   *     2^42 or more
   */
  public static Costs ofFloats(float[] costs, double scale) {
    requireNonNull(costs, "costs");
    requireScale(scale);
    return new Costs(costs.length, i -> scaled(i, costs[(int) i], scale));
  }

  /**
   * Returns costs that are double-precision numbers times a scale, rounded to the nearest whole
   * number.
   *
   * @param costs the cost of each index, not negative, NaN or infinite
   * @param scale the factor by which each cost is multiplied, positive and finite; large enough for
   *     rounding not to matter
   * @return the costs
   * @throws IllegalArgumentException if the scale or a cost is out of range, or their product is
   *     2^42 or more
   */
  public static Costs ofDoubles(double[] costs, double scale) {
    requireNonNull(costs, "costs");
    requireScale(scale);
    return new Costs(costs.length, i -> scaled(i, costs[(int) i], scale));
  }

  /**
   * Reads costs from a text file of one whole number per line, the first of which is the cost of
   * index 0. The file has no header and no blank lines; spaces around a number are ignored, and
   * either kind of line ending is accepted. Takes up to 24 bytes per line while reading.
   *
   * @param file the file
   * @return the costs
   * @throws IllegalArgumentException if a line is not a whole number in [0, 2^42) (the message
   *     names the line), or {@code file} is not a regular file
   * @throws java.io.UncheckedIOException if the file cannot be read
   */
  public static Costs read(Path file) {
    requireNonNull(file, "file");
    return of(
        CostFile.read(
            file, (index, text) -> requireCost(index, Long.parseLong(text)), "a whole number"));
  }

  /**
   * Reads costs from a text file of decimal fractions, which are scaled and rounded like {@link
   * #ofDoubles}'; otherwise like {@link #read(Path)}.
   *
   * @param file the file
   * @param scale the factor by which each number is multiplied, positive and finite
   * @return the costs
   * @throws IllegalArgumentException if the scale is out of range; if a line is not a number that
   *     {@link Double#parseDouble} accepts, or is negative, NaN, infinite, or 2^42 or more after
   *     multiplication (the message names the line); or if {@code file} is not a regular file
   * @throws java.io.UncheckedIOException if the file cannot be read
   */
  public static Costs read(Path file, double scale) {
    requireNonNull(file, "file");
    requireScale(scale);
    return of(
        CostFile.read(
            file, (index, text) -> scaled(index, Double.parseDouble(text), scale), "a number"));
  }

  /**
   * Returns the number of samples.
   *
   * @return the number of costs, at least 0
   */
  public int size() {
    return size;
  }

  /**
   * Returns the cost of a sample.
   *
   * @param index the dataset index, in [0, size())
   * @return its cost, in [0, 2^42)
   * @throws IndexOutOfBoundsException if {@code index} is outside that range
   */
  public long at(long index) {
    int i = (int) Checks.requireIndex("index", index, (long) size);
    return small != null ? small[i] : requireNonNull(large)[i];
  }

  /** Returns the smallest cost, or 0 if there is none. */
  long smallest() {
    return smallest;
  }

  /** Returns the largest cost, or 0 if there is none. */
  long largest() {
    return largest;
  }

  /**
   * Returns a digest of all costs in order, which represents them in the parameters of a plan.
   *
   * @return 16 hexadecimal digits; equal for equal costs, on every machine
   */
  public String digest() {
    return "%016x".formatted(hash());
  }

  @Override
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public boolean equals(@Nullable Object other) {
    return other instanceof Costs costs
        && Arrays.equals(small, costs.small)
        && Arrays.equals(large, costs.large);
  }

  private long hash() {
    Long known = hash;
    if (known == null) {
      long digest = 0;
      for (int i = 0; i < size; i++) {
        digest = Hash64.fold(digest, at(i));
      }
      known = digest;
      hash = known;
    }
    return known;
  }

  @Override
  public int hashCode() {
    return Long.hashCode(hash());
  }

  @Override
  public String toString() {
    return "Costs[size=" + size + ", digest=" + digest() + "]";
  }

  private static long[] widen(int[] narrow, int count) {
    long[] wide = HeapMemory.array("costs", narrow.length, long[]::new);
    for (int i = 0; i < count; i++) {
      wide[i] = narrow[i];
    }
    return wide;
  }

  private static long scaled(long index, double cost, double scale) {
    if (!(cost >= 0 && cost <= Double.MAX_VALUE)) {
      throw new IllegalArgumentException(
          "a cost must be at least 0 and finite, got %s at index %d".formatted(cost, index));
    }
    double product = cost * scale;
    if (product >= LIMIT) {
      throw new IllegalArgumentException(
          "a cost times the scale must be below 2^42, got %s at index %d; choose a smaller scale"
              .formatted(product, index));
    }
    return requireCost(index, Math.round(product));
  }

  private static long requireCost(long index, long cost) {
    if (cost < 0 || cost >= LIMIT) {
      throw new IllegalArgumentException(
          "a cost must be in [0, 2^42), got %d at index %d".formatted(cost, index));
    }
    return cost;
  }

  private static void requireScale(double scale) {
    if (!(scale > 0 && scale <= Double.MAX_VALUE)) {
      throw new IllegalArgumentException("scale must be positive and finite, got " + scale);
    }
  }

  private static int requireSize(long size) {
    if (size < 0 || size > IndexList.MAX_SIZE) {
      throw new IllegalArgumentException(
          "size must be in [0, %d], got %d".formatted(IndexList.MAX_SIZE, size));
    }
    return (int) size;
  }
}
