// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThatNullPointerException;

import io.torchfeed.data.Dataset;
import io.torchfeed.data.NativeDataset;
import io.torchfeed.data.TensorDataset;
import io.torchfeed.data.source.ImageRecords;
import io.torchfeed.distributed.launch.Launcher;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.image.ImagePlan;
import io.torchfeed.sampler.order.ConcatenatedSampler;
import java.util.Arrays;
import java.util.Collections;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.pytorch.Tensor;
import org.junit.jupiter.api.Test;

/** Tests that elements of lists that are null are numbered; {@link NullArgumentsTest} the rest. */
@SuppressWarnings("NullAway") // a caller without null checks can pass null
class MissingArgumentsTest {
  private static final ImagePlan PLAN = ImagePlan.builder().resize(2, 2).build();

  @Test
  void elementsOfListsAreNumbered() {
    try (Tensor numbers = Tensor.create(new long[] {0, 1}, 2);
        TensorDataset rows = TensorDataset.of(numbers)) {
      assertNamed(
          "parts[1] must not be null", () -> NativeDataset.concat(Arrays.asList(rows, null)));
    }
    assertNamed("parts[0] must not be null", () -> Dataset.concat(Collections.singletonList(null)));
    assertNamed(
        "sources[0] must not be null",
        () -> ConcatenatedSampler.of(Collections.singletonList(null)));
    assertNamed(
        "paths[0] must not be null",
        () -> ImageRecords.open(Collections.singletonList(null), PLAN));
    assertNamed(
        "names[0] must not be null",
        () -> DataParallelOptions.defaults().withIgnored(Collections.singletonList(null)));
    assertNamed("arguments[1] must not be null", () -> Launcher.builder().arguments("a", null));
    assertNamed("options[0] must not be null", () -> Launcher.builder().jvmOptions((String) null));
  }

  private static void assertNamed(String message, ThrowingCallable call) {
    assertThatNullPointerException().isThrownBy(call).withMessage(message);
  }
}
