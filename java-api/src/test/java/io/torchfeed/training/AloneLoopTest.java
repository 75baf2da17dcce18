// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.training;

import static org.assertj.core.api.Assertions.assertThatIllegalArgumentException;

import io.torchfeed.data.TensorDataset;
import io.torchfeed.distributed.training.SingleModel;
import java.nio.file.Path;
import java.util.List;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.global.torch;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class AloneLoopTest extends TrainingLoopContract {
  AloneLoopTest(@TempDir Path temporary) {
    super(temporary);
  }

  @Override
  int ranks() {
    return 1;
  }

  @Override
  void onEachRank(Body body) throws Exception {
    body.run(TrainingLoop::alone);
  }

  @Test
  void aStopThatIsAskedForSavesACheckpointWhereverItIs() throws Exception {
    try (PointerScope scope = new PointerScope();
        TensorDataset data = LoopNet.data()) {
      requirePlannedStops(indices(data), 0, 3, 4, 5, 9);
    }
    requirePlannedStops(uneven(), 7);
  }

  @Test
  @SuppressWarnings("NullAway") // a function can be written without null checks
  void aLossThatIsNoSingleNumberIsRefused() {
    try (PointerScope scope = new PointerScope()) {
      LinearImpl net = new LinearImpl(2, 1);
      SingleModel model = SingleModel.wrap(net);
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.accumulate(() -> net.forward(torch.ones(3, 2))))
          .withMessage(
              "loss must be a single number with a gradient, got one of shape [3, 1] with a gradient");
      assertThatIllegalArgumentException()
          .isThrownBy(() -> model.step(() -> torch.ones(1), () -> {}))
          .withMessage(
              "loss must be a single number with a gradient, got one of shape [1] without a gradient");
      for (ThrowingCallable pass :
          List.<ThrowingCallable>of(
              () -> model.accumulate(() -> null),
              () -> model.accumulate(() -> null, 0),
              () -> model.step(() -> null, () -> {}))) {
        assertThatIllegalArgumentException()
            .isThrownBy(pass)
            .withMessage(
                "loss must be a single number with a gradient, got null, which the function of the"
                    + " loss returned");
      }
    }
  }
}
