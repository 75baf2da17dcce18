// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of states and arguments; {@link PythonGeneratorGoldenTest} tests the numbers. */
class PythonGeneratorTest {
  private static final int MAX_SIZE = 2_147_483_639;

  @Test
  void aGeneratorRestoredFromAStateIsIndependent() {
    PythonGenerator generator = PythonGenerator.of(42);
    generator.rand(1000);
    byte[] state = generator.getState();
    PythonGenerator copy = PythonGenerator.fromState(state);
    float[] next = generator.rand(1000);
    assertThat(copy.rand(1000)).isEqualTo(next);
    assertThat(PythonGenerator.fromState(state).rand(1000)).isEqualTo(next);
    assertThat(copy).hasToString("PythonGenerator[initialSeed=42]");
  }

  @ParameterizedTest
  @ValueSource(ints = {0, 624, 5055, 5057})
  void statesOfTheWrongLengthAreRefused(int length) {
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PythonGenerator.fromState(new byte[length]))
        .withMessageContaining("5056 bytes")
        .withMessageEndingWith("got " + length);
  }

  @ParameterizedTest
  @CsvSource({
    "0, 1, 0",
    "1, 0, 0",
    "2, 1, 0",
    "625, 1, 0",
    "1, 1, 625",
    "624, 1, 2",
    "-1, 1, 626",
    "1, 1, 4294967296",
    "624, 1, 4294967297",
    "1, 1, -1"
  })
  void damagedStatesAreRefused(int left, int seeded, long next) {
    byte[] state = PythonGenerator.of(42).getState();
    ByteBuffer.wrap(state)
        .order(ByteOrder.LITTLE_ENDIAN)
        .putInt(8, left)
        .putInt(12, seeded)
        .putLong(16, next);
    assertThatIllegalArgumentException()
        .isThrownBy(() -> PythonGenerator.fromState(state))
        .withMessageContaining("Invalid mt19937 state")
        .withMessageContaining("next " + next);
  }

  @Test
  void anEmptyResultDrawsNothing() {
    PythonGenerator generator = PythonGenerator.of(1);
    assertThat(generator.randperm(0)).isEmpty();
    assertThat(generator.randperm(1)).containsExactly(0);
    assertThat(generator.randint(5, 0)).isEmpty();
    assertThat(generator.rand(0)).isEmpty();
    assertThat(generator.getState()).isEqualTo(PythonGenerator.of(1).getState());
  }

  @Test
  void theWeightsOfTheCallerAreNotModified() {
    double[] weights = {1, 2, 3};
    PythonGenerator.of(1).multinomial(weights, 5, true);
    PythonGenerator.of(1).multinomial(weights, 3, false);
    assertThat(weights).containsExactly(1, 2, 3);
  }

  @Test
  void argumentsOutOfRangeAreRefused() {
    PythonGenerator generator = PythonGenerator.of(1);
    assertRefused(() -> generator.randperm(-1), "randperm", "[0, 2147483639]", "got -1");
    assertRefused(() -> generator.rand(MAX_SIZE + 1), "rand", "got 2147483640");
    assertRefused(() -> generator.randint(0, 1), "low 0", "high 0");
    assertRefused(() -> generator.randint(5, 4, 1), "low 5", "high 4");
    assertRefused(
        () -> generator.multinomial(new double[] {1e308, 1e308}, 1, true), "sum", "Infinity");
    assertRefused(() -> generator.multinomial(new double[] {1, 0}, 3, false), "(2)", "got 3");
  }

  @Test
  void aResultThatExceedsTheHeapIsRefused() {
    PythonGenerator generator = PythonGenerator.of(1);
    assertThatIllegalStateException()
        .isThrownBy(() -> generator.random(MAX_SIZE))
        .withMessageContaining("the result of random takes 17179869112 bytes")
        .withMessageContaining("-Xmx");
    assertThat(generator.getState()).isEqualTo(PythonGenerator.of(1).getState());
  }

  private static void assertRefused(Runnable call, String... parts) {
    assertThatIllegalArgumentException()
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.getMessage()).contains(parts));
  }
}
