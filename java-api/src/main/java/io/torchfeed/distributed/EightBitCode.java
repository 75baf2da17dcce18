// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.T_TensorTensor_T;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * Bagua's code of float32 values as levels between their minimum and their maximum, one byte each.
 * A message is the minimum and the maximum, padded to 32 bytes, and the codes.
 *
 * <p>Unlike Bagua's, a level below 0 is 0, not 255, and values of which one is not finite are all
 * decoded as NaN.
 *
 * <p>Source: Bagua, {@code MinMaxUInt8}.
 */
final class EightBitCode {
  private static final int HEADER_BYTES = 32;
  private static final float LEVELS = 255;
  private static final float TINY = 1e-7f;

  private EightBitCode() {}

  /** Returns a message that can hold the code of {@code elements} values. */
  static Tensor message(long elements) {
    return torch.zeros(new long[] {HEADER_BYTES + elements}, new TensorOptions(ScalarType.Byte));
  }

  /** Writes the code of {@code values}, float32 [n] with n at least 1, into a message. */
  static void encode(Tensor values, Tensor message) {
    try (PointerScope scope = new PointerScope()) {
      T_TensorTensor_T extremes = torch.aminmax(values);
      float min = extremes.get0().item_float();
      float max = extremes.get1().item_float();
      if (!Float.isFinite(min) || !Float.isFinite(max)) {
        min = Float.NaN;
        max = Float.NaN;
      }
      extremes(message).copy_(Tensor.create(new float[] {min, max}, 2));
      Scale scale = new Scale(min, max);
      Tensor levels = values.mul(new Scalar(scale.factor)).round_();
      levels.clamp_max_(new Scalar(scale.highest)).sub_(new Scalar(scale.lowest));
      codes(message).copy_(levels.clamp_min_(new Scalar(0f)).nan_to_num_().to(ScalarType.Byte));
    }
  }

  /** Writes the values of a message into {@code values}, float32 [n]. */
  static void decode(Tensor message, Tensor values) {
    try (PointerScope scope = new PointerScope()) {
      float[] header = new float[2];
      extremes(message).data_ptr_float().get(header);
      Scale scale = new Scale(header[0], header[1]);
      values.copy_(codes(message)).add_(new Scalar(scale.lowest)).div_(new Scalar(scale.factor));
    }
  }

  private static Tensor extremes(Tensor message) {
    return message.narrow(0, 0, 2L * Float.BYTES).view(ScalarType.Float);
  }

  private static Tensor codes(Tensor message) {
    return message.narrow(0, HEADER_BYTES, message.numel() - HEADER_BYTES);
  }

  /** The levels of a range of values; computed in float32, as both ends of a message do. */
  private static final class Scale {
    final float factor;
    final float highest;
    final float lowest;

    Scale(float min, float max) {
      factor = (float) ((double) LEVELS / (double) ((max - min) + TINY));
      highest = (float) Math.rint(max * factor);
      lowest = highest - LEVELS;
    }
  }
}
