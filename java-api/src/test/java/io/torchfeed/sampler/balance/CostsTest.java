// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.balance;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.stream.LongStream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the costs of samples. */
class CostsTest {
  private static final long MAX_SIZE = (1L << 42) - 1;

  @Test
  void arraysAreCopied() {
    long[] source = {3, 0, MAX_SIZE, 1};
    Costs costs = Costs.of(source);
    source[0] = 9;
    assertThat(values(costs)).containsExactly(3, 0, MAX_SIZE, 1);
  }

  @Test
  void functionsAreCalledOnceForEachIndex() {
    long[] calls = new long[1];
    Costs costs =
        Costs.computed(
            5,
            index -> {
              calls[0]++;
              return 10 * index;
            });
    assertThat(values(costs)).containsExactly(0, 10, 20, 30, 40);
    assertThat(calls[0]).isEqualTo(5);
  }

  @Test
  void fractionsAreScaledAndRounded() {
    Costs fromFloats = Costs.ofFloats(new float[] {0.5f, 1.26f, 0f, -0f}, 10);
    assertThat(fromFloats).isEqualTo(Costs.of(5, 13, 0, 0));
    Costs fromDoubles = Costs.ofDoubles(new double[] {1e-3, 2.0004}, 1000);
    assertThat(fromDoubles).isEqualTo(Costs.of(1, 2000));
  }

  @Test
  void theDigestFoldsAllCosts() {
    assertThat(Costs.of(1, 2, 3).digest()).isEqualTo("d0734750fde362b3");
    assertThat(Costs.of().digest()).isEqualTo("0000000000000000");
    assertThat(Costs.of(1, 2, 4)).isNotEqualTo(Costs.of(1, 2, 3));
    assertThat(Costs.of(1, 2, 0).digest()).isNotEqualTo(Costs.of(1, 2).digest());
  }

  @Test
  void equalCostsAreEqual() {
    assertThat(Costs.of(7, MAX_SIZE)).isEqualTo(Costs.of(7, MAX_SIZE));
    assertThat(Costs.of(7, MAX_SIZE)).hasSameHashCodeAs(Costs.of(7, MAX_SIZE));
    assertThat(Costs.of(7, 8)).hasToString("Costs[size=2, digest=" + Costs.of(7, 8).digest() + "]");
  }

  @Test
  void thereMayBeNoCosts() {
    assertThat(Costs.of().size()).isZero();
    assertThat(Costs.computed(0, index -> 1)).isEqualTo(Costs.of());
  }

  @ParameterizedTest
  @ValueSource(longs = {-1, Long.MIN_VALUE, MAX_SIZE + 1, Long.MAX_VALUE})
  void costsOutOfRangeAreRefused(long cost) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.of(1, cost))
        .withMessage("a cost must be in [0, 2^42), got " + cost + " at index 1");
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, -1, -Double.MIN_VALUE, Double.POSITIVE_INFINITY})
  void invalidFractionsAreRefused(double cost) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.ofDoubles(new double[] {cost}, 1))
        .withMessageContaining("finite, got " + cost);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.ofFloats(new float[] {Float.NaN}, 1))
        .withMessageContaining("NaN");
  }

  @ParameterizedTest
  @ValueSource(doubles = {Double.NaN, 0, -1, Double.POSITIVE_INFINITY})
  void scalesThatAreNotPositiveAreRefused(double scale) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.ofDoubles(new double[] {1}, scale))
        .withMessage("scale must be positive and finite, got " + scale);
  }

  @Test
  void productsThatAreTooLargeAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.ofDoubles(new double[] {1e300}, 1e300))
        .withMessageContaining("choose a smaller scale");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.ofDoubles(new double[] {MAX_SIZE + 0.5}, 1))
        .withMessageContaining("2^42");
  }

  @Test
  void sizesBeyondAnArrayAreRefused() {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.computed(-1, index -> 1))
        .withMessage("size must be in [0, 2147483639], got -1");
    assertThatIllegalArgumentException()
        .isThrownBy(() -> Costs.computed(1L << 31, index -> 1))
        .withMessageContaining("got 2147483648");
  }

  @Test
  void sizesThatTheHeapCannotHoldAreRefused() {
    long most = Integer.MAX_VALUE - 8;
    assertThatIllegalStateException()
        .isThrownBy(() -> Costs.computed(most, index -> 1))
        .withMessageContainingAll("2147483639 costs", "raise -Xmx");
    long half = Runtime.getRuntime().maxMemory() / 8; // fits the heap as int[], but not as long[]
    assertThatIllegalStateException()
        .isThrownBy(() -> Costs.computed(half, index -> 1L << 41))
        .withMessageContainingAll(half + " costs", "raise -Xmx");
  }

  /** An OutOfMemoryError in the function is unrelated to the array. */
  @Test
  void errorsOfTheFunctionPropagateUnchanged() {
    OutOfMemoryError own = new OutOfMemoryError("own");
    assertThatThrownBy(
            () ->
                Costs.computed(
                    1,
                    index -> {
                      throw own;
                    }))
        .isSameAs(own);
  }

  @Test
  void indicesOutsideTheDatasetAreRefused() {
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> Costs.of(1).at(1));
    assertThatExceptionOfType(IndexOutOfBoundsException.class).isThrownBy(() -> Costs.of(1).at(-1));
  }

  private static long[] values(Costs costs) {
    return LongStream.range(0, costs.size()).map(costs::at).toArray();
  }
}
