// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import io.torchfeed.examples.common.CommandException;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * The images and labels of one half of MNIST, as mapped files that are copied to tensors in parts.
 *
 * @param images unsigned bytes [N, 28, 28]
 * @param labels unsigned bytes [N]
 */
record MnistTensors(Idx images, Idx labels) {
  static final int SIDE = 28;
  static final double MEAN = 0.1307;
  static final double DEVIATION = 0.3081;

  MnistTensors {
    if (images.dimensions().size() != 3
        || images.dimensions().get(1) != SIDE
        || images.dimensions().get(2) != SIDE) {
      throw new CommandException("MNIST's images must be 28 x 28, got " + images.dimensions());
    }
    if (!labels.dimensions().equals(images.dimensions().subList(0, 1))) {
      throw new CommandException(
          "There must be one label per image, got "
              + labels.dimensions()
              + " labels for "
              + images.dimensions()
              + " images");
    }
  }

  static MnistTensors open(Path folder, MnistFile images, MnistFile labels) {
    try {
      return new MnistTensors(Idx.map(images.in(folder)), Idx.map(labels.in(folder)));
    } catch (IOException e) {
      throw new CommandException(
          "Cannot read MNIST in " + folder + ": " + MnistFolder.describe(e), e);
    }
  }

  int size() {
    return images.dimensions().get(0);
  }

  /** Returns normalized images, float32 [count, 1, 28, 28], owned by the caller or its scope. */
  @SuppressWarnings("try") // a scope works by being open
  Tensor images(int from, int count) {
    ByteBuffer pixels =
        images
            .values()
            .duplicate()
            .position(from * SIDE * SIDE)
            .limit((from + count) * SIDE * SIDE);
    Tensor tensor = copy(pixels.slice(), ScalarType.Float, count, 1, SIDE, SIDE);
    try (PointerScope scope = new PointerScope()) {
      tensor.mul_(new Scalar(1 / (255 * DEVIATION))).sub_(new Scalar(MEAN / DEVIATION));
    }
    return tensor;
  }

  /** Returns labels, int64 [count]; the caller or its scope owns the tensor. */
  Tensor labels(int from, int count) {
    ByteBuffer values = labels.values().duplicate().position(from).limit(from + count);
    return copy(values.slice(), ScalarType.Long, count);
  }

  private static Tensor copy(ByteBuffer values, ScalarType type, long... shape) {
    try (BytePointer bytes = new BytePointer(values);
        TensorOptions options = new TensorOptions(ScalarType.Byte);
        Tensor view = torch.from_blob(bytes, shape, options)) {
      return view.to(type);
    }
  }
}
