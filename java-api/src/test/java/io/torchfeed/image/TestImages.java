// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.image;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.LongStream;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** Batches of images, plans for them, and the comparison of their results. */
final class TestImages {
  static final int HEIGHT = 23;
  static final int WIDTH = 31;
  private static final int BYTES = 3 * HEIGHT * WIDTH;

  /** The difference that another order of sums, or a fused operation of a GPU, may make. */
  static final float TOLERANCE = 1e-5f;

  static final float[] MEAN = ImagePlan.imagenetMean();
  static final float[] STD = ImagePlan.imagenetStd();
  static final ImageTensorPlan PLAIN = ImageTensorPlan.normalize(MEAN, STD);
  static final ImageTensorPlan ALL = PLAIN.horizontalFlip(0.5).colorJitter(0.4, 0.4, 0.4);

  private TestImages() {}

  /** Returns the first images of golden/image_tensors.py. */
  static Tensor images(int count) {
    byte[] bytes = new byte[count * BYTES];
    for (int i = 0; i < bytes.length; i++) {
      bytes[i] = (byte) ((i * 2654435761L & 0xffffffffL) >> 24);
    }
    return tensor(bytes, count, 3, HEIGHT, WIDTH);
  }

  /** Not by {@code create} of bytes, whose tensor is in no scope with the presets of 2.13. */
  static Tensor tensor(byte[] bytes, long... shape) {
    int[] values = new int[bytes.length];
    Arrays.setAll(values, i -> Byte.toUnsignedInt(bytes[i]));
    return Tensor.create(values, shape).to(ScalarType.Byte);
  }

  static float[] floats(Tensor tensor) {
    Tensor dense = tensor.cpu().to(ScalarType.Float).contiguous();
    float[] numbers = new float[(int) dense.numel()];
    dense.data_ptr_float().get(numbers);
    return numbers;
  }

  static long[] range(int count) {
    return LongStream.range(0, count).toArray();
  }

  static float difference(Tensor first, Tensor second) {
    float[] one = floats(first);
    float[] other = floats(second);
    assertThat(one).hasSameSizeAs(other);
    float most = 0;
    for (int i = 0; i < one.length; i++) {
      most = Math.max(most, Math.abs(one[i] - other[i]));
    }
    return most;
  }
}
