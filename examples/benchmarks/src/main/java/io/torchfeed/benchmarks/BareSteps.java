// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.benchmarks;

import static org.bytedeco.pytorch.global.torch.nll_loss;
import static org.bytedeco.pytorch.global.torch.randint;
import static org.bytedeco.pytorch.global.torch.randn;

import io.torchfeed.Torchfeed;
import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.TensorOptions;
import org.bytedeco.pytorch.global.torch.ScalarType;

/**
 * A timing of forward, backward and optimizer step of MNIST's net on one batch, without loader or
 * reduction; arguments: samples of the batch, steps. Prints the mean milliseconds of a step.
 */
final class BareSteps {
  private static final int WARM_UP = 5;

  private BareSteps() {}

  /**
   * Times the steps.
   *
   * @param arguments the samples of a batch, the steps
   */
  @SuppressWarnings("try") // a scope works by being open
  public static void main(String[] arguments) {
    int batch = Integer.parseInt(arguments[0]);
    int steps = Integer.parseInt(arguments[1]);
    Torchfeed.load();
    long[] labelShape = {batch};
    SGDOptions options = new SGDOptions(0.03);
    options.momentum().put(0.9);
    try (MnistNet net = new MnistNet();
        SGD optimizer = new SGD(net.parameters(), options);
        Tensor images = randn(batch, 1, 28, 28);
        Tensor labels = randint(0, 10, labelShape, new TensorOptions(ScalarType.Long))) {
      long start = 0;
      for (int i = -WARM_UP; i < steps; i++) {
        if (i == 0) {
          start = System.nanoTime();
        }
        try (PointerScope scope = new PointerScope()) {
          optimizer.zero_grad();
          nll_loss(net.forward(images), labels).backward();
          optimizer.step();
        }
      }
      System.out.println((System.nanoTime() - start) / 1e6 / steps);
    }
  }
}
