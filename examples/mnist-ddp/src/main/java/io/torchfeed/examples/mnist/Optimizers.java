// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.examples.mnist;

import org.bytedeco.javacpp.PointerScope;
import org.bytedeco.pytorch.SGD;
import org.bytedeco.pytorch.SGDOptions;
import org.bytedeco.pytorch.TensorVector;

/** A factory of libtorch's SGD with momentum. */
final class Optimizers {
  private Optimizers() {}

  static SGD sgd(Net net, Settings settings) {
    try (TensorVector parameters = net.parameters();
        SGDOptions options = new SGDOptions(settings.lr())) {
      options.momentum().put(settings.momentum());
      return new SGD(parameters, options);
    }
  }

  /** Restores the momentum buffers of a checkpoint; the run keeps its own rate and momentum. */
  @SuppressWarnings("try") // a scope works by being open
  static void restore(SGD optimizer, byte[] archive, String device, Settings settings) {
    Archives.read(archive, device, optimizer::load);
    try (PointerScope scope = new PointerScope()) {
      SGDOptions options = new SGDOptions(optimizer.param_groups().get(0).options());
      options.set_lr(settings.lr());
      options.momentum().put(settings.momentum());
    }
  }
}
