// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

/**
 * A column whose samples differ in length, and their layout in a batch.
 *
 * <p>The row that a dataset declares for the column sets the maximum: {@code int64 [512]} takes up
 * to 512 numbers per sample, {@code float32 [100, 80]} up to 100 frames of 80. A longer sample
 * causes a {@link SampleException}, unless samples are {@link #truncated}. The batch holds the
 * lengths in a separate tensor; these tensors follow the tensors of the dataset's columns, in the
 * order in which the dataset lists its columns of variable length.
 *
 * <p>Nothing is copied: padded columns are views of the batch's memory with the strides of the
 * declared row, so a batch is contiguous only if it has a sample of full length; packed columns
 * always are.
 *
 * @param column the number of the column
 * @param form the layout of the samples in a batch
 * @param padding the number that pads samples
 * @param padToMax whether padded batches always have the declared length, rather than the length of
 *     their longest sample
 * @param truncate whether longer samples are cut off at the declared length
 */
public record VariableLength(
    int column, Form form, double padding, boolean padToMax, boolean truncate) {
  /** The layout of samples of different lengths in a batch of n samples. */
  public enum Form {
    /** Padded, {@code [n, longest, ...]}; lengths int64 {@code [n]}. */
    LENGTHS,

    /** Padded, {@code [n, longest, ...]}; mask bool {@code [n, longest]}, true for data. */
    MASK,

    /**
     * Concatenated, {@code [sum of the lengths, ...]}; offsets int64 {@code [n + 1]}: sample i
     * begins at offset i and ends before offset i + 1.
     */
    OFFSETS
  }

  /**
   * Creates a column of variable length.
   *
   * @param column the number of the column
   * @param form the layout of the samples in a batch
   * @param padding the number that pads samples
   * @param padToMax whether padded batches always have the declared length
   * @param truncate whether longer samples are cut off at the declared length
   * @throws IllegalArgumentException if {@code column} is negative, or samples are both packed and
   *     padded
   */
  public VariableLength {
    requireNonNull(form, "form");
    if (column < 0) {
      throw new IllegalArgumentException("column must be at least 0, got " + column);
    }
    if (form == Form.OFFSETS && (padToMax || padding != 0)) {
      throw new IllegalArgumentException(
          "a packed column has no padding, got padding %s and padToMax %b"
              .formatted(padding, padToMax));
    }
  }

  /**
   * Returns a column of samples padded with 0 to the longest of their batch, and their lengths.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength padded(int column) {
    return new VariableLength(column, Form.LENGTHS, 0, false, false);
  }

  /**
   * Returns a column of samples padded with 0 to the longest of their batch, and a mask.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength masked(int column) {
    return new VariableLength(column, Form.MASK, 0, false, false);
  }

  /**
   * Returns a column of concatenated samples, and their offsets.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength packed(int column) {
    return new VariableLength(column, Form.OFFSETS, 0, false, false);
  }

  /**
   * Returns this column with the given padding in place of 0.
   *
   * @param value a number that the dtype of the column holds; a float of 8 or 16 bits must hold it
   *     without rounding
   * @return the new description
   */
  public VariableLength withPadding(double value) {
    return new VariableLength(column, form, value, padToMax, truncate);
  }

  /**
   * Returns this column padded to its declared length in every batch, for programs that need a
   * fixed shape.
   *
   * @return the new description
   */
  public VariableLength paddedToMax() {
    return new VariableLength(column, form, padding, true, truncate);
  }

  /**
   * Returns this column with longer samples cut off at the declared length.
   *
   * @return the new description
   */
  public VariableLength truncated() {
    return new VariableLength(column, form, padding, padToMax, true);
  }
}
