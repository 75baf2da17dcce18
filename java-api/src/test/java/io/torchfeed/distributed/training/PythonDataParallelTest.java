// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.distributed.training;

import static org.assertj.core.api.Assertions.assertThat;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.Master;
import io.torchfeed.distributed.PythonProcessGroup;
import io.torchfeed.sampler.Part;
import io.torchfeed.testing.LeakCheck;
import org.bytedeco.javacpp.PointerScope;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;

/** Tests the wrapper in a group of one rank; {@code MixedRanksTest} has ranks of Python. */
@ExtendWith(LeakCheck.class)
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
class PythonDataParallelTest {
  @Test
  void theDefaultOptionsTrainAllParameters() {
    try (PointerScope scope = new PointerScope();
        Master master = Master.listen("127.0.0.1");
        PythonProcessGroup group =
            PythonProcessGroup.join(master, Part.whole(), GroupOptions.defaults())) {
      Weights net = Weights.frozen(new Weights(1, 2));
      try (PythonDataParallel model = PythonDataParallel.wrap(net, group)) {
        assertThat(model.module()).isSameAs(net);
        model.beforeForward();
        model.backward(net.first.sum());
        assertThat(net.first.grad().data_ptr_float().get(1)).isEqualTo(1);
      }
    }
  }
}
