// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.util.Arrays;

/** A workload to load; the rows of the README. */
enum Row {
  /** MNIST as floats. */
  A("MNIST as float 1x28x28 and a label, batch 256", 60_000, 784, 256, "1,28,28"),
  /** Images in memory. */
  B("3x224x224 uint8 and a label, 616 MB in memory, batch 64", 4096, 150_528, 64, "3,224,224"),
  /** MNIST as bytes, which code turns into floats sample by sample. */
  C("MNIST as uint8, normalized to float sample by sample, batch 256", 60_000, 784, 256, "1,28,28"),
  /** The images of B, in a file. */
  D("3x224x224 uint8 from a file not in the page cache, batch 64", 4096, 150_528, 64, "3,224,224");

  /** MNIST's mean and deviation, after division by 255. */
  static final float MEAN = 0.1307f;

  static final float DEVIATION = 0.3081f;

  /** The number of classes in B, whose labels are the index modulo this. */
  static final int CLASSES = 1000;

  private final String title;
  private final int rows;
  private final int width;
  private final int batch;
  private final String shape;

  Row(String title, int rows, int width, int batch, String shape) {
    this.title = title;
    this.rows = rows;
    this.width = width;
    this.batch = batch;
    this.shape = shape;
  }

  String title() {
    return title;
  }

  /** Returns the number of rows of an epoch. */
  int rows() {
    return rows;
  }

  /** Returns the number of elements of a row. */
  int width() {
    return width;
  }

  int batch() {
    return batch;
  }

  boolean isMnist() {
    return this == A || this == C;
  }

  /** Returns whether the rows are dropped from the page cache before each epoch. */
  boolean isCold() {
    return this == D;
  }

  /** Returns the shape of a batch: the leading sizes, then the shape of a row. */
  long[] shape(long... leading) {
    String[] sizes = shape.split(",", -1);
    long[] all = Arrays.copyOf(leading, leading.length + sizes.length);
    for (int i = 0; i < sizes.length; i++) {
      all[leading.length + i] = Long.parseLong(sizes[i]);
    }
    return all;
  }

  long batches() {
    return (rows + batch - 1L) / batch;
  }
}
