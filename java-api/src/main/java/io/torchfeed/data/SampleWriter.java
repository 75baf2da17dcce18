// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static java.util.Objects.requireNonNull;

import io.torchfeed.image.ImagePlan;
import java.nio.file.Path;
import java.util.random.RandomGenerator;

/**
 * A writer of one sample, column by column, into the memory of its batch.
 *
 * <p>Each put continues where the previous one into the same column ended; at the end of {@link
 * Dataset#read} every column must be full, except columns of {@link VariableLength}. A writer is
 * valid only during that call and in its thread; a use from another thread, or after the call,
 * throws {@link IllegalStateException} and writes nothing. Workers reuse their writer, so one that
 * is kept writes to the next sample if the same thread uses it there.
 */
public interface SampleWriter {
  /**
   * Returns the index of the sample to be written.
   *
   * @return its dataset index
   * @throws IllegalStateException after the sample, or in another thread
   */
  long index();

  /**
   * Returns the epoch of the sample.
   *
   * @return the number of the epoch, at least 0
   * @throws IllegalStateException after the sample, or in another thread
   */
  long epoch();

  /**
   * Returns a source of random numbers for this sample, for example to augment it: the same for the
   * same seed of the loader, epoch and index, regardless of the workers.
   *
   * @return a generator that is valid only in this call and thread
   * @throws IllegalStateException after the sample, or in another thread; the generator throws it
   *     then, too
   */
  RandomGenerator random();

  /**
   * Writes the next elements of a column of dtype bool, uint8, int8 or, as its bits, a float8 type.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, byte[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype bool, uint8, int8 or, as its bits, a float8 type.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, byte[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype bool, uint8, int8 or, as its bits, a float8 type.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putByte(int column, byte value);

  /**
   * Writes the next elements of a column of dtype int16, uint16 or, as its bits, float16 or
   * bfloat16.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, short[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int16, uint16 or, as its bits, float16 or
   * bfloat16.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, short[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype int16, uint16 or, as its bits, float16 or
   * bfloat16.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putShort(int column, short value);

  /**
   * Writes the next elements of a column of dtype int32 or uint32.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, int[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int32 or uint32.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, int[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype int32 or uint32.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putInt(int column, int value);

  /**
   * Writes the next elements of a column of dtype int64 or uint64.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, long[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype int64 or uint64.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, long[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype int64 or uint64.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putLong(int column, long value);

  /**
   * Writes the next elements of a column of dtype float32.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, float[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype float32.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, float[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype float32.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putFloat(int column, float value);

  /**
   * Writes the next elements of a column of dtype float64.
   *
   * @param column the number of the column
   * @param values the elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   */
  default void put(int column, double[] values) {
    requireNonNull(values, "values");
    put(column, values, 0, values.length);
  }

  /**
   * Writes the next elements of a column of dtype float64.
   *
   * @param column the number of the column
   * @param values an array that holds the elements, starting at {@code from}
   * @param from the first element
   * @param count the number of elements
   * @throws IllegalArgumentException if the column has another dtype, or the sample has fewer
   *     elements left
   * @throws IndexOutOfBoundsException if the range does not fit the array
   */
  void put(int column, double[] values, int from, int count);

  /**
   * Writes the next element of a column of dtype float64.
   *
   * @param column the number of the column
   * @param value the element
   * @throws IllegalArgumentException if the column has another dtype, or is full
   */
  void putDouble(int column, double value);

  /**
   * Decodes an image in native code and writes it as all elements of a column, in one call. Random
   * steps of the plan draw from the numbers that a new {@link #random} of this sample begins with.
   *
   * @param column the number of the column, whose rows are {@link ImagePlan#row}
   * @param encoded the content of the image file, of a kind that {@link ImagePlan} lists
   * @param plan the size and form of the result
   * @throws IndexOutOfBoundsException if there is no such column
   * @throws IllegalArgumentException if the column has other rows, something was written into it,
   *     or its length is variable
   * @throws io.torchfeed.image.ImageException if the bytes are not an image that can be decoded
   */
  void putImage(int column, byte[] encoded, ImagePlan plan);

  /**
   * Reads and decodes an image file, as {@link #putImage(int, byte[], ImagePlan)} does with its
   * content. Native code reads a file of the default file system, which takes less time than an
   * array of its bytes.
   *
   * @param column the number of the column, whose rows are {@link ImagePlan#row}
   * @param file a regular file of at most 2^30 bytes, of a kind that {@link ImagePlan} lists
   * @param plan the size and form of the result
   * @throws IndexOutOfBoundsException if there is no such column
   * @throws IllegalArgumentException if the column has other rows, something was written into it,
   *     or its length is variable
   * @throws io.torchfeed.image.ImageException if the file cannot be read or decoded; the message
   *     names it
   */
  void putImage(int column, Path file, ImagePlan plan);
}
