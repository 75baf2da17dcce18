// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/** A timing of forward, backward and optimizer step on one batch, without loader or reduction. */
final class BareSteps {
  private static final int WARM_UP = 5;

  private BareSteps() {}

  /** Returns the mean milliseconds per step. */
  @SuppressWarnings("try") // a scope works by being open
  static double milliseconds(Settings settings) {
    int count = settings.bench().bareSteps();
    long[] labelShape = {settings.batchSize()};
    try (Net net = new Net();
        SGD optimizer = Optimizers.sgd(net, settings);
        Tensor images = randn(settings.batchSize(), 1, 28, 28);
        Tensor labels = randint(0, 10, labelShape, new TensorOptions(ScalarType.Long))) {
      long start = 0;
      for (int i = -WARM_UP; i < count; i++) {
        if (i == 0) {
          start = System.nanoTime();
        }
        try (PointerScope scope = new PointerScope()) {
          optimizer.zero_grad();
          nll_loss(net.forward(images), labels).backward();
          optimizer.step();
        }
      }
      return (System.nanoTime() - start) / 1e6 / count;
    }
  }
}
