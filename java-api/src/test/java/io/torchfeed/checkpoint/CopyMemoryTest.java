// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatExceptionOfType;

import io.torchfeed.bindings.NativeException;
import io.torchfeed.checkpoint.SaveTask.CopyMemory;
import io.torchfeed.testing.LeakCheck;
import java.util.Map;
import org.bytedeco.javacpp.Pointer;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Tests of copies whose memory is used again. */
@ExtendWith(LeakCheck.class)
class CopyMemoryTest {
  private static final String NAME = "name";

  /** Copies one tensor, checks the copy, and returns its address. */
  private static long copy(CopyMemory memory, Tensor tensor, int threads) {
    Map<String, Tensor> copies = memory.copy(Map.of(NAME, tensor), threads);
    try (Tensor copy = requireNonNull(copies.get(NAME));
        Pointer address = copy.data_ptr()) {
      assertThat(copies).hasSize(1);
      assertThat(copy.equal(tensor)).isTrue();
      assertThat(copy.requires_grad()).isFalse();
      assertThat(copy.is_alias_of(tensor)).isFalse();
      return address == null ? 0 : address.address(); // of no elements
    }
  }

  @ParameterizedTest
  @ValueSource(ints = {1, 2, 7})
  void tensorsOfSeveralPiecesAreCopiedByAnyNumberOfThreads(int threads) {
    try (CopyMemory memory = new CopyMemory();
        Tensor tensor = torch.randn(3 * (4L << 20) + 5)) {
      copy(memory, tensor, threads);
    }
  }

  @Test
  void theMemoryIsUsedAgain() {
    try (CopyMemory memory = new CopyMemory();
        Tensor one = torch.randn(1 << 20);
        Tensor two = torch.randn(1 << 20)) {
      assertThat(copy(memory, two, 2)).isEqualTo(copy(memory, one, 2));
    }
  }

  @Test
  void anotherShapeOrDtypeHasMemoryOfItsOwn() {
    try (CopyMemory memory = new CopyMemory();
        Tensor vector = torch.randn(6);
        Tensor matrix = torch.randn(2, 3);
        Tensor doubles = matrix.to(torch.ScalarType.Double);
        Tensor none = torch.randn(0, 3)) {
      copy(memory, vector, 1);
      copy(memory, matrix, 1);
      copy(memory, doubles, 1);
      copy(memory, none, 2);
      copy(memory, vector, 1);
      assertThat(memory.copy(Map.of(), 2)).isEmpty();
    }
  }

  @Test
  void tooLittleMemoryIsAnErrorAfterWhichItIsUsable() {
    try (CopyMemory memory = new CopyMemory();
        Tensor one = torch.ones(1);
        Tensor huge = one.expand(1L << 48)) {
      copy(memory, one, 1);
      assertThatExceptionOfType(NativeException.class)
          .isThrownBy(() -> memory.copy(Map.of(NAME, huge), 1))
          .withMessageContaining("memory");
      copy(memory, one, 1);
      memory.close();
      copy(memory, one, 1);
    }
  }
}
