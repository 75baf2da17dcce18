// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.membership;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import org.junit.jupiter.api.Test;

class MembershipOptionsTest {
  @Test
  void optionsAreSetOnCopies() {
    MembershipOptions options = MembershipOptions.defaults().withName("a");
    options
        .withJob("other")
        .withName("b")
        .withTimeout(Duration.ZERO)
        .withSecret(JobSecret.random());
    assertThat(options)
        .hasToString("MembershipOptions[job=unnamed, name=a, timeout=PT30S, no secret]");
    assertThatThrownBy(() -> options.withTimeout(Duration.ofMillis(-1)))
        .isInstanceOf(IllegalArgumentException.class)
        .hasMessageContaining("timeout");
    assertThat(MembershipOptions.defaults())
        .asString()
        .contains("process " + ProcessHandle.current().pid());
  }
}
