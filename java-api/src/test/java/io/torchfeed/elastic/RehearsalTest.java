// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.elastic;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.Generator;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(value = 120, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class RehearsalTest {
  @Test
  void itDrawsNoNumbersAndLeavesNoThread() throws Exception {
    try (PointerScope scope = new PointerScope()) {
      Generator generator = torch.getDefaultCPUGenerator();
      Tensor before = generator.get_state();
      Rehearsal.run();
      Rehearsal.run();
      assertThat(torch.equal(generator.get_state(), before)).isTrue();
    }
    ElasticGroup.rehearse();
    List<String> threads =
        Thread.getAllStackTraces().keySet().stream().map(Thread::getName).toList();
    assertThat(threads).doesNotContain("torchfeed-rehearsal");
  }
}
