// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.stream.Stream;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.Arguments;
import org.junit.jupiter.params.provider.MethodSource;

/** Tests against values that Bagua's rule gives in NumPy, in float32. */
class EightBitCodeTest {
  static Stream<Arguments> values() {
    return Stream.of(
        Arguments.of(
            new float[] {-1, -0.5f, 0, 0.25f, 1, 2},
            new int[] {0, 43, 85, 106, 170, 255},
            new float[] {-1, -0.49411765f, 0, 0.24705882f, 1, 2}),
        Arguments.of(
            new float[] {0.1f, 0.2f, 0.3f, 0.4f},
            new int[] {0, 85, 170, 255},
            new float[] {0.10000004f, 0.20000008f, 0.3000001f, 0.40000015f}),
        Arguments.of(new float[4], new int[] {255, 255, 255, 255}, new float[4]),
        Arguments.of(
            new float[] {0.5f, 0.5f, 0.5f, 0.5f},
            new int[4],
            new float[] {0.4999999f, 0.4999999f, 0.4999999f, 0.4999999f}),
        Arguments.of(
            new float[] {1e-9f, 2e-9f, 3e-9f},
            new int[] {249, 252, 255},
            new float[] {8e-10f, 2e-9f, 3.2e-9f}));
  }

  @ParameterizedTest
  @MethodSource("values")
  void valuesHaveTheCodesOfBagua(float[] values, int[] codes, float[] decoded) {
    try (PointerScope scope = new PointerScope()) {
      Tensor message = EightBitCode.message(values.length);
      EightBitCode.encode(Tensor.create(values, values.length), message);
      byte[] bytes = new byte[values.length];
      message.narrow(0, 32, values.length).data_ptr_byte().get(bytes);
      int[] unsigned = new int[bytes.length];
      Arrays.setAll(unsigned, i -> bytes[i] & 0xff);
      assertThat(unsigned).isEqualTo(codes);
      assertThat(decoded(message, values.length)).isEqualTo(decoded);
    }
  }

  private static float[] decoded(Tensor message, int elements) {
    Tensor values = Tensor.create(new float[elements], elements);
    EightBitCode.decode(message, values);
    float[] decoded = new float[elements];
    values.data_ptr_float().get(decoded);
    return decoded;
  }

  @Test
  void aLevelBelowZeroIsZero() {
    try (PointerScope scope = new PointerScope()) {
      Tensor message = EightBitCode.message(2);
      EightBitCode.encode(Tensor.create(new float[] {2.0078125f, 5.9921875f}, 2), message);
      assertThat(message.narrow(0, 32, 1).item_byte()).isZero();
      assertThat(decoded(message, 2)[0]).isLessThan(2.1f);
    }
  }

  @ParameterizedTest
  @MethodSource("notFinite")
  void valuesThatAreNotFiniteMakeAllNaN(float value) {
    try (PointerScope scope = new PointerScope()) {
      Tensor message = EightBitCode.message(3);
      EightBitCode.encode(Tensor.create(new float[] {1, value, 3}, 3), message);
      assertThat(decoded(message, 3)).containsOnly(Float.NaN);
    }
  }

  static Stream<Float> notFinite() {
    return Stream.of(Float.NaN, Float.POSITIVE_INFINITY, Float.NEGATIVE_INFINITY);
  }
}
