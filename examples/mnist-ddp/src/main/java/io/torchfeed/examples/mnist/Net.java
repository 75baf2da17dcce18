// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import static org.bytedeco.pytorch.global.torch.dropout;
import static org.bytedeco.pytorch.global.torch.log_softmax;
import static org.bytedeco.pytorch.global.torch.max_pool2d;
import static org.bytedeco.pytorch.global.torch.relu;

import org.bytedeco.javacpp.LongPointer;
import org.bytedeco.pytorch.Conv2dImpl;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** The convnet of PyTorch's own MNIST example: 1,199,882 parameters. */
public final class Net extends Module {
  private final Conv2dImpl conv1;
  private final Conv2dImpl conv2;
  private final LinearImpl fc1;
  private final LinearImpl fc2;

  /** Draws the parameters from libtorch's global generator; seed it first. */
  public Net() {
    conv1 = register_module("conv1", new Conv2dImpl(1, 32, new LongPointer(3, 3)));
    conv2 = register_module("conv2", new Conv2dImpl(32, 64, new LongPointer(3, 3)));
    fc1 = register_module("fc1", new LinearImpl(9216, 128));
    fc2 = register_module("fc2", new LinearImpl(128, 10));
  }

  /**
   * Returns log-probabilities.
   *
   * @param images float32 [B, 1, 28, 28]
   * @return float32 [B, 10]; the caller's pointer scope owns it
   */
  public Tensor forward(Tensor images) {
    boolean training = is_training();
    Tensor x = relu(conv1.forward(images));
    x = relu(conv2.forward(x));
    x = max_pool2d(x, 2, 2);
    x = dropout(x, 0.25, training);
    x = relu(fc1.forward(x.flatten(1, -1)));
    x = dropout(x, 0.5, training);
    return log_softmax(fc2.forward(x), 1);
  }
}
