// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler;

import static java.util.Objects.requireNonNull;

import java.nio.file.Path;
import java.util.Arrays;
import java.util.Objects;
import java.util.function.LongUnaryOperator;
import org.jspecify.annotations.Nullable;

/**
 * What each sample of a dataset costs: a whole number in [0, 2^42) for each index, such as its
 * length, its bytes or its measured time in microseconds.
 *
 * <p>Balance depends on the ratios of the costs only, so fractions are scaled to whole numbers.
 * Immutable; any number of threads may read. Takes 4 bytes a sample, or 8 where a cost is 2^31 or
 * more.
 */
public final class Costs {
  /** One more than the largest cost: sums and sort keys of costs below it fit 64 bits. */
  static final long LIMIT = 1L << 42;

  private final int @Nullable [] small;
  private final long @Nullable [] large;
  private final int size;
  private final long hash;
  private final long largest;

  private Costs(long size, LongUnaryOperator costOfAnIndex) {
    this.size = requireSize(size);
    int[] narrow = new int[this.size];
    long[] wide = null;
    long digest = 0;
    long most = 0;
    for (int i = 0; i < this.size; i++) {
      long cost = requireCost(i, costOfAnIndex.applyAsLong(i));
      digest = Mix64.fold(digest, cost);
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
    hash = digest;
    largest = most;
  }

  /**
   * Costs that are copied from an array.
   *
   * @param costs the cost of each index, in [0, 2^42)
   * @return the costs
   * @throws IllegalArgumentException if a cost is outside of its range
   */
  public static Costs of(long... costs) {
    return new Costs(costs.length, i -> costs[(int) i]);
  }

  /**
   * Costs that a function gives. It is called once for each index, in order, and not kept.
   *
   * @param size number of samples, in [0, 2^31 - 9]
   * @param costOfAnIndex the cost of an index, in [0, 2^42)
   * @return the costs
   * @throws IllegalArgumentException if {@code size} or a cost is outside of its range
   */
  public static Costs computed(long size, LongUnaryOperator costOfAnIndex) {
    return new Costs(size, requireNonNull(costOfAnIndex, "costOfAnIndex"));
  }

  /**
   * Costs that are single precision numbers times a scale, rounded to the nearest whole number.
   *
   * @param costs the cost of each index, neither negative, NaN nor infinite
   * @param scale what each is multiplied by, positive and finite; so large that rounding does not
   *     matter
   * @return the costs
   * @throws IllegalArgumentException if the scale or a cost is outside of its range, or their
   *     product is 2^42 or more
   */
  public static Costs ofFloats(float[] costs, double scale) {
    requireScale(scale);
    return new Costs(costs.length, i -> scaled(i, costs[(int) i], scale));
  }

  /**
   * Costs that are double precision numbers times a scale, rounded to the nearest whole number.
   *
   * @param costs the cost of each index, neither negative, NaN nor infinite
   * @param scale what each is multiplied by, positive and finite; so large that rounding does not
   *     matter
   * @return the costs
   * @throws IllegalArgumentException if the scale or a cost is outside of its range, or their
   *     product is 2^42 or more
   */
  public static Costs ofDoubles(double[] costs, double scale) {
    requireScale(scale);
    return new Costs(costs.length, i -> scaled(i, costs[(int) i], scale));
  }

  /**
   * Costs from a text file: a whole number on each line, of which the first is the cost of index 0.
   * There is no header and no blank line; spaces around a number and either kind of line end do not
   * matter. Takes up to 24 bytes a line while it reads.
   *
   * @param file the file
   * @return the costs
   * @throws IllegalArgumentException if a line is no whole number in [0, 2^42), with its number
   * @throws java.io.UncheckedIOException if the file cannot be read
   */
  public static Costs read(Path file) {
    return of(
        CostFile.read(
            file, (index, text) -> requireCost(index, Long.parseLong(text)), "a whole number"));
  }

  /**
   * Costs from a text file of decimal fractions, which are scaled and rounded as those of {@link
   * #ofDoubles}; otherwise as {@link #read(Path)}.
   *
   * @param file the file
   * @param scale what each number is multiplied by, positive and finite
   * @return the costs
   * @throws IllegalArgumentException if the scale is outside of its range; or if a line is no
   *     number as {@link Double#parseDouble} reads it, negative, NaN, infinite, or 2^42 or more
   *     when multiplied, with its number
   * @throws java.io.UncheckedIOException if the file cannot be read
   */
  public static Costs read(Path file, double scale) {
    requireScale(scale);
    return of(
        CostFile.read(
            file, (index, text) -> scaled(index, Double.parseDouble(text), scale), "a number"));
  }

  /**
   * The number of samples.
   *
   * @return the number of costs, at least 0
   */
  public int size() {
    return size;
  }

  /**
   * The cost of a sample.
   *
   * @param index the dataset index, in [0, size())
   * @return its cost, in [0, 2^42)
   * @throws IndexOutOfBoundsException if {@code index} is outside of that range
   */
  public long at(long index) {
    int i = (int) Objects.checkIndex(index, (long) size);
    return small != null ? small[i] : requireNonNull(large)[i];
  }

  /** The largest cost, 0 if there is none. */
  long largest() {
    return largest;
  }

  /**
   * A digest of all costs in order, which stands for them in the parameters of a plan.
   *
   * @return 16 hexadecimal digits; equal for equal costs, on every machine
   */
  public String digest() {
    return "%016x".formatted(hash);
  }

  @Override
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public boolean equals(@Nullable Object other) {
    return other instanceof Costs costs
        && hash == costs.hash
        && Arrays.equals(small, costs.small)
        && Arrays.equals(large, costs.large);
  }

  @Override
  public int hashCode() {
    return Long.hashCode(hash);
  }

  @Override
  public String toString() {
    return "Costs[size=" + size + ", digest=" + digest() + "]";
  }

  private static long[] widen(int[] narrow, int count) {
    long[] wide = new long[narrow.length];
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
    if (size < 0 || size > IndexList.LONGEST) {
      throw new IllegalArgumentException(
          "size must be in [0, %d], got %d".formatted(IndexList.LONGEST, size));
    }
    return (int) size;
  }
}
