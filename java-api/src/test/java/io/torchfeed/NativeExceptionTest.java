// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;
import static org.assertj.core.api.Assertions.assertThatIllegalStateException;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import io.torchfeed.bindings.BatchFeed;
import io.torchfeed.bindings.NativeException;
import io.torchfeed.bindings.NativeException.Code;
import io.torchfeed.bindings.NativeHandle;
import io.torchfeed.bindings.RowSet;
import org.assertj.core.util.Throwables;
import org.bytedeco.pytorch.TensorVector;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

class NativeExceptionTest {
  private static NativeHandle<BatchFeed> feed() {
    return NativeHandle.create(
        "feed",
        () ->
            BatchFeed.create(
                RowSet.of_tensors(new TensorVector(torch.zeros(5, 2))), 2, 0, 1, true));
  }

  @Test
  void nativeInvalidArgumentBecomesIllegalArgumentException() {
    try (NativeHandle<BatchFeed> feed = feed()) {
      assertThatIllegalArgumentException()
          .isThrownBy(() -> feed.run(f -> f.request(0, new long[] {0, 5}, 2)))
          .withMessage("indices must be in [0, 5), got 5");
    }
  }

  @Test
  void nativeInvalidStateBecomesIllegalStateException() {
    try (NativeHandle<BatchFeed> feed = feed()) {
      assertThatIllegalStateException()
          .isThrownBy(
              () -> feed.run(f -> f.take(-1, new TensorVector(), new long[BatchFeed.kInfoCount])))
          .withMessage("no batch was requested");
    }
  }

  @Test
  void libtorchErrorsLoseTheirBacktrace() {
    assertThatThrownBy(
            () -> NativeHandle.outsideOfScopes(() -> torch.zeros(2, 3).mm(torch.zeros(2, 3))))
        .isInstanceOfSatisfying(
            NativeException.class, e -> assertThat(e.code()).isEqualTo(Code.INTERNAL))
        .hasMessageContaining("mat1 and mat2 shapes cannot be multiplied")
        .hasMessageNotContaining("frame #0")
        .hasMessageNotContaining("Exception raised from")
        .satisfies(
            e ->
                assertThat(Throwables.getStackTrace(e))
                    .contains("Caused by: java.lang.RuntimeException: ", "mm(Native Method)")
                    .doesNotContain("frame #0", "Exception raised from"));
  }

  @Test
  void javaExceptionsPassThroughUnchanged() {
    UnsupportedOperationException thrown = new UnsupportedOperationException("ILLEGAL_STATE|x");
    assertThat(NativeException.translate(thrown)).isSameAs(thrown);
  }

  @Test
  void thePrefixCodeDeterminesTheExceptionType() {
    assertThat(NativeException.translate(new RuntimeException("PEER_LOST|gone | really")))
        .isInstanceOfSatisfying(
            NativeException.class, e -> assertThat(e.code()).isEqualTo(Code.PEER_LOST))
        .hasMessage("gone | really");
    assertThat(NativeException.translate(new RuntimeException("no code | here")))
        .hasMessage("no code | here");
  }
}
