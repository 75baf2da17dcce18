// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.spark.ModelBytes;
import io.torchfeed.spark.RankModel;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/** A network with trained parameters, in evaluation mode. */
final class NetForward<M extends Module> implements RankModel.Forward {
  private final TorchfeedNet<M> net;
  private final M module;

  private NetForward(TorchfeedNet<M> net, byte[] trained) {
    this.net = net;
    module = net.create();
    ModelBytes.load(trained, module);
    module.eval();
  }

  static <M extends Module> RankModel.Factory factory(TorchfeedNet<M> net) {
    return trained -> new NetForward<>(net, trained);
  }

  @Override
  public Tensor of(Tensor[] columns) {
    return net.forward(module, columns);
  }

  @Override
  public void close() {
    module.close();
  }
}
