// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

/**
 * A column whose samples differ in length, and how they lie in a batch.
 *
 * <p>The row that a dataset declares for the column says the most: {@code int64 [512]} takes up to
 * 512 numbers of a sample, {@code float32 [100, 80]} up to 100 frames of 80. A longer sample is a
 * {@link SampleException}, unless samples are {@link #truncated}. The batch tells the lengths in a
 * tensor of its own; these tensors follow those of the dataset's columns, in the order in which the
 * dataset lists its columns of variable length.
 *
 * <p>Nothing is copied: padded columns are views of the batch's memory with the strides of the
 * declared row, so that only a batch with a sample of full length is contiguous; packed columns
 * always are.
 *
 * @param column the number of the column
 * @param form how samples lie in a batch
 * @param padding what fills up samples that are padded
 * @param isWhole whether padded batches always have the declared length, instead of that of their
 *     longest sample
 * @param isTruncated whether what is too much of a sample is left out
 */
public record VariableLength(
    int column, Form form, double padding, boolean isWhole, boolean isTruncated) {
  /** How samples of different lengths lie in a batch of n samples. */
  public enum Form {
    /** Padded, {@code [n, longest, ...]}; lengths int64 {@code [n]}. */
    LENGTHS,

    /** Padded, {@code [n, longest, ...]}; mask bool {@code [n, longest]}, true where data is. */
    MASK,

    /**
     * One behind the other, {@code [sum of the lengths, ...]}; offsets int64 {@code [n + 1]}:
     * sample i lies from the i-th on and ends before the next.
     */
    OFFSETS
  }

  /**
   * A column of variable length.
   *
   * @param column the number of the column
   * @param form how samples lie in a batch
   * @param padding what fills up samples that are padded
   * @param isWhole whether padded batches always have the declared length
   * @param isTruncated whether what is too much of a sample is left out
   * @throws IllegalArgumentException if {@code column} is negative, or samples are to be packed and
   *     padded
   */
  public VariableLength {
    requireNonNull(form, "form");
    if (column < 0) {
      throw new IllegalArgumentException("column must be at least 0, got " + column);
    }
    if (form == Form.OFFSETS && (isWhole || padding != 0)) {
      throw new IllegalArgumentException(
          "a packed column has no padding, got padding %s and isWhole %b"
              .formatted(padding, isWhole));
    }
  }

  /**
   * Samples padded with 0 to the longest of their batch, and their lengths.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength padded(int column) {
    return new VariableLength(column, Form.LENGTHS, 0, false, false);
  }

  /**
   * Samples padded with 0 to the longest of their batch, and a mask.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength masked(int column) {
    return new VariableLength(column, Form.MASK, 0, false, false);
  }

  /**
   * Samples one behind the other, and their offsets.
   *
   * @param column the number of the column
   * @return the description
   */
  public static VariableLength packed(int column) {
    return new VariableLength(column, Form.OFFSETS, 0, false, false);
  }

  /**
   * This column with another padding than 0.
   *
   * @param value a number that the dtype of the column holds
   * @return the new description
   */
  public VariableLength withPadding(double value) {
    return new VariableLength(column, form, value, isWhole, isTruncated);
  }

  /**
   * This column padded to its declared length in every batch, for programs that want one shape.
   *
   * @return the new description
   */
  public VariableLength whole() {
    return new VariableLength(column, form, padding, true, isTruncated);
  }

  /**
   * This column with longer samples cut off at the declared length.
   *
   * @return the new description
   */
  public VariableLength truncated() {
    return new VariableLength(column, form, padding, isWhole, true);
  }
}
