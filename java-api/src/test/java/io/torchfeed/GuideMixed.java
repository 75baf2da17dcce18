// SPDX-License-Identifier: Apache-2.0
package io.torchfeed;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.torchfeed.distributed.GroupOptions;
import io.torchfeed.distributed.PythonProcessGroup;
import io.torchfeed.distributed.training.DataParallelOptions;
import io.torchfeed.distributed.training.DataParallelOptions.BufferMode;
import io.torchfeed.distributed.training.PythonDataParallel;
import java.time.Duration;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

// guide: mixed
/** Rank 1 of the job whose rank 0 is train.py. */
public final class GuideMixed {
  private GuideMixed() {}

  @SuppressWarnings("try") // a scope works by being open
  public static void main(String[] args) {
    LinearImpl net = new LinearImpl(4, 2);
    SGD optimizer = new SGD(net.parameters(), new SGDOptions(0.1));
    DataParallelOptions options =
        DataParallelOptions.defaults().withBufferMode(BufferMode.BEFORE_FORWARD);
    GroupOptions limit = GroupOptions.ofTimeout(Duration.ofMinutes(5));
    try (PythonProcessGroup group = PythonProcessGroup.join(limit);
        PythonDataParallel model = PythonDataParallel.wrap(net, group, options)) {
      for (int step = 0; step < 10; step++) {
        try (PointerScope scope = new PointerScope()) {
          Tensor input = torch.randn(8, 4);
          optimizer.zero_grad();
          model.beforeForward(); // the start of Python's model(input)
          model.backward(mse_loss(net.forward(input), input.narrow(1, 0, 2)));
          optimizer.step();
        }
      }
      Tensor[] weights = group.allGather(net.weight());
      System.out.println(weights[0].equal(weights[1])); // true
    }
  }
}
// guide: end
