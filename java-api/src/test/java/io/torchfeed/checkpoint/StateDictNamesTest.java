// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.checkpoint;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import java.util.List;
import java.util.Map;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;

/** Tests of texts in a state that UTF-8 cannot express. */
class StateDictNamesTest {
  private static final String HALF = "w\ud83d";

  @Test
  void halvesOfPairsAreRefused() {
    try (Tensor tensor = torch.zeros(2)) {
      Map<String, Tensor> tensors = Map.of(HALF, tensor);
      for (ThrowingCallable call :
          List.<ThrowingCallable>of(
              () -> StateDict.of("{}", tensors), () -> StateDict.sharing("{}", tensors))) {
        assertThatIllegalArgumentException()
            .isThrownBy(call)
            .withMessage(
                "the name of a tensor must not have half of a surrogate pair, got one at index 1");
      }
      assertThatIllegalArgumentException()
          .isThrownBy(() -> StateDict.owning("{\"" + HALF + "\":1}", Map.of()))
          .withMessage("json must not have half of a surrogate pair, got one at index 3");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> StateDict.owning("{}", tensors))
          .withMessageContaining("the name of a tensor");
    }
  }
}
