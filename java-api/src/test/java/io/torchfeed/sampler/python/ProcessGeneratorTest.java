// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.sampler.torch.RandomSampler;
import io.torchfeed.testing.Cursors;
import java.util.Arrays;
import org.bytedeco.javacpp.BytePointer;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;

/** Tests of the code in the Javadoc of {@link PythonGenerator}, on the process-wide generator. */
class ProcessGeneratorTest {
  private byte[] before = {};

  @BeforeEach
  void keepTheGenerator() {
    before = state();
  }

  @AfterEach
  void restoreTheGenerator() {
    setState(before);
  }

  private static byte[] state() {
    byte[] state = new byte[5056];
    try (PointerScope scope = new PointerScope()) {
      new BytePointer(torch.getDefaultCPUGenerator().get_state().data_ptr()).get(state);
    }
    return state;
  }

  private static void setState(byte[] state) {
    try (PointerScope scope = new PointerScope()) {
      Tensor bytes = torch.getDefaultCPUGenerator().get_state();
      new BytePointer(bytes.data_ptr()).put(state);
      torch.getDefaultCPUGenerator().set_state(bytes);
    }
  }

  private static long drawnSeed() {
    try (PointerScope scope = new PointerScope()) {
      return torch.tensor(0L).random_().item_long();
    }
  }

  private static long[] randperm(int n) {
    long[] permutation = new long[n];
    try (PointerScope scope = new PointerScope()) {
      torch.randperm(n, new TensorOptions(torch.ScalarType.Long)).data_ptr_long().get(permutation);
    }
    return permutation;
  }

  @Test
  void aCopyOfTheStateContinuesWithTheSameNumbers() {
    torch.manual_seed(42);
    drawnSeed();
    PythonGenerator copy = PythonGenerator.fromState(state());
    assertThat(copy.getState()).isEqualTo(state());
    assertThat(copy.initialSeed()).isEqualTo(42);
    assertThat(Arrays.stream(copy.randperm(1000)).asLongStream()).containsExactly(boxed(1000));
    assertThat(copy.random(1)).containsExactly(drawnSeed());
    assertThat(copy.getState()).isEqualTo(state());
  }

  private static Long[] boxed(int n) {
    return Arrays.stream(randperm(n)).boxed().toArray(Long[]::new);
  }

  @Test
  void theStateOfACopyCanBeRestored() {
    PythonGenerator generator = PythonGenerator.of(7);
    generator.rand(700);
    setState(generator.getState());
    assertThat(state()).isEqualTo(generator.getState());
    assertThat(drawnSeed()).isEqualTo(generator.random(1)[0]);
  }

  /** Python's base seed, sampler seed and order after torch.manual_seed(0). */
  @Test
  void aDrawnSeedEqualsThatOfThePythonSampler() {
    torch.manual_seed(0);
    assertThat(drawnSeed()).isEqualTo(900450186894289455L);
    long seed = drawnSeed();
    assertThat(seed).isEqualTo(3969543146641149120L);
    assertThat(Cursors.indices(PythonRandomSampler.of(10, seed), 0))
        .containsExactly(6, 7, 1, 4, 2, 0, 9, 8, 3, 5)
        .isEqualTo(
            Cursors.indices(
                PythonRandomSampler.of(10, 0).withGeneratorUse(PythonGenerator.Use.PROCESS_LOADER),
                0));
  }

  @Test
  void plansDoNotDrawFromTheProcessGenerator() {
    torch.manual_seed(3);
    byte[] seeded = state();
    for (PythonGenerator.Use use : PythonGenerator.Use.values()) {
      Cursors.indices(PythonRandomSampler.of(10, 42).withGeneratorUse(use), 1);
    }
    Cursors.indices(RandomSampler.of(10, 42), 1);
    assertThat(state()).isEqualTo(seeded);
  }
}
