// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.Arrays;
import java.util.Random;
import java.util.function.UnaryOperator;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.bytedeco.pytorch.Scalar;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Named;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/** Places that are counted by the JVM and those that libtorch counts on a device are the same. */
class ClassScoresTest {
  private static final int ROWS = 700;
  private static final int CLASSES = 2_000; // in two parts

  static Stream<Named<UnaryOperator<Tensor>>> kinds() {
    return Stream.of(
        Named.of("float32", scores -> scores),
        Named.of("float64", scores -> scores.to(torch.ScalarType.Double)),
        Named.of("float16", scores -> scores.to(torch.ScalarType.Half)),
        Named.of("bfloat16", scores -> scores.to(torch.ScalarType.BFloat16)),
        Named.of("int32", scores -> scores.nan_to_num().to(torch.ScalarType.Int)),
        Named.of(
            "int64",
            scores -> scores.nan_to_num().to(torch.ScalarType.Long).add(new Scalar(1L << 60))),
        Named.of("bool", scores -> scores.gt(new Scalar(40))),
        Named.of("columns", scores -> scores.t().contiguous().t()),
        Named.of("a gradient", scores -> scores.clone().requires_grad_(true)),
        Named.of("signs to turn", scores -> scores.neg()._neg_view()));
  }

  /** Equal scores are many, and some are NaN. */
  @ParameterizedTest
  @MethodSource("kinds")
  void placesAreThoseOfTheDevice(UnaryOperator<Tensor> kind) {
    Random random = new Random(5);
    float[] values = new float[ROWS * CLASSES];
    for (int i = 0; i < values.length; i++) {
      values[i] = random.nextInt(4_000) == 0 ? Float.NaN : random.nextInt(80) - 20.5f;
    }
    Tensor output = kind.apply(Tensor.create(values).view(ROWS, CLASSES));
    for (int ignored : new int[] {Integer.MAX_VALUE, 9}) {
      long[] target =
          IntStream.range(0, ROWS)
              .mapToLong(
                  i -> i % ignored == ignored - 1 ? ClassScores.IGNORED : random.nextInt(CLASSES))
              .toArray();
      ClassScores scores = ClassScores.of(output, Tensor.create(target));
      long[] places = scores.places();
      assertThat(places).isEqualTo(scores.placesOnDevice());
      assertThat(Arrays.stream(places).distinct().count()).isGreaterThan(1);
    }
  }
}
