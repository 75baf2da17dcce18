// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.sampler.python;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.sampler.Sampler;
import java.util.Arrays;

/** Expectations of plans. */
final class PlanAssertions {
  private PlanAssertions() {}

  /** Returns the numbers in a text, separated by spaces. */
  static long[] parsed(String text) {
    return text.isEmpty()
        ? new long[0]
        : Arrays.stream(text.split(" ", -1)).mapToLong(Long::parseLong).toArray();
  }

  static void assertRefused(Runnable call, String... parts) {
    assertThatIllegalArgumentException()
        .isThrownBy(call::run)
        .satisfies(e -> assertThat(e.getMessage()).contains(parts));
  }

  static void assertDistinct(Sampler... plans) {
    assertThat(Arrays.stream(plans).map(Sampler::digest).distinct()).hasSize(plans.length);
  }
}
