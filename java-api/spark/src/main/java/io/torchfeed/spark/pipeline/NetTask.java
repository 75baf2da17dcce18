// SPDX-License-Identifier: Apache-2.0
package io.torchfeed.spark.pipeline;

import io.torchfeed.data.loader.Batch;
import io.torchfeed.data.loader.DataLoader;
import io.torchfeed.distributed.training.DistributedDataParallel;
import io.torchfeed.sampler.order.ShuffledSampler;
import io.torchfeed.spark.ModelBytes;
import io.torchfeed.spark.RankContext;
import io.torchfeed.spark.RankLoop;
import io.torchfeed.spark.RankRows;
import io.torchfeed.spark.RankTask;
import org.bytedeco.pytorch.Adam;
import org.bytedeco.pytorch.AdamOptions;
import org.bytedeco.pytorch.Module;
import org.bytedeco.pytorch.Tensor;

/**
 * The training of a network by Adam; the last column is the label.
 *
 * @param <M> the type of the network
 * @param net the network
 * @param epochs passes over the rows
 * @param batchSize the rows of a step on each rank
 * @param rate the learning rate
 * @param seed of the order and the steps
 */
record NetTask<M extends Module>(
    TorchfeedNet<M> net, int epochs, int batchSize, double rate, long seed)
    implements RankTask<byte[]> {
  @Override
  public byte[] train(RankContext context, RankRows rows) {
    try (M module = net.create();
        AdamOptions options = new AdamOptions(rate);
        Adam optimizer = new Adam(module.parameters(), options);
        DistributedDataParallel model = DistributedDataParallel.wrap(module, context.group());
        DataLoader loader =
            rows.loader()
                .batchSize(batchSize)
                .sampler(ShuffledSampler.of(rows.size(), seed))
                .build()) {
      int label = rows.columns().size() - 1;
      RankLoop.of(context, model, loader)
          .withEpochs(epochs)
          .withSeed(seed)
          .withState(
              state -> state.module("model", module).optimizer("optimizer", optimizer, module))
          .run(
              optimizer,
              batch -> net.loss(net.forward(module, inputs(batch, label)), batch.tensor(label)));
      return ModelBytes.of(module);
    }
  }

  private static Tensor[] inputs(Batch batch, int count) {
    Tensor[] inputs = new Tensor[count];
    for (int i = 0; i < count; i++) {
      inputs[i] = batch.tensor(i);
    }
    return inputs;
  }
}
