// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.data;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.bytedeco.pytorch.global.torch.ScalarType;
import org.junit.jupiter.api.Test;

/** Tests of the files that {@link Batch.Step#decode} hands to its decoder. */
class PackedFilesTest {
  private static Tensor bytes(int... values) {
    return torch.tensor(values).to(ScalarType.Byte);
  }

  @Test
  void theFilesLieBetweenTheOffsets() {
    try (PointerScope scope = new PointerScope()) {
      assertThat(PackedFiles.of(bytes(1, 2, 255, 4, 5), torch.tensor(0L, 3L, 3L, 5L)))
          .containsExactly(new byte[] {1, 2, -1}, new byte[0], new byte[] {4, 5});
      assertThat(PackedFiles.of(bytes(7), torch.tensor(0L))).isEmpty();
    }
  }

  @Test
  void offsetsOutsideOfTheColumnAreRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor two = bytes(1, 2);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(0L, 3L)))
          .withMessage("offsets must ascend in [0, 2], got 0 followed by 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(2L, 1L)))
          .withMessage("offsets must ascend in [0, 2], got 2 followed by 1");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(two, torch.tensor(-1L, 1L)))
          .withMessage("offsets must ascend in [0, 2], got -1 followed by 1");
    }
  }

  @Test
  void otherColumnsAreRefused() {
    try (PointerScope scope = new PointerScope()) {
      Tensor offsets = torch.tensor(0L, 1L);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(offsets, offsets))
          .withMessageContaining("a packed column of uint8 in host memory and its int64 offsets");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> PackedFiles.of(bytes(1), bytes(0, 1)))
          .withMessageContaining("got Byte [1] and Byte [2]");
    }
  }
}
