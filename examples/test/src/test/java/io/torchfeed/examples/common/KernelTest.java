// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.common;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.junit.jupiter.api.Test;

class KernelTest {
  @Test
  void bytesSentAreThoseOfAllInterfaces() {
    assertThat(
            Kernel.sentBytes(
                List.of(
                    "Inter-|   Receive                  |  Transmit",
                    " face |bytes    packets errs drop  |bytes    packets",
                    "    lo: 100 1 0 0 0 0 0 0 30 1 0 0 0 0 0 0",
                    "  eth0:7 1 0 0 0 0 0 0 12 1 0 0 0 0 0 0")))
        .isEqualTo(42);
  }
}
