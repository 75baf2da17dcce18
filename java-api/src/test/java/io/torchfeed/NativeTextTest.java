// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.bindings.NativeText;
import io.torchfeed.bindings.torchfeed;
import java.nio.charset.StandardCharsets;
import org.bytedeco.javacpp.BytePointer;
import org.junit.jupiter.api.Test;

class NativeTextTest {
  @Test
  void anEmptyTextIsNotNull() {
    assertThat(NativeText.of(null)).isEmpty();
    assertThat(NativeText.of(torchfeed.accelerator_name())).isNotEmpty();
  }

  @Test
  void aTextIsUtf8AndItsPointerIsFreed() {
    BytePointer pointer = new BytePointer("g\u00f6ttlich".getBytes(StandardCharsets.UTF_8));
    assertThat(NativeText.of(pointer)).isEqualTo("g\u00f6ttlich");
    assertThat(pointer.isNull()).isTrue();
  }
}
