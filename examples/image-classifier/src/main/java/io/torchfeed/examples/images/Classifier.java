// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.images;

import java.nio.file.Path;
import java.util.List;
import org.bytedeco.pytorch.Tensor;

/** A trained net with the size of its input and its classes, from one file. */
interface Classifier extends AutoCloseable {
  /**
   * Reads a file that {@code train} or {@code peers/train.py} has written; the caller closes it.
   *
   * @throws IllegalArgumentException if the file is missing, or is none of these programs
   */
  static Classifier load(Path file) {
    return file.toString().endsWith(".pt2") ? CompiledNet.load(file) : TrainedNet.load(file);
  }

  /** Returns the height and width of its input. */
  int size();

  /** Returns the names of its outputs. */
  List<String> classes();

  /**
   * Returns logits, as in evaluation.
   *
   * @param images float32 [B, 3, size, size]
   * @return float32 [B, classes]; the caller's pointer scope owns it
   */
  Tensor logits(Tensor images);

  @Override
  void close();
}
