// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark;

import static org.bytedeco.pytorch.global.torch.mse_loss;

import io.torchfeed.data.loader.Batch;
import org.bytedeco.pytorch.LinearImpl;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;
import org.bytedeco.pytorch.global.torch;

/** Two small layers for {@link TestSpark#points}. */
final class LineNet extends Module {
  private final LinearImpl hidden;
  private final LinearImpl output;

  LineNet() {
    synchronized (LineNet.class) { // ranks of local[2] share the generator
      torch.manual_seed(1);
      hidden = register_module("hidden", new LinearImpl(3, 8));
      output = register_module("output", new LinearImpl(8, 1));
    }
  }

  Tensor forward(Tensor x) {
    return output.forward(hidden.forward(x).tanh());
  }

  Tensor loss(Batch batch, int x, int y) {
    return mse_loss(forward(batch.tensor(x)).squeeze(1), batch.tensor(y));
  }
}
