// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.internal;

import static org.assertj.core.api.Assertions.assertThat;

import java.math.BigInteger;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of the generator's stream against published numbers. */
class Mt19937Test {
  @ParameterizedTest
  @CsvSource({
    "0, 2357136044, 2546248239, 3071714933",
    "42, 1608637542, 3421126067, 4083286876",
    "4294967296, 2357136044, 2546248239, 3071714933"
  })
  void outputsMatchTheStandard(long seed, long first, long second, long third) {
    assertNext(new Mt19937(seed), first, second, third);
  }

  @Test
  void theTenThousandthOutputMatchesTheStandard() {
    Mt19937 generator = new Mt19937(5489);
    assertNext(generator, 3499211612L);
    generator.skip(9998);
    assertNext(generator, 4123659995L);
  }

  @Test
  void onlyTheLow32BitsOfTheSeedMatter() {
    assertThat(new Mt19937(-1).nextInt()).isEqualTo(new Mt19937(4294967295L).nextInt());
  }

  @Test
  void draws64BitsLikeTorch() {
    assertThat(new Mt19937(42).nextLong()).isEqualTo(6909045637428952499L);
    assertThat(new Mt19937(0).nextDouble()).isEqualTo(0.9700530018065531);
  }

  @ParameterizedTest
  @ValueSource(ints = {24, 40, 63, 128})
  void twoJumpsEqualOneJumpOfTheirSum(int logarithm) {
    BigInteger jump = BigInteger.ONE.shiftLeft(logarithm);
    Mt19937 once = new Mt19937(42);
    Mt19937 twice = new Mt19937(42);
    once.skip(jump.add(jump).add(BigInteger.TEN));
    twice.skip(10);
    twice.skip(jump);
    twice.skip(jump);
    assertThat(once.nextLong()).isEqualTo(twice.nextLong());
  }

  @Test
  void theStreamRepeatsAfterItsPeriod() {
    Mt19937 generator = new Mt19937(42);
    generator.skip(BigInteger.ONE.shiftLeft(19_937).subtract(BigInteger.ONE));
    assertNext(generator, 1608637542, 3421126067L, 4083286876L);
  }

  @ParameterizedTest
  @ValueSource(longs = {0, 1, 623, 624, 625, (1 << 24) - 1, 1 << 24, (1 << 24) + 1, 20_000_003})
  void longSkipsEqualSingleSteps(long outputs) {
    Mt19937 steps = new Mt19937(3);
    Mt19937 jump = new Mt19937(3);
    for (int read : new int[] {0, 7, 617}) {
      steps.skip(read + outputs);
      jump.skip(read);
      jump.skip(BigInteger.valueOf(outputs));
      assertThat(jump.nextLong()).as("after reading %d", read).isEqualTo(steps.nextLong());
    }
  }

  private static void assertNext(Mt19937 generator, long... outputs) {
    for (long output : outputs) {
      assertThat(generator.nextUnsigned()).isEqualTo(output);
    }
  }
}
