// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.metric;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.internal.sums.ExactSum;
import java.math.BigDecimal;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.stream.DoubleStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class ExactSumTest {
  private static double[] hostile(int seed) {
    Random random = new Random(seed);
    return DoubleStream.generate(
            () -> {
              double value = Double.longBitsToDouble(random.nextLong());
              return switch (random.nextInt(4)) {
                case 0 -> random.nextGaussian();
                case 1 -> random.nextInt(5) * Double.MIN_VALUE;
                case 2 -> Double.isFinite(value) ? value / 4096 : 1e16;
                default -> random.nextBoolean() ? 1e16 : -1e16;
              };
            })
        .limit(1000)
        .toArray();
  }

  private static ExactSum sumOf(double... values) {
    ExactSum sum = new ExactSum();
    for (double value : values) {
      sum.add(value);
    }
    return sum;
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3, 4, 5})
  void theSumIsRoundedOnce(int seed) {
    double[] values = hostile(seed);
    BigDecimal slow =
        Arrays.stream(values).mapToObj(BigDecimal::new).reduce(BigDecimal.ZERO, BigDecimal::add);
    assertThat(sumOf(values).value()).isEqualTo(slow.doubleValue());
    double[] negated = Arrays.stream(values).map(value -> -value).toArray();
    assertThat(sumOf(negated).value()).isEqualTo(-slow.doubleValue());
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 3})
  void theOrderAndTheDivisionHaveNoEffect(int seed) {
    double[] values = hostile(seed);
    byte[] bytes = bytes(sumOf(values));
    List<Double> shuffled = new ArrayList<>(Arrays.stream(values).boxed().toList());
    Collections.shuffle(shuffled, new Random(seed));
    ExactSum all = new ExactSum();
    for (int from = 0; from < 1000; from += 250) {
      double[] part =
          shuffled.subList(from, from + 250).stream().mapToDouble(Double::doubleValue).toArray();
      all.add(sumOf(part));
    }
    assertThat(bytes(all)).isEqualTo(bytes);
  }

  @Test
  void whatIsReadIsWhatWasWritten() {
    ExactSum sum = sumOf(-1e300, Double.MIN_VALUE, 3, Double.NaN);
    ExactSum read = new ExactSum();
    CountBytes.Reader in = new CountBytes.Reader(bytes(sum));
    read.read(in::count, in::next, in::malformed);
    in.end();
    assertThat(bytes(read)).isEqualTo(bytes(sum));
    assertThat(read.value()).isNaN();
  }

  @Test
  void bytesThatEndEarlyAreRefused() {
    byte[] bytes = bytes(sumOf(-2));
    for (int length = 0; length < bytes.length; length++) {
      CountBytes.Reader in = new CountBytes.Reader(Arrays.copyOf(bytes, length));
      assertThatIllegalArgumentException()
          .isThrownBy(() -> new ExactSum().read(in::count, in::next, in::malformed))
          .withMessageContaining("malformed");
    }
  }

  @Test
  void extremesCancelAndOverflowOnlyAtTheEnd() {
    double max = Double.MAX_VALUE;
    assertThat(sumOf(max, max, -max, -max, Double.MIN_VALUE).value()).isEqualTo(Double.MIN_VALUE);
    assertThat(sumOf(max, max).value()).isInfinite();
    assertThat(sumOf(1e16, 1, -1e16).value()).isEqualTo(1);
    assertThat(sumOf().value()).isZero();
  }

  @Test
  void infinitiesDecideAsInAPlainSum() {
    double infinity = Double.POSITIVE_INFINITY;
    assertThat(sumOf(1, infinity).value()).isEqualTo(infinity);
    assertThat(sumOf(1, -infinity).value()).isEqualTo(-infinity);
    assertThat(sumOf(infinity, -infinity).value()).isNaN();
    assertThat(sumOf(Double.NaN, infinity).value()).isNaN();
  }

  @Test
  void aProductLosesNothing() {
    double tenth = 0.1;
    ExactSum sum = new ExactSum();
    sum.addProduct(tenth, tenth);
    sum.add(-tenth * tenth);
    BigDecimal lost = new BigDecimal(tenth).pow(2).subtract(new BigDecimal(tenth * tenth));
    assertThat(sum.value()).isNotZero().isEqualTo(lost.doubleValue());
  }

  /** As many carries as {@code 2^31} samples on each of {@code 2^31} ranks have. */
  @Test
  void aSumIsDoubledSixtyTimes() {
    ExactSum sum = sumOf(-3);
    for (int i = 0; i < 60; i++) {
      ExactSum same = new ExactSum();
      same.add(sum);
      sum.add(same);
    }
    assertThat(sum.value()).isEqualTo(-3 * Math.pow(2, 60));
  }

  private static byte[] bytes(ExactSum sum) {
    CountBytes.Writer out = new CountBytes.Writer();
    sum.write(out::put);
    return out.bytes();
  }
}
