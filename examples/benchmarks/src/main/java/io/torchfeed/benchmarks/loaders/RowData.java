// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks.loaders;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.SplittableRandom;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.jspecify.annotations.Nullable;

/**
 * The rows in files, and as arrays and tensors in memory, each created once. Callers must not
 * modify them.
 */
final class RowData {
  static final String MNIST_IMAGES = "train-images-idx3-ubyte";
  static final String MNIST_LABELS = "train-labels-idx1-ubyte";
  static final String IMAGES = "images.bin";

  private static final int IDX3_HEADER = 16;
  private static final int IDX1_HEADER = 8;

  private final Row row;
  private final Path folder;
  private byte @Nullable [] bytes;
  private float @Nullable [] floats;
  private Object @Nullable [] samples;
  private @Nullable Tensor tensor;

  RowData(Row row, Path folder) {
    this.row = row;
    this.folder = folder;
  }

  Row row() {
    return row;
  }

  Path file() {
    return folder.resolve(row.isMnist() ? MNIST_IMAGES : IMAGES);
  }

  /** Writes the images of B and D, unless they exist. */
  static void writeImages(Path folder) throws IOException {
    Path file = folder.resolve(IMAGES);
    if (Files.exists(file) && Files.size(file) == (long) Row.B.rows() * Row.B.width()) {
      return;
    }
    Files.createDirectories(folder);
    ByteBuffer image = ByteBuffer.allocate(Row.B.width());
    SplittableRandom random = new SplittableRandom(0);
    try (FileChannel channel =
        FileChannel.open(
            file,
            StandardOpenOption.CREATE,
            StandardOpenOption.WRITE,
            StandardOpenOption.TRUNCATE_EXISTING)) {
      for (int i = 0; i < Row.B.rows(); i++) {
        random.nextBytes(image.array());
        channel.write(image.clear());
      }
      channel.force(true); // dirty pages cannot be dropped from the cache
    }
  }

  /** Returns an array for each row: its floats in row A, else its bytes. */
  Object[] samples() throws IOException {
    if (samples == null) {
      Object all = row == Row.A ? floats() : bytes();
      samples = new Object[row.rows()];
      for (int i = 0; i < samples.length; i++) {
        samples[i] = row == Row.A ? new float[row.width()] : new byte[row.width()];
        System.arraycopy(all, i * row.width(), samples[i], 0, row.width());
      }
      floats = null;
      bytes = null;
    }
    return samples;
  }

  /** Returns the bytes of all rows, concatenated. */
  byte[] bytes() throws IOException {
    if (bytes == null) {
      bytes = new byte[Math.multiplyExact(row.rows(), row.width())];
      read(ByteBuffer.wrap(bytes));
    }
    return bytes;
  }

  private void read(ByteBuffer into) throws IOException {
    try (FileChannel channel = FileChannel.open(file(), StandardOpenOption.READ)) {
      channel.position(row.isMnist() ? IDX3_HEADER : 0);
      while (into.hasRemaining()) {
        if (channel.read(into) < 0) {
          throw new IOException(file() + " ends early");
        }
      }
    }
  }

  /** Returns the labels of the rows. */
  long[] labels() throws IOException {
    long[] labels = new long[row.rows()];
    byte[] bytes = row.isMnist() ? Files.readAllBytes(folder.resolve(MNIST_LABELS)) : new byte[0];
    for (int i = 0; i < labels.length; i++) {
      labels[i] = row.isMnist() ? bytes[IDX1_HEADER + i] : i % Row.CLASSES;
    }
    return labels;
  }

  /** Returns the rows of A: bytes divided by 255. */
  float[] floats() throws IOException {
    if (floats == null) {
      byte[] pixels = bytes();
      floats = new float[pixels.length];
      for (int i = 0; i < floats.length; i++) {
        floats[i] = (pixels[i] & 0xFF) / 255f;
      }
    }
    return floats;
  }

  /** Returns the normalized float of each byte value. */
  static float[] normalized() {
    float[] table = new float[256];
    for (int i = 0; i < table.length; i++) {
      table[i] = (i / 255f - Row.MEAN) / Row.DEVIATION;
    }
    return table;
  }

  /** Returns the rows in native memory: floats in A, else bytes. */
  Tensor tensor() throws IOException {
    if (tensor == null) {
      ScalarType type = row == Row.A ? ScalarType.Float : ScalarType.Byte;
      tensor = torch.empty(row.shape(row.rows()), new TensorOptions(type), null);
      if (row == Row.A) {
        tensor.data_ptr_float().put(floats());
      } else {
        tensor.data_ptr_byte().put(bytes());
        bytes = null;
      }
    }
    return tensor;
  }

  /** Returns the labels in native memory. */
  Tensor labelTensor() throws IOException {
    Tensor labels = torch.empty(new long[] {row.rows()}, new TensorOptions(ScalarType.Long), null);
    labels.data_ptr_long().put(labels());
    return labels;
  }
}
