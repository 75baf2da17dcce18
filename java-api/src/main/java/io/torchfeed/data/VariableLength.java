// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import java.util.Objects;
import org.jspecify.annotations.Nullable;

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
 * <p>Immutable; each {@code with} method returns a new description.
 */
public final class VariableLength {
  private final int column;
  private final Form form;
  private final double padding;
  private final boolean padToMax;
  private final boolean truncate;

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

  private VariableLength(
      int column, Form form, double padding, boolean padToMax, boolean truncate) {
    if (column < 0) {
      throw new IllegalArgumentException(
          "column must be at least 0, got " + column + "; other padding is set by withPadding");
    }
    if (form == Form.OFFSETS && (padToMax || padding != 0)) {
      throw new IllegalArgumentException(
          "a packed column has no padding, got padding %s and padToMax %b"
              .formatted(padding, padToMax));
    }
    this.column = column;
    this.form = form;
    this.padding = padding;
    this.padToMax = padToMax;
    this.truncate = truncate;
  }

  /**
   * Returns a column of samples padded with 0 to the longest of their batch, and their lengths.
   *
   * @param column the number of the column
   * @return the description
   * @throws IllegalArgumentException if {@code column} is negative
   */
  public static VariableLength padded(int column) {
    return new VariableLength(column, Form.LENGTHS, 0, false, false);
  }

  /**
   * Returns a column of samples padded with 0 to the longest of their batch, and a mask.
   *
   * @param column the number of the column
   * @return the description
   * @throws IllegalArgumentException if {@code column} is negative
   */
  public static VariableLength masked(int column) {
    return new VariableLength(column, Form.MASK, 0, false, false);
  }

  /**
   * Returns a column of concatenated samples, and their offsets.
   *
   * @param column the number of the column
   * @return the description
   * @throws IllegalArgumentException if {@code column} is negative
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
   * @throws IllegalArgumentException if the samples are packed and {@code value} is not 0
   */
  public VariableLength withPadding(double value) {
    return new VariableLength(column, form, value, padToMax, truncate);
  }

  /**
   * Returns this column padded to its declared length in every batch, for programs that need a
   * fixed shape.
   *
   * @return the new description
   * @throws IllegalArgumentException if the samples are packed
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

  /**
   * Returns the number of the column.
   *
   * @return at least 0
   */
  public int column() {
    return column;
  }

  /**
   * Returns the layout of the samples in a batch.
   *
   * @return the layout
   */
  public Form form() {
    return form;
  }

  /**
   * Returns the number that pads samples.
   *
   * @return the number; 0 for packed samples
   */
  public double padding() {
    return padding;
  }

  /**
   * Returns whether padded batches always have the declared length, rather than the length of their
   * longest sample.
   *
   * @return whether {@link #paddedToMax} was called
   */
  public boolean padToMax() {
    return padToMax;
  }

  /**
   * Returns whether longer samples are cut off at the declared length.
   *
   * @return whether {@link #truncated} was called
   */
  public boolean truncate() {
    return truncate;
  }

  @Override
  @SuppressWarnings("exports") // the annotation is not needed at run time
  public boolean equals(@Nullable Object other) {
    return other instanceof VariableLength that
        && column == that.column
        && form == that.form
        && Double.compare(padding, that.padding) == 0
        && padToMax == that.padToMax
        && truncate == that.truncate;
  }

  @Override
  public int hashCode() {
    return Objects.hash(column, form, padding, padToMax, truncate);
  }

  @Override
  public String toString() {
    return "VariableLength[column=%d, form=%s, padding=%s, padToMax=%b, truncate=%b]"
        .formatted(column, form, padding, padToMax, truncate);
  }
}
